package serve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/inspect"
)

// Options of a server.
type Options struct {
	Sampler *inspect.Sampler
	// Interval is the time between the starts of two refreshes; Timeout bounds one.
	Interval, Timeout time.Duration
	PerPartition      bool
	// MaxSeries is how many per-partition samples are served; with more of them all are left out. 0 is no limit.
	MaxSeries int
	// Compat is KafkaExporter or empty.
	Compat  string
	Version string
	Costs   *Costs
	Now     func() time.Time
	// Warn is told when refreshes begin to fail and when they succeed again, not each time.
	Warn func(format string, args ...any)
}

// Server refreshes and serves.
type Server struct {
	o          Options
	data       collection
	slab       slab
	page       atomic.Pointer[page]
	refreshes  atomic.Int64
	failures   atomic.Int64
	lastFailed atomic.Pointer[string]
	warned     string
	omitted    bool
}

// page is what one refresh rendered, compressed.
type page struct {
	pieces []deflated
	at     time.Time
}

// New makes a server. Run refreshes it.
func New(o Options) *Server {
	o.Sampler.AllTopics = o.Sampler.AllTopics || o.Compat == KafkaExporter
	return &Server{o: o}
}

// keepFor is how many intervals old numbers are served on while refreshes fail. Then only koffset's own metrics are left:
// a dashboard that shows nothing is noticed, one that shows last night's lag is believed.
const keepFor = 20

// Run refreshes until the context ends: once at once, then every interval.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		s.attempt(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) attempt(ctx context.Context) {
	rctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	err := s.Refresh(rctx)
	cancel()
	if ctx.Err() != nil {
		return
	}
	switch {
	case err != nil:
		if s.warned == "" {
			s.o.Warn("the refresh failed, what was read before is served on: %v", err)
		}
		s.warned = err.Error()
	case s.warned != "":
		s.o.Warn("refreshes succeed again")
		s.warned = ""
	}
}

// Refresh reads the cluster once and renders what it read. After an error the last good numbers are served on. It is called
// by one goroutine at a time.
func (s *Server) Refresh(ctx context.Context) error {
	err := s.refresh(ctx)
	s.refreshes.Add(1)
	if err != nil {
		s.failures.Add(1)
		text := err.Error()
		s.lastFailed.Store(&text)
		return err
	}
	s.lastFailed.Store(nil)
	return nil
}

func (s *Server) refresh(ctx context.Context) error {
	began := s.o.Now()
	cluster, err := inspect.ReadCluster(ctx, s.o.Sampler.Client)
	if err != nil {
		return err
	}
	s.data.reset()
	s.data.cluster = cluster
	look, err := s.o.Sampler.LookHalves(ctx, s.data.add, s.data.second.add)
	if err != nil {
		return err
	}
	s.data.join()
	s.data.finish(look)
	p, err := s.render(look, began)
	if err != nil {
		return err
	}
	s.page.Store(p)
	s.o.Sampler.Probe(ctx, look)
	s.data.reset() // lets the snapshot go: between refreshes only the page and the history stay
	return nil
}

// render writes the page in two pieces at the same time: what is of groups and topics with half of the partitions' families,
// and the other half. On a cluster of 100,000 partitions that is where the time goes.
func (s *Server) render(look *inspect.Look, began time.Time) (*page, error) {
	own, compat := s.o.PerPartition, s.o.Compat == KafkaExporter
	n := s.data.series(own, compat)
	omit := s.o.MaxSeries > 0 && n > s.o.MaxSeries
	if omit && !s.omitted {
		s.o.Warn("about %d per-partition series are more than --max-series %d: they are left out; choose groups with --group-match, or raise the limit", n, s.o.MaxSeries)
	}
	s.omitted = omit
	own, compat = own && !omit, compat && !omit

	var second deflated
	var eg errgroup.Group
	eg.Go(func() (err error) {
		second, err = deflate(func(out io.Writer) error {
			w := newWriter(out, &slab{})
			if own {
				s.data.writePartitionTimes(w)
			}
			if compat {
				s.data.writeKafkaExporter(w)
			}
			return w.flush()
		})
		return err
	})
	first, err := deflate(func(out io.Writer) error {
		w := newWriter(out, &s.slab)
		s.data.write(w)
		if own {
			s.data.writePartitionOffsets(w)
			s.data.writeLogs(w)
		}
		omitted := 0.0
		if omit {
			omitted = 1
		}
		w.one("koffset_partition_metrics_omitted", omitted)
		w.one("koffset_refresh_duration_seconds", s.o.Now().Sub(began).Seconds())
		return w.flush()
	})
	if err := cmp.Or(eg.Wait(), err); err != nil {
		return nil, fmt.Errorf("render the metrics: %w", err)
	}
	return &page{pieces: []deflated{first, second}, at: look.At}, nil
}

// Handler serves /metrics, /healthz and a page that names them.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>koffset</title><h1>koffset serve</h1><p><a href="/metrics">/metrics</a> <a href="/healthz">/healthz</a></p>`+"\n")
	})
	return mux
}

const contentType = "text/plain; version=0.0.4; charset=utf-8"

// metrics copies the rendered page and adds what is of the moment.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	p := s.page.Load()
	now := s.o.Now()
	if p != nil && now.Sub(p.at) > keepFor*s.o.Interval {
		p = &page{at: p.at}
	}
	live, err := deflate(func(out io.Writer) error { return s.writeLive(out, p, now) })
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pieces := []deflated{live}
	if p != nil {
		pieces = append(slices.Clone(p.pieces), live)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Vary", "Accept-Encoding")
	// An error from here on is of a reader that went away.
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		_ = writeGzip(w, pieces...)
		return
	}
	for _, piece := range pieces {
		if piece.inflate(w) != nil {
			return
		}
	}
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if (name == "gzip" || name == "*") && strings.ReplaceAll(params, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

func (s *Server) writeLive(out io.Writer, p *page, now time.Time) error {
	w := newWriter(out, &slab{})
	w.one("koffset_build_info", 1, newPair("version", s.o.Version))
	up := 0.0
	if p != nil && s.lastFailed.Load() == nil {
		up = 1
	}
	w.one("koffset_up", up)
	if p != nil {
		w.one("koffset_snapshot_age_seconds", max(0, now.Sub(p.at).Seconds()))
	}
	w.one("koffset_refreshes_total", float64(s.refreshes.Load()))
	w.one("koffset_refresh_failures_total", float64(s.failures.Load()))
	if s.o.Costs != nil {
		s.o.Costs.write(w)
	}
	return w.flush()
}

// healthz is 200 while the numbers are younger than three intervals and one time-out, else 503 with the reason.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	p, age, failed := s.page.Load(), time.Duration(0), s.lastFailed.Load()
	if p != nil {
		age = s.o.Now().Sub(p.at)
	}
	switch {
	case p == nil && failed == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the first refresh is under way\n")
	case p == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "no refresh has succeeded: %s\n", *failed)
	case age > 3*s.o.Interval+s.o.Timeout:
		w.WriteHeader(http.StatusServiceUnavailable)
		why := "a refresh hangs"
		if failed != nil {
			why = *failed
		}
		_, _ = fmt.Fprintf(w, "the offsets are %s old: %s\n", age.Round(time.Second), why)
	default:
		_, _ = fmt.Fprintf(w, "ok: the offsets are %s old\n", age.Round(100*time.Millisecond))
	}
}
