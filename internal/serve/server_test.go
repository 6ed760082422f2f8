package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/metrics"
)

// rig is a server on a cluster with a clock that the test turns.
type rig struct {
	*Server
	now      time.Time
	warnings []string
}

func newRig(cl *kgo.Client, edit func(*Options)) *rig {
	r := &rig{now: time.UnixMilli(kafkatest.F1Start + 60_000).UTC()}
	clock := func() time.Time { return r.now }
	o := Options{
		Connect: func(context.Context) (*inspect.Sampler, error) {
			return &inspect.Sampler{Client: cl, Match: func(inspect.Group) bool { return true }, History: inspect.NewHistory(inspect.DefaultRules()), Now: clock}, nil
		},
		Interval: 10 * time.Second, Timeout: 5 * time.Second, PerPartition: true, Version: "1.2.3", Costs: &Costs{}, Now: clock,
		Warn: func(f string, args ...any) { r.warnings = append(r.warnings, fmt.Sprintf(f, args...)) },
	}
	if edit != nil {
		edit(&o)
	}
	r.Server = New(o)
	return r
}

func (r *rig) refresh(t *testing.T) {
	t.Helper()
	r.now = r.now.Add(10 * time.Second)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// get is one request as a scraper makes it.
func (r *rig) get(t *testing.T, path, encoding string) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	req.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	return w.Result()
}

// scrape reads and parses /metrics: "name{label=value,…}" to value.
func (r *rig) scrape(t *testing.T, encoding string) map[string]float64 {
	t.Helper()
	resp := r.get(t, "/metrics", encoding)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %s", resp.Status)
	}
	var body io.Reader = resp.Body
	if encoding == "gzip" {
		if resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatal("not compressed")
		}
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false) // curl reads one member only
		body = z
	}
	out := map[string]float64{}
	for name, f := range parse(t, body) {
		for _, m := range f.Metric {
			out[sample(name, m)] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func parse(t *testing.T, r io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	got, err := p.TextToMetricFamilies(r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func sample(name string, m *dto.Metric) string {
	var ls []string
	for _, l := range m.Label {
		ls = append(ls, l.GetName()+"="+l.GetValue())
	}
	slices.Sort(ls)
	if len(ls) == 0 {
		return name
	}
	return name + "{" + strings.Join(ls, ",") + "}"
}

func wants(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s is %v (there: %v), want %v", k, g, ok, v)
		}
	}
}

func lacks(t *testing.T, got map[string]float64, names ...string) {
	t.Helper()
	for k := range got {
		for _, n := range names {
			if strings.HasPrefix(k, n) {
				t.Errorf("%s should not be there", k)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	o := kafkatest.F1(t, cl, "m-")
	kafkatest.Commit(t, cl, "past", kafkatest.At(o.Topic, 1, 99))
	kafkatest.Commit(t, cl, "below", kafkatest.At(o.Topic, 0, 1))
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "m-live", Topics: []string{o.Topic}})
	r := newRig(cl, nil)
	r.refresh(t)
	r.now = r.now.Add(3 * time.Second)
	got := r.scrape(t, "gzip")
	app := func(p int) string { return fmt.Sprintf("{group=m-app,partition=%d,topic=%s}", p, o.Topic) }
	wants(t, got, map[string]float64{
		"koffset_up": 1, "koffset_refreshes_total": 1, "koffset_refresh_failures_total": 0,
		"koffset_build_info{version=1.2.3}": 1, "koffset_brokers": 1, "koffset_brokers_unanswered": 0, "koffset_groups_unread": 0,
		"koffset_refresh_timestamp_seconds": float64(kafkatest.F1Start+70_000) / 1000, "koffset_partition_metrics_omitted": 0,
		"koffset_group_partition_committed_offset" + app(0): 6, "koffset_group_partition_committed_offset" + app(1): 7,
		"koffset_group_partition_lag" + app(0): 4, "koffset_group_partition_lag" + app(1): 3,
		"koffset_group_lag{group=m-app}": 7, "koffset_group_topic_lag{group=m-app,topic=" + o.Topic + "}": 7,
		"koffset_group_partition_verdict{group=m-app,partition=2,topic=" + o.Topic + ",verdict=never-committed}": 1,
		"koffset_group_partitions{group=m-app,verdict=never-committed}":                                          1,
		"koffset_topic_partition_log_start_offset{partition=0,topic=" + o.Topic + "}":                            4,
		"koffset_topic_partition_log_end_offset{partition=0,topic=" + o.Topic + "}":                              10,
		"koffset_group_verdict{group=past,verdict=past-log-end}":                                                 1,
		"koffset_group_verdict{group=below,verdict=below-log-start}":                                             1,
		"koffset_group_lag{group=below}":                                                                         6, "koffset_group_members{group=m-live}": 1, "koffset_group_members{group=m-app}": 0,
	})
	// No commit is no series, never -1; a commit past the end has no lag.
	lacks(t, got, "koffset_group_partition_committed_offset"+app(2), "koffset_group_partition_lag"+app(2),
		"koffset_group_partition_lag{group=past", "koffset_topic_partition_last_stable_offset", "kafka_")
	if plain := r.scrape(t, "identity"); len(plain) != len(got) {
		t.Errorf("%d samples plain, %d compressed", len(plain), len(got))
	}

	// A probe at the first look found the record of partition 0: offset 6, written 600 ms after the first.
	r.refresh(t)
	got = r.scrape(t, "gzip")
	wants(t, got, map[string]float64{"koffset_group_partition_lag_seconds" + app(0): 82.4, "koffset_group_lag_seconds{group=m-app}": 82.4,
		// Where the reader of partition 2 will start is unknown, and so is what would be the oldest record.
		"koffset_group_lag_seconds_is_minimum{group=m-app}": 1, "koffset_group_lag_seconds_unknown_partitions{group=m-app}": 1,
		"koffset_group_stuck_partitions{group=m-app}": 0})
}

// An age that is only known to be at least so much says so, on the partition and on the group: here since READ is missing. Once
// the record can be read the age is exact, and the sample that called it a minimum is gone.
func TestMetricsOfAMinimum(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "min", 2)
	kafkatest.Produce(t, cl, kafkatest.Records("min", 0, 5, kafkatest.F1Start, 0)...)
	kafkatest.Produce(t, cl, kafkatest.Records("min", 1, 5, kafkatest.F1Start, 0)...)
	kafkatest.Commit(t, cl, "g", kafkatest.At("min", 0, 2), kafkatest.At("min", 1, 5))
	denied := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: "min", Err: kerr.TopicAuthorizationFailed, Count: -1})
	const minimum, age, group = "koffset_group_partition_lag_seconds_is_minimum", "koffset_group_partition_lag_seconds{group=g,partition=0,topic=min}", "koffset_group_lag_seconds_is_minimum"
	r := newRig(cl, nil)
	r.refresh(t)
	got := r.scrape(t, "gzip")
	lacks(t, got, minimum, group, age) // unknown altogether
	wants(t, got, map[string]float64{"koffset_group_lag_seconds_unknown_partitions{group=g}": 1})
	r.refresh(t)
	got = r.scrape(t, "gzip")
	wants(t, got, map[string]float64{age: 10, minimum + "{group=g,partition=0,topic=min}": 1, group + "{group=g}": 1, "koffset_group_lag_seconds{group=g}": 10})
	lacks(t, got, minimum+"{group=g,partition=1") // nothing is left to read there
	denied.Remove()
	r.now = r.now.Add(time.Hour)
	r.refresh(t)
	r.refresh(t)
	got = r.scrape(t, "gzip")
	wants(t, got, map[string]float64{age: 3600 + 100, "koffset_group_lag_seconds{group=g}": 3600 + 100})
	lacks(t, got, minimum, group)
}

func TestMetricsPerPartitionOff(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "off-")
	r := newRig(cl, func(o *Options) { o.PerPartition = false })
	r.refresh(t)
	got := r.scrape(t, "gzip")
	lacks(t, got, "koffset_group_partition_", "koffset_topic_partition_")
	wants(t, got, map[string]float64{"koffset_group_lag{group=off-app}": 7, "koffset_partition_metrics_omitted": 0})
}

func TestMetricsLimit(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "max-")
	r := newRig(cl, func(o *Options) { o.MaxSeries, o.Compat = 10, KafkaExporter })
	r.refresh(t)
	r.refresh(t)
	got := r.scrape(t, "gzip")
	lacks(t, got, "koffset_group_partition_", "koffset_topic_partition_", "kafka_")
	wants(t, got, map[string]float64{"koffset_group_lag{group=max-app}": 7, "koffset_partition_metrics_omitted": 1})
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "{{max-series 10}}") {
		t.Errorf("warnings %q", r.warnings)
	}
}

// The numbers that kafka_exporter 1.9 shows for the same cluster: counted by hand from its source.
func TestCompatKafkaExporter(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	o := kafkatest.F1(t, cl, "x-")
	kafkatest.Commit(t, cl, "past", kafkatest.At(o.Topic, 1, 99))
	kafkatest.Commit(t, cl, "below", kafkatest.At(o.Topic, 0, 1))
	kafkatest.CreateTopic(t, cl, "lonely", 2)
	r := newRig(cl, func(o *Options) { o.Compat = KafkaExporter })
	r.refresh(t)
	got := r.scrape(t, "gzip")
	gp := func(name, group string, p int) string {
		return fmt.Sprintf("kafka_consumergroup_%s{consumergroup=%s,partition=%d,topic=%s}", name, group, p, o.Topic)
	}
	gt := func(name, group string) string {
		return fmt.Sprintf("kafka_consumergroup_%s{consumergroup=%s,topic=%s}", name, group, o.Topic)
	}
	tp := func(name, topic string, p int) string {
		return fmt.Sprintf("kafka_topic_partition_%s{partition=%d,topic=%s}", name, p, topic)
	}
	wants(t, got, map[string]float64{
		"kafka_brokers": 1, "kafka_topic_partitions{topic=" + o.Topic + "}": 3, "kafka_topic_partitions{topic=lonely}": 2,
		gp("current_offset", "x-app", 0): 6, gp("current_offset", "x-app", 1): 7, gp("current_offset", "x-app", 2): -1,
		gp("lag", "x-app", 0): 4, gp("lag", "x-app", 1): 3, gp("lag", "x-app", 2): -1,
		gt("current_offset_sum", "x-app"): 12, gt("lag_sum", "x-app"): 7,
		gp("lag", "past", 1): -89, gt("lag_sum", "past"): -89, gp("lag", "below", 0): 9,
		"kafka_consumergroup_members{consumergroup=x-app}": 0,
		tp("current_offset", o.Topic, 0):                   10, tp("oldest_offset", o.Topic, 0): 4, tp("current_offset", "lonely", 1): 0,
		tp("leader", o.Topic, 0): 0, tp("replicas", o.Topic, 0): 1, tp("in_sync_replica", o.Topic, 0): 1,
		tp("leader_is_preferred", o.Topic, 0): 1, tp("under_replicated_partition", o.Topic, 0): 0,
	})
	found := false
	for k := range got {
		found = found || strings.HasPrefix(k, "kafka_broker_info{address=127.0.0.1:")
	}
	if !found {
		t.Error("no broker info")
	}
}

// While Kafka fails, the last good numbers are served on with their age; later only koffset's own.
func TestMetricsWhileKafkaFails(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "f-")
	r := newRig(cl, nil)
	if resp := r.get(t, "/healthz", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("before the first refresh: %s", resp.Status)
	}
	got := r.scrape(t, "gzip")
	wants(t, got, map[string]float64{"koffset_up": 0, "koffset_refreshes_total": 0})
	lacks(t, got, "koffset_group", "koffset_refresh_timestamp_seconds")

	r.refresh(t)
	if resp := r.get(t, "/healthz", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("after a refresh: %s", resp.Status)
	}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	for range 2 {
		r.now = r.now.Add(10 * time.Second)
		r.attempt(t.Context())
	}
	got = r.scrape(t, "gzip")
	wants(t, got, map[string]float64{"koffset_up": 0, "koffset_refresh_failures_total": 2,
		"koffset_refresh_timestamp_seconds": float64(kafkatest.F1Start+70_000) / 1000, "koffset_group_lag{group=f-app}": 7})
	if plain := r.scrape(t, "identity"); len(plain) != len(got) {
		t.Errorf("%d samples plain, %d compressed", len(plain), len(got))
	}
	if len(r.warnings) != 1 {
		t.Errorf("warnings %q", r.warnings)
	}
	if resp := r.get(t, "/healthz", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("20 s old: %s", resp.Status)
	}
	r.now = r.now.Add(30 * time.Second)
	resp := r.get(t, "/healthz", "")
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("50s old")) || !bytes.Contains(body, []byte("CLUSTER_AUTHORIZATION_FAILED")) {
		t.Errorf("50 s old: %s %s", resp.Status, body)
	}
	r.now = r.now.Add(160 * time.Second)
	r.attempt(t.Context())
	got = r.scrape(t, "gzip")
	lacks(t, got, "koffset_group", "koffset_refresh_timestamp_seconds")
	wants(t, got, map[string]float64{"koffset_up": 0, "koffset_refresh_failures_total": 3})

	fault.Remove()
	r.attempt(t.Context())
	if len(r.warnings) != 2 || !strings.Contains(r.warnings[1], "succeed again") {
		t.Errorf("warnings %q", r.warnings)
	}
	wants(t, r.scrape(t, "identity"), map[string]float64{"koffset_up": 1, "koffset_group_lag{group=f-app}": 7})
}

// A broker that does not answer does not hold up a scrape.
func TestScrapeNeverWaits(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "w-")
	r := newRig(cl, nil)
	r.refresh(t)
	entered, release := make(chan struct{}), make(chan struct{})
	c.ControlKey(int16(kmsg.ListGroups), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(entered)
		c.SleepControl(func() { <-release })
		return nil, nil, false
	})
	done := make(chan error, 1)
	go func() { done <- r.Refresh(t.Context()) }()
	<-entered
	wants(t, r.scrape(t, "gzip"), map[string]float64{"koffset_group_lag{group=w-app}": 7, "koffset_up": 1})
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A group that cannot be read is counted, has no lag, and does not take the others with it.
func TestMetricsUnreadGroup(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "u-")
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Group: "u-app2", Err: kerr.GroupAuthorizationFailed, Count: -1})
	r := newRig(cl, nil)
	r.refresh(t)
	got := r.scrape(t, "gzip")
	wants(t, got, map[string]float64{"koffset_groups": 2, "koffset_groups_unread": 1, "koffset_group_verdict{group=u-app2,verdict=unknown}": 1, "koffset_group_lag{group=u-app}": 7})
	lacks(t, got, "koffset_group_lag{group=u-app2", "koffset_group_partition_lag{group=u-app2")
}

// A partition without a leader has no bounds, and a topic of which no lag is known has none: neither is 0.
func TestMetricsWithoutALeader(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 2)
	kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 0), kafkatest.At("t", 1, 0))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "t", Err: kerr.TopicAuthorizationFailed, Count: -1})
	r := newRig(cl, func(o *Options) { o.Compat = KafkaExporter })
	r.refresh(t)
	lacks(t, r.scrape(t, "gzip"), "koffset_group_topic_lag{", "koffset_group_lag{", "koffset_topic_partition_log_end_offset{", "kafka_consumergroup_lag_sum{")

	w := &collection{look: &inspect.Look{Snapshot: &inspect.Snapshot{
		Topics: map[string]inspect.Topic{"t": {Partitions: []inspect.TopicPartition{{Number: 0}, {Number: 1}}}}, Log: inspect.Log{"t": make([]inspect.PartitionLog, 2)},
	}}}
	w.eachLog(newWriter(io.Discard, &metrics.Slab{}), "koffset_topic_partition_log_end_offset", func(p *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		if l.Err == nil {
			t.Errorf("partition %d has the bounds %+v", p.Number, l.Bounds)
		}
		return 0, false
	})
}

// Names from the cluster are quoted as Prometheus wants them, on the fast path too.
func TestMetricsEscape(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	o := kafkatest.F1(t, cl, "e-")
	odd := "a\"b\\c\nd\x1b[31m"
	kafkatest.Commit(t, cl, odd, kafkatest.At(o.Topic, 1, 5))
	r := newRig(cl, func(o *Options) { o.Compat = KafkaExporter })
	r.refresh(t)
	got := r.scrape(t, "gzip")
	wants(t, got, map[string]float64{
		"koffset_group_lag{group=" + odd + "}":                                                            5,
		"koffset_group_partition_lag{group=" + odd + ",partition=1,topic=" + o.Topic + "}":                5,
		"kafka_consumergroup_lag{consumergroup=" + odd + ",partition=1,topic=" + o.Topic + "}":            5,
		"kafka_consumergroup_current_offset{consumergroup=" + odd + ",partition=1,topic=" + o.Topic + "}": 5,
	})
}

func TestCosts(t *testing.T) {
	costs := &Costs{}
	c := kafkatest.Fake(t)
	cl := kafkatest.Client(t, c.ListenAddrs(), kgo.WithHooks(costs))
	kafkatest.F1(t, cl, "c-")
	r := newRig(cl, func(o *Options) { o.Costs = costs })
	r.refresh(t)
	before := r.scrape(t, "gzip")
	r.refresh(t)
	after := r.scrape(t, "gzip")
	for _, name := range []string{"koffset_kafka_requests_total", "koffset_kafka_request_bytes_total", "koffset_kafka_response_bytes_total", "koffset_kafka_request_seconds_total"} {
		k := name + "{request=OffsetFetch}"
		if after[k] <= before[k] || before[k] <= 0 {
			t.Errorf("%s: %v, then %v", k, before[k], after[k])
		}
	}
	if d := after["koffset_kafka_requests_total{request=OffsetFetch}"] - before["koffset_kafka_requests_total{request=OffsetFetch}"]; d != 1 {
		t.Errorf("a refresh of two groups costs %v OffsetFetch requests", d)
	}
}

func TestRun(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "r-")
	r := newRig(cl, func(o *Options) { o.Interval = 10 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	kafkatest.Until(t, "three refreshes ended", func() bool { return r.refreshes.Load() >= 3 })
	failures := r.failures.Load()
	cancel()
	<-done
	if failures != 0 || len(r.warnings) != 0 {
		t.Errorf("%d failures, warnings %q", failures, r.warnings)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{"": false, "gzip": true, "deflate, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0": false, "identity": false, "*": true} {
		if got := acceptsGzip(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// Serving begins while Kafka is away: koffset_up is 0, each refresh tries again, and what is read then is served.
func TestStartsWhileKafkaIsAway(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.F1(t, cl, "late-")
	away, tries := true, 0
	r := newRig(cl, func(o *Options) {
		connect := o.Connect
		o.Connect = func(ctx context.Context) (*inspect.Sampler, error) {
			if tries++; away {
				return nil, errors.New("dial tcp 10.0.0.1:9092: connection refused")
			}
			return connect(ctx)
		}
	})
	for range 2 {
		r.attempt(t.Context())
	}
	wants(t, r.scrape(t, "gzip"), map[string]float64{"koffset_up": 0, "koffset_refresh_failures_total": 2, "koffset_build_info{version=1.2.3}": 1})
	resp := r.get(t, "/healthz", "")
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("connection refused")) {
		t.Errorf("%s %s", resp.Status, body)
	}
	away = false
	r.refresh(t)
	r.refresh(t)
	wants(t, r.scrape(t, "gzip"), map[string]float64{"koffset_up": 1, "koffset_group_lag{group=late-app}": 7})
	if tries != 3 {
		t.Errorf("connected %d times", tries)
	}
}

// Who holds a partition is served on request, and of who gave it up nothing is left.
func TestMemberLabels(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 2)
	m := kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "g", ClientID: "first", Topics: []string{"orders"}})
	r := newRig(cl, func(o *Options) { o.MemberLabels = true })
	holds := func() (ids []string) {
		r.refresh(t)
		for k := range r.scrape(t, "gzip") {
			if rest, ok := strings.CutPrefix(k, "koffset_group_partition_member_info{client_id="); ok {
				id, _, _ := strings.Cut(rest, ",")
				ids = append(ids, id)
			}
		}
		return ids
	}
	if got := holds(); !slices.Equal(got, []string{"first", "first"}) {
		t.Errorf("held by %q", got)
	}
	m.Close()
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "g", ClientID: "second", Topics: []string{"orders"}})
	if got := holds(); !slices.Equal(got, []string{"second", "second"}) {
		t.Errorf("after a rebalance held by %q", got)
	}
	r.o.MemberLabels = false
	if got := holds(); len(got) != 0 {
		t.Errorf("without being asked for: %q", got)
	}
}

// Partitions that are added under a live serve are there at the next refresh, with a reader that has yet to commit on them; a share
// group has its rows beside the others.
func TestMetricsOfAddedPartitionsAndShareGroups(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	r := newRig(cl, nil)
	kafkatest.CreateTopic(t, cl, "grows", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("grows", 0, 10, r.now.UnixMilli(), 1)...)
	kafkatest.Commit(t, cl, "g", kafkatest.At("grows", 0, 4))
	share := kafkatest.JoinShare(t, cl, kafkatest.MemberOptions{Group: "s", Topics: []string{"grows"}})
	r.refresh(t)
	wants(t, r.scrape(t, ""), map[string]float64{"koffset_group_lag{group=g}": 6, "koffset_group_members{group=s}": 1})
	lacks(t, r.scrape(t, ""), "koffset_group_partitions{group=g,verdict=never-committed}")
	if resp, err := kadm.NewClient(cl).UpdatePartitions(t.Context(), 3, "grows"); err != nil || resp.Error() != nil {
		t.Fatal(err, resp.Error())
	}
	cl.ForceMetadataRefresh()
	kafkatest.Produce(t, cl, kafkatest.Records("grows", 2, 5, r.now.UnixMilli(), 1)...)
	kafkatest.Until(t, "the new partitions are read", func() bool {
		r.refresh(t)
		return r.scrape(t, "")["koffset_group_partitions{group=g,verdict=never-committed}"] == 1
	})
	wants(t, r.scrape(t, ""), map[string]float64{"koffset_group_lag{group=g}": 6, "koffset_group_verdict{group=g,verdict=never-committed}": 1,
		"koffset_topic_partition_log_end_offset{partition=2,topic=grows}": 5})
	share.Close()
}
