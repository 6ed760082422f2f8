package consume

// Prometheus's text format and a health answer, from a snapshot.

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/internal/metrics"
)

// Handler answers /metrics in Prometheus's text format and /healthz: 200 with "ok" while the run is well, 503 with the
// reason otherwise.
func (e *Engine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.ContentType)
		_ = WriteMetrics(w, e.Stats()) // a scraper that went away is no failure of ours
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		why := e.Stats().Unhealthy(e.cfg.Checkpoints)
		if why != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, why)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Unhealthy says what is wrong with a run; empty for nothing. A run is well until it has ended, while the brokers
// of its partitions answer, and while its checkpoints complete: the last one must not be older than two intervals and the
// timeout.
func (s Stats) Unhealthy(k Checkpoints) string {
	switch {
	case s.Phase == PhaseEnded:
		return "the run has ended"
	case s.Phase != PhaseRunning:
		return ""
	}
	n, worst := 0, PartitionStats{}
	for _, p := range s.Partitions {
		if p.Silent > 0 {
			if n++; p.Silent > worst.Silent {
				worst = p
			}
		}
	}
	if n > 0 {
		return silentText(n, worst.Partition.String(), worst.Silent)
	}
	if !s.Checkpoints.On {
		return ""
	}
	last := s.Checkpoints.LastAt
	if last.IsZero() {
		last = s.Started
	}
	timeout := k.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if age, most := s.At.Sub(last), 2*max(k.Interval, k.MinPause)+timeout; age > most {
		return fmt.Sprintf("no checkpoint has completed for %s", age.Round(time.Second))
	}
	return ""
}

// WriteMetrics writes a snapshot in Prometheus's text format. The names follow Flink's Kafka source: current_offset is the
// last record, committed_offset the next one to read, and uncommitted_records is the difference done right.
func WriteMetrics(w io.Writer, s Stats) error {
	m := runMetrics{metrics.NewWriter(w, &metrics.Slab{})}
	m.partitions(s.Partitions)
	m.run(s)
	if s.Checkpoints.On {
		m.checkpoints(s.Checkpoints)
	}
	return m.Flush()
}

// runMetrics writes the families of a run.
type runMetrics struct{ *metrics.Writer }

func runFamily(name, kind, help string) metrics.Family {
	return metrics.Family{Name: "koffset_consume_" + name, Help: help, Counter: kind == "counter"}
}

func (m runMetrics) one(name, kind, help string, v float64) { m.One(runFamily(name, kind, help), v) }

func (m runMetrics) partitions(parts []PartitionStats) {
	prefixes := topicPrefixes(parts)
	each := func(name, kind, help string, of func(PartitionStats) (int64, bool)) {
		m.Lines(runFamily(name, kind, help), func(line func(string, int32, string, float64)) {
			for _, p := range parts {
				if v, ok := of(p); ok {
					line(prefixes[p.Topic], p.Partition.Partition, metrics.PlainEnd, float64(v))
				}
			}
		})
	}
	known := func(p *int64) (int64, bool) {
		if p == nil {
			return 0, false
		}
		return *p, true
	}
	each("current_offset", "gauge", "Offset of the last record that the sink got (Flink: currentOffset).", func(p PartitionStats) (int64, bool) { return known(p.Current) })
	each("position", "gauge", "Next offset to hand to the sink.", func(p PartitionStats) (int64, bool) { return p.Position, true })
	each("committed_offset", "gauge", "Next offset to read as last committed by this run (Flink: committedOffset).", func(p PartitionStats) (int64, bool) { return known(p.Committed) })
	each("uncommitted_records", "gauge", "Offsets that the sink has got and that are not committed; 0 when all is.", func(p PartitionStats) (int64, bool) { return p.Uncommitted() })
	each("log_end_offset", "gauge", "Log end under the isolation in force, as a broker told it last; absent while none answers.", func(p PartitionStats) (int64, bool) { return p.LogEnd, p.Silent == 0 })
	each("records_lag", "gauge", "Offsets between position and log end (Flink: recordsLag); absent while no broker answers.", PartitionStats.Lag)
	each("end_offset", "gauge", "Where a run with an end stops, exclusive.", func(p PartitionStats) (int64, bool) { return known(p.End) })
	each("partition_records_total", "counter", "Records handed to the sink.", func(p PartitionStats) (int64, bool) { return p.Records, true })
}

func (m runMetrics) run(s Stats) {
	if n, known := s.Pending(); known {
		m.one("pending_records", "gauge", "Offsets left to the end of the run, or to the log end (Flink: pendingRecords); absent where the lag of a partition is not known.", float64(n))
	}
	silent := 0
	for _, p := range s.Partitions {
		if p.Silent > 0 {
			silent++
		}
	}
	m.one("silent_partitions", "gauge", "Partitions whose broker has not answered for 10 s or more.", float64(silent))
	m.one("records_outside_window_total", "counter", "Records of a run from one time to another whose own time is outside.", float64(s.OutsideWindow))
	m.one("records_total", "counter", "Records handed to the sink.", float64(s.Records))
	m.one("bytes_total", "counter", "Bytes of keys and values handed to the sink.", float64(s.Bytes))
	m.one("sink_blocked_seconds_total", "counter", "Time spent waiting for the sink.", s.SinkBlocked.Seconds())
	m.one("throttled_seconds_total", "counter", "Time spent waiting for the rate.", s.Throttled.Seconds())
	m.one("commits_succeeded_total", "counter", "Commits that succeeded (Flink: commitsSucceeded).", float64(s.CommitsSucceeded))
	m.one("commits_failed_total", "counter", "Commits that failed (Flink: commitsFailed).", float64(s.CommitsFailed))
	m.one("foreign_commits_total", "counter", "Commits of other clients that were seen in the run's group.", float64(s.ForeignCommits))
}

func (m runMetrics) checkpoints(k CheckpointStats) {
	m.one("checkpoints_completed_total", "counter", "Checkpoints that completed.", float64(k.Completed))
	m.one("checkpoints_failed_total", "counter", "Checkpoints that failed, with those past their timeout.", float64(k.Failed))
	m.one("checkpoints_dropped_total", "counter", "Checkpoints past their timeout.", float64(k.Dropped))
	m.one("checkpoints_running", "gauge", "Checkpoints under way.", float64(k.Running))
	m.one("checkpoint_last_duration_seconds", "gauge", "How long the last completed checkpoint took.", k.LastDuration.Seconds())
	m.one("checkpoint_last_size_bytes", "gauge", "Size of the last completed checkpoint.", float64(k.LastSize))
	if !k.LastAt.IsZero() {
		m.one("checkpoint_last_timestamp_seconds", "gauge", "When the last checkpoint completed, since 1970.", float64(k.LastAt.UnixMilli())/1000)
	}
}

// topicPrefixes are the labels of each topic's samples, up to the partition's number.
func topicPrefixes(parts []PartitionStats) map[string]string {
	out := map[string]string{}
	for _, p := range parts {
		if _, ok := out[p.Topic]; !ok {
			out[p.Topic] = metrics.Prefix(metrics.NewLabel("topic", p.Topic))
		}
	}
	return out
}

// ReadMetrics reads the positions out of what WriteMetrics wrote, for those who look at a run from outside.
func ReadMetrics(r io.Reader) ([]Position, error) {
	data, err := io.ReadAll(io.LimitReader(r, 64<<20))
	if err != nil {
		return nil, err
	}
	var out []Position
	for line := range strings.SplitSeq(string(data), "\n") {
		rest, ok := strings.CutPrefix(line, `koffset_consume_position{topic="`)
		if !ok {
			continue
		}
		topic, rest, ok1 := strings.Cut(rest, `",partition="`)
		part, value, ok2 := strings.Cut(rest, `"} `)
		n, err1 := strconv.ParseInt(part, 10, 32)
		at, err2 := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if !ok1 || !ok2 || err1 != nil || err2 != nil || n < 0 || at < 0 {
			return nil, fmt.Errorf("not a metric of koffset consume: %q", line)
		}
		p := Position{Offset: at}
		p.Topic, p.Partition.Partition = topic, int32(n)
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no positions in it: these are not the metrics of a koffset consume that runs")
	}
	return out, nil
}
