package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/metrics"
)

// Options of a server.
type Options struct {
	// Connect makes the sampler; until it succeeds each refresh tries again, so that serving begins while Kafka is away.
	Connect func(context.Context) (*inspect.Sampler, error)
	// Interval is the time between the starts of two refreshes; Timeout bounds one.
	Interval, Timeout time.Duration
	PerPartition      bool
	// MemberLabels adds who holds each partition.
	MemberLabels bool
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
	sampler    *inspect.Sampler
	data       collection
	slab       metrics.Slab
	page       atomic.Pointer[page]
	refreshes  atomic.Int64
	failures   atomic.Int64
	lastFailed atomic.Pointer[string]
	warned     string
	omitted    bool
	unfollowed bool
}

// New makes a server. Run refreshes it.
func New(o Options) *Server {
	s := &Server{o: o}
	_ = s.show(nil) // koffset's own metrics, until the first refresh; rendering into memory does not fail
	return s
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
	look, began, err := s.read(ctx)
	s.refreshes.Add(1)
	if err != nil {
		s.failures.Add(1)
		text := err.Error()
		s.lastFailed.Store(&text)
		return errors.Join(err, s.show(nil))
	}
	s.lastFailed.Store(nil)
	err = s.show(func(w io.Writer) error { return s.writeBody(w, look, began) })
	s.sampler.Probe(ctx, look)
	s.data.reset() // lets the snapshot go: between refreshes only the page and the history stay
	return err
}

func (s *Server) read(ctx context.Context) (look *inspect.Look, began time.Time, err error) {
	began = s.o.Now()
	if s.sampler == nil {
		if s.sampler, err = s.o.Connect(ctx); err != nil {
			s.sampler = nil
			return nil, began, err
		}
		s.sampler.AllTopics = s.sampler.AllTopics || s.o.Compat == KafkaExporter
	}
	cluster, err := inspect.ReadCluster(ctx, s.sampler.Client)
	if err != nil {
		return nil, began, err
	}
	s.data.reset()
	s.data.cluster = cluster
	if look, err = s.sampler.LookHalves(ctx, s.data.add, s.data.second.add); err != nil {
		return nil, began, err
	}
	s.data.join()
	s.data.finish(look)
	return look, began, nil
}

// show makes the page that is served from now on: with a new body, or without one with the last body that is not too old.
func (s *Server) show(body func(io.Writer) error) error {
	last, now := s.page.Load(), s.o.Now()
	own := func(w io.Writer) error { return s.writeOwn(w) }
	var p *page
	var err error
	switch {
	case body != nil:
		p, err = compress(body, own, s.data.look.At)
	case last != nil && last.body > 0 && now.Sub(last.at) <= keepFor*s.o.Interval:
		p, err = last.replaced(own)
	case last != nil:
		p, err = compress(func(io.Writer) error { return nil }, own, last.at)
	default:
		p, err = compress(func(io.Writer) error { return nil }, own, time.Time{})
	}
	if err != nil {
		return fmt.Errorf("render the metrics: %w", err)
	}
	s.page.Store(p)
	return nil
}

// writeBody renders what was read.
func (s *Server) writeBody(out io.Writer, look *inspect.Look, began time.Time) error {
	own, compat := s.o.PerPartition, s.o.Compat == KafkaExporter
	n := s.data.series(own, compat)
	omit := s.o.MaxSeries > 0 && n > s.o.MaxSeries
	if omit && !s.omitted {
		s.o.Warn("about %d per-partition series are more than {{max-series %d}}: they are left out; choose groups with {{group-match}}, or raise the limit", n, s.o.MaxSeries)
	}
	s.omitted = omit
	s.sayFollowed(look)
	w := newWriter(out, &s.slab)
	s.data.write(w)
	if own && !omit {
		s.data.writePartitionOffsets(w)
		s.data.writePartitionTimes(w)
		s.data.writeLogs(w)
	}
	if s.o.MemberLabels && !omit {
		s.data.writeOwners(w)
	}
	if compat && !omit {
		s.data.writeKafkaExporter(w)
	}
	omitted := 0.0
	if omit {
		omitted = 1
	}
	w.one("koffset_partition_metrics_omitted", omitted)
	if s.sampler.Standing != nil {
		followed := 1.0
		if look.Snapshot.Unfollowed != nil {
			followed = 0
		}
		w.one("koffset_commits_followed", followed)
	}
	w.one("koffset_refresh_duration_seconds", s.o.Now().Sub(began).Seconds())
	return w.Flush()
}

// sayFollowed says when commits cannot be followed, and when they can again.
func (s *Server) sayFollowed(look *inspect.Look) {
	err := look.Snapshot.Unfollowed
	if now := err != nil; now != s.unfollowed {
		s.unfollowed = now
		if now {
			s.o.Warn("commits are not followed, each group is asked for instead: %v", err)
		} else {
			s.o.Warn("commits are followed now")
		}
	}
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

// metrics copies the rendered page.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	p := s.page.Load()
	h := w.Header()
	h.Set("Content-Type", metrics.ContentType)
	h.Set("Vary", "Accept-Encoding")
	// An error from here on means that the reader went away.
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(p.gz)))
		_, _ = w.Write(p.gz)
		return
	}
	_ = p.text(w, p.size)
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

// writeOwn renders what is about koffset itself, as of the end of the last refresh.
func (s *Server) writeOwn(out io.Writer) error {
	w := newWriter(out, &metrics.Slab{})
	w.one("koffset_build_info", 1, metrics.NewLabel("version", s.o.Version))
	up := 0.0
	if s.refreshes.Load() > 0 && s.lastFailed.Load() == nil {
		up = 1
	}
	w.one("koffset_up", up)
	w.one("koffset_refreshes_total", float64(s.refreshes.Load()))
	w.one("koffset_refresh_failures_total", float64(s.failures.Load()))
	if s.o.Costs != nil {
		s.o.Costs.write(w)
	}
	return w.Flush()
}

// healthz is 200 while the numbers are younger than three intervals and one time-out, else 503 with the reason.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	p, age, failed := s.page.Load(), time.Duration(0), s.lastFailed.Load()
	never := p.at.IsZero()
	if !never {
		age = s.o.Now().Sub(p.at)
	}
	switch {
	case never && failed == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the first refresh is under way\n")
	case never:
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
