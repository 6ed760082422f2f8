package carry

// The metrics of migrate sync.

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// syncStats are counted by the loop and read by the metrics page.
type syncStats struct {
	mu                        sync.Mutex
	rounds, failed, movedRows int64
	tally                     migrate.Tally
	inUse                     int
	takenOver, wentBack       int
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
	s.refreshed += int64(r.Planned.Effect.Refreshed)
}

func (s *syncStats) moved(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.movedRows += int64(n)
}

// text is the page in Prometheus's text format.
func (s *syncStats) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	put := func(name, kind, help, format string, value any) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n%s "+format+"\n", name, help, name, kind, name, value)
	}
	put("koffset_sync_rounds_total", "counter", "Rounds since the start.", "%d", s.rounds)
	put("koffset_sync_failed_rounds_total", "counter", "Rounds that ended with an error.", "%d", s.failed)
	put("koffset_sync_moved_partitions_total", "counter", "Offsets that were committed on the target.", "%d", s.movedRows)
	put("koffset_sync_unresolved_partitions", "gauge", "Partitions that the last round could not translate.", "%d", s.tally.Unresolved)
	put("koffset_sync_exact_partitions", "gauge", "Partitions that the last round translated exactly.", "%d", s.tally.Exact)
	put("koffset_sync_again_partitions", "gauge", "Partitions of the last round that read some records again.", "%d", s.tally.Again)
	put("koffset_sync_groups_in_use", "gauge", "Groups left alone in the last round because they have members on the target.", "%d", s.inUse)
	put("koffset_sync_taken_over_partitions", "gauge", "Partitions left alone because somebody else committed on the target.", "%d", s.takenOver)
	put("koffset_sync_went_back_partitions", "gauge", "Partitions whose source group went back and was not followed.", "%d", s.wentBack)
	put("koffset_sync_refreshed_partitions_total", "counter", "Offsets that were committed again before they expired.", "%d", s.refreshed)
	put("koffset_sync_last_round_seconds", "gauge", "How long the last round took.", "%.3f", s.lastDuration.Seconds())
	last := 0.0
	if !s.lastSuccess.IsZero() {
		last = float64(s.lastSuccess.UnixMilli()) / 1000
	}
	put("koffset_sync_last_success_timestamp_seconds", "gauge", "When the last round ended without an error.", "%.3f", last)
	return b.String()
}

// serve answers /metrics until stop is called.
func (o *syncOptions) serve(addr string) (stop func(), err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.Usagef("", "--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(o.stats.text())) // the reader went away
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
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
