package carry

// The metrics of migrate sync.

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/metrics"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// syncStats are counted by the loop and read by the metrics page.
type syncStats struct {
	mu                        sync.Mutex
	rounds, failed, movedRows int64
	tally                     migrate.Tally
	inUse                     int
	takenOver, wentBack, gone int
	notKnown                  int
	refreshed                 int64
	lastSuccess               time.Time
	lastDuration              time.Duration
}

func (s *syncStats) round(now time.Time, took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds++
	s.lastDuration = took
	if code, _ := cli.Classify(err); err != nil && code != offset.KindPartial {
		s.failed++
		return
	}
	s.lastSuccess = now
}

func (s *syncStats) translated(r *migrate.SyncRound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally, s.inUse = r.Result.Count(), len(r.Planned.Skipped)
	s.takenOver, s.wentBack = len(r.Look.Steps[migrate.StepTakenOver]), len(r.Look.Steps[migrate.StepWentBack])
	s.notKnown, s.gone = notKnown(r), len(r.Look.Steps[migrate.StepGone])
	s.refreshed += int64(r.Planned.Effect.Refreshed)
}

func (s *syncStats) moved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.movedRows += int64(n)
}

// write writes the page in Prometheus's text format.
func (s *syncStats) write(out io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := metrics.NewWriter(out, &metrics.Slab{})
	put := func(name, kind, help string, value float64) {
		w.One(metrics.Family{Name: name, Help: help, Counter: kind == "counter"}, value)
	}
	put("koffset_sync_rounds_total", "counter", "Rounds since the start.", float64(s.rounds))
	put("koffset_sync_failed_rounds_total", "counter", "Rounds that ended with an error.", float64(s.failed))
	put("koffset_sync_moved_partitions_total", "counter", "Offsets that were committed on the target.", float64(s.movedRows))
	put("koffset_sync_unresolved_partitions", "gauge", "Partitions that the last round could not translate.", float64(s.tally.Unresolved))
	put("koffset_sync_exact_partitions", "gauge", "Partitions that the last round translated exactly.", float64(s.tally.Exact))
	put("koffset_sync_again_partitions", "gauge", "Partitions of the last round that read some records again.", float64(s.tally.Again))
	put("koffset_sync_groups_in_use", "gauge", "Groups left alone in the last round because they have members on the target.", float64(s.inUse))
	put("koffset_sync_taken_over_partitions", "gauge", "Partitions left alone because another client committed on the target.", float64(s.takenOver))
	put("koffset_sync_not_known_partitions", "gauge", "Partitions left alone in the last round because it is not known whether their target group has read further.", float64(s.notKnown))
	put("koffset_sync_went_back_partitions", "gauge", "Partitions whose source group went back and was not followed.", float64(s.wentBack))
	put("koffset_sync_gone_partitions", "gauge", "Partitions that were carried and have no commit at the source any more.", float64(s.gone))
	put("koffset_sync_refreshed_partitions_total", "counter", "Offsets that were committed again before they expired.", float64(s.refreshed))
	put("koffset_sync_last_round_seconds", "gauge", "How long the last round took.", s.lastDuration.Round(time.Millisecond).Seconds())
	last := 0.0
	if !s.lastSuccess.IsZero() {
		last = float64(s.lastSuccess.UnixMilli()) / 1000
	}
	put("koffset_sync_last_success_timestamp_seconds", "gauge", "When the last round ended without an error.", last)
	return w.Flush()
}

// serve answers /metrics until stop is called.
func (o *syncOptions) serve(addr string) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.Usagef("", "--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.ContentType)
		var page bytes.Buffer // a reader that is slow must not hold the rounds up
		_ = o.stats.write(&page)
		_, _ = w.Write(page.Bytes()) // the reader went away
	})
	srv := cli.MetricsServer(mux)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // it always ends with an error when it is closed
	}()
	o.app.Streams.Note("metrics at http://%s/metrics", l.Addr())
	return func() {
		_ = srv.Close() // a scrape that is under way is not worth waiting for
		<-done
	}, nil
}
