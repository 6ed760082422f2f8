package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg Config) (context.Context, *Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	s, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return ctx, s
}

func connect(t *testing.T, c Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Bootstrap))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// dump writes down all that must be the same in every run: bounds, groups, commits.
func dump(ctx context.Context, t *testing.T, c Cluster) string {
	t.Helper()
	adm := kadm.NewClient(connect(t, c))
	var b strings.Builder
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	starts, err := adm.ListStartOffsets(ctx)
	must(err)
	stable, err := adm.ListCommittedOffsets(ctx)
	must(err)
	ends, err := adm.ListEndOffsets(ctx)
	must(err)
	topics, err := adm.ListTopics(ctx)
	must(err)
	for _, td := range topics.Sorted() {
		for _, p := range td.Partitions.Sorted() {
			at := func(l kadm.ListedOffsets) int64 { o, _ := l.Lookup(td.Topic, p.Partition); return o.Offset }
			fmt.Fprintf(&b, "%s %d: %d %d %d\n", td.Topic, p.Partition, at(starts), at(stable), at(ends))
		}
	}
	groups, err := adm.ListGroups(ctx)
	must(err)
	for _, g := range groups.Sorted() {
		fmt.Fprintf(&b, "%s: %s %s %q\n", g.Group, g.GroupType, g.State, g.ProtocolType)
		if g.GroupType == "share" {
			continue
		}
		commits, err := adm.FetchOffsets(ctx, g.Group)
		must(err)
		for _, o := range commits.Sorted() {
			must(o.Err)
			fmt.Fprintf(&b, "  %s %d: %d epoch %d %q\n", o.Topic, o.Partition, o.At, o.LeaderEpoch, o.Metadata)
		}
	}
	return b.String()
}

const wantShop = `clicks 0: 540 1080 1080
clicks 1: 540 1080 1080
customers 0: 0 151 151
customers 1: 0 151 151
invoices 0: 0 33 38
invoices 1: 0 33 38
orders 0: 0 1440 1440
orders 1: 0 1440 1440
orders 2: 0 1440 1440
orders 3: 0 1440 1440
payments 0: 0 480 480
payments 1: 0 480 480
payments 2: 0 480 480
returns 0: 0 0 0
returns 1: 0 0 0
returns 2: 0 0 0
analytics: consumer Stable ""
  orders 0: 1320 epoch 0 ""
  orders 1: 1320 epoch 0 ""
  orders 2: 1320 epoch 0 ""
  orders 3: 1320 epoch 0 ""
billing: classic Stable "consumer"
  orders 0: 1440 epoch 0 ""
  orders 1: 1440 epoch 0 ""
  orders 2: 1440 epoch 0 ""
  orders 3: 1440 epoch 0 ""
  payments 0: 480 epoch 0 ""
  payments 1: 480 epoch 0 ""
  payments 2: 480 epoch 0 ""
crm-sync: consumer Empty ""
  customers 0: 151 epoch 0 ""
  customers 1: 151 epoch 0 ""
fraud-check: classic Empty "consumer"
  clicks 0: 300 epoch 0 ""
  clicks 1: 700 epoch 0 ""
invoice-mailer: classic Empty "consumer"
  invoices 0: 33 epoch 0 ""
  invoices 1: 33 epoch 0 ""
order-alerts: share Stable "share"
order-invoicer: classic Empty "consumer"
  orders 0: 1400 epoch 0 ""
  orders 1: 1400 epoch 0 ""
  orders 2: 1400 epoch 0 ""
  orders 3: 1400 epoch 0 ""
payments-audit: classic Empty "consumer"
  payments 0: 475 epoch 0 ""
  payments 1: 900 epoch 0 ""
  payments 2: 480 epoch 0 ""
reporting: classic Empty "consumer"
  orders 0: 1430 epoch 0 ""
  orders 1: 1440 epoch 0 ""
  orders 3: 1437 epoch 0 ""
sessionizer: classic Empty ""
  clicks 0: 1065 epoch -1 ""
  clicks 1: 1064 epoch -1 ""
shipping: classic Empty "consumer"
  orders 0: 1260 epoch 0 ""
  orders 1: 1259 epoch 0 ""
  orders 2: 1260 epoch 0 ""
  orders 3: 1258 epoch 0 ""
`

func TestShopIsTheSameEveryTime(t *testing.T) {
	for range 2 {
		ctx, s := start(t, Config{})
		if len(s.Clusters) != 1 {
			t.Fatalf("%d clusters", len(s.Clusters))
		}
		if got := dump(ctx, t, s.Clusters[0]); got != wantShop {
			t.Errorf("got\n%s", got)
		}
		s.Close()
	}
}

func TestRecordTimes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ctx, s := start(t, Config{Now: now})
	adm := kadm.NewClient(connect(t, s.Clusters[0]))
	for _, c := range []struct {
		topic  string
		ago    time.Duration
		offset int64
	}{
		{"orders", time.Hour, 1380},
		{"orders", 25 * time.Hour, 0},
		{"payments", 6 * time.Hour, 360},
		{"clicks", time.Hour, 900},
		{"clicks", 5 * time.Hour, 540}, // expired: the first that is left
	} {
		listed, err := adm.ListOffsetsAfterMilli(ctx, now.Add(-c.ago).UnixMilli(), c.topic)
		if err != nil {
			t.Fatal(err)
		}
		listed.Each(func(o kadm.ListedOffset) {
			if o.Offset != c.offset {
				t.Errorf("%s %s ago, partition %d: offset %d, want %d", c.topic, c.ago, o.Partition, o.Offset, c.offset)
			}
		})
	}
	listed, err := adm.ListMaxTimestampOffsets(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := listed.Lookup("orders", 3)
	if at := time.UnixMilli(o.Timestamp); !at.Before(now) || now.Sub(at) > time.Minute {
		t.Errorf("the newest order is of %s, now is %s", at, now)
	}
}

// read returns the n records of a partition from an offset on.
func read(ctx context.Context, t *testing.T, c Cluster, topic string, partition int32, from int64, n int) []*kgo.Record {
	t.Helper()
	cl := connect(t, c, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}))
	var out []*kgo.Record
	for len(out) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		out = append(out, fetches.Records()...)
	}
	return out[:n]
}

func TestReplicaHoldsTheSameRecordsElsewhere(t *testing.T) {
	ctx, s := start(t, Config{Clusters: 2})
	shop, dr := s.Clusters[0], s.Clusters[1]
	if shop.ID == dr.ID || shop.Bootstrap == dr.Bootstrap {
		t.Fatalf("one cluster twice: %+v", s.Clusters)
	}
	same := func(topic string, source, target []*kgo.Record) {
		t.Helper()
		for i, a := range source {
			b := target[i]
			if string(a.Key) != string(b.Key) || string(a.Value) != string(b.Value) || !a.Timestamp.Equal(b.Timestamp) {
				t.Fatalf("%s: source %d %s %s is target %d %s %s", topic, a.Offset, a.Key, a.Timestamp, b.Offset, b.Key, b.Timestamp)
			}
		}
	}
	for p := range int32(orderPartitions) {
		same("orders", read(ctx, t, shop, "orders", p, 720, 720), read(ctx, t, dr, "orders", p, 0, 720))
	}
	source := read(ctx, t, shop, "payments", 1, 360, 120)
	target := read(ctx, t, dr, "payments", 1, 0, 130)
	same("payments, first time", source[:10], target)
	same("payments, second time", source, target[10:])

	got := dump(ctx, t, dr)
	for _, line := range []string{"orders 3: 0 720 720\n", "payments 2: 0 130 130\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing in\n%s", line, got)
		}
	}
	if strings.Contains(got, "Stable") || strings.Contains(got, "Empty") {
		t.Errorf("the replica has groups:\n%s", got)
	}
	if lines := s.ExportLines(); !slices.Equal(lines, []string{"export KOFFSET_BROKERS=" + shop.Bootstrap, "export DR=" + dr.Bootstrap}) {
		t.Errorf("%q", lines)
	}
}

func TestCompactedTopicHasHoles(t *testing.T) {
	ctx, s := start(t, Config{})
	records := read(ctx, t, s.Clusters[0], "customers", 0, 0, customerKeys/2+1)
	for i, r := range records {
		if want := int64(125 + i); r.Offset != want {
			t.Errorf("record %d of what is left is at %d, want %d", i, r.Offset, want)
		}
	}
}

func TestOpenTransactionHoldsBackACommit(t *testing.T) {
	ctx, s := start(t, Config{})
	cl := connect(t, s.Clusters[0])
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = txnGroup
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = append(req.Groups, g)
	partitions := 0
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, topic := range shard.Resp.(*kmsg.OffsetFetchResponse).Groups[0].Topics {
			for _, p := range topic.Partitions {
				partitions++
				if err := kerr.ErrorForCode(p.ErrorCode); !errors.Is(err, kerr.UnstableOffsetCommit) {
					t.Errorf("partition %d: %v", p.Partition, err)
				}
			}
		}
	}
	if partitions != orderPartitions {
		t.Errorf("%d partitions", partitions)
	}
}

func TestLiveGroupFollows(t *testing.T) {
	ctx, s := start(t, Config{})
	cl := connect(t, s.Clusters[0], kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: 2, Value: []byte("new")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	at := func(g *kfake.GroupInfo) int64 { return g.Commits["orders"][2].Offset }
	if _, err := s.fakes[0].WaitGroupInfo(ctx, "billing", func(g *kfake.GroupInfo) bool { return at(g) == ordersEach+1 }); err != nil {
		t.Errorf("billing did not commit the new record: %v", err)
	}
	if got := at(s.fakes[0].GroupInfo("analytics")); got != ordersEach-120 {
		t.Errorf("analytics moved to %d", got)
	}
}

func TestKIP848GroupIsDescribed(t *testing.T) {
	ctx, s := start(t, Config{})
	adm := kadm.NewClient(connect(t, s.Clusters[0]))
	var asking sync.WaitGroup
	for range 8 { // the sandbox answers by asking itself: several at once must not get stuck
		asking.Go(func() {
			groups, err := adm.DescribeConsumerGroups(ctx, "analytics", "crm-sync", "nobody")
			if err != nil {
				t.Error(err)
				return
			}
			g := groups["analytics"]
			if len(groups) != 3 || g.State != "Stable" || len(g.Members) != 1 || !errors.Is(groups["nobody"].Err, kerr.GroupIDNotFound) {
				t.Errorf("%+v", groups)
				return
			}
			for p := range int32(orderPartitions) {
				if !g.Members[0].Assignment.Lookup("orders", p) {
					t.Errorf("orders partition %d is not assigned: %+v", p, g.Members[0])
				}
			}
		})
	}
	asking.Wait()
}

func TestGroupsAreListedByType(t *testing.T) {
	ctx, s := start(t, Config{})
	adm := kadm.NewClient(connect(t, s.Clusters[0]))
	for range 2 {
		groups, err := adm.ListGroupsByType(ctx, []string{"Consumer", "SHARE"}) // Kafka's tools capitalise
		if err != nil {
			t.Fatal(err)
		}
		if got := groups.Groups(); !slices.Equal(got, []string{"analytics", "crm-sync", shareGroup}) {
			t.Errorf("%q", got)
		}
	}
}

func TestShareGroup(t *testing.T) {
	ctx, s := start(t, Config{})
	adm := kadm.NewClient(connect(t, s.Clusters[0]))
	groups, err := adm.DescribeShareGroups(ctx, shareGroup)
	if err != nil {
		t.Fatal(err)
	}
	if g := groups[shareGroup]; g.Err != nil || len(g.Members) != 1 || g.Members[0].ClientID != "order-alerts-1" {
		t.Errorf("%+v", g)
	}
	offsets, err := adm.DescribeShareGroupOffsets(ctx, shareGroup)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(orderPartitions) {
		if o := offsets[shareGroup].Offsets["orders"][p]; o.Err != nil || o.StartOffset != ordersEach-30 {
			t.Errorf("partition %d: %+v", p, o)
		}
	}
}

// The Java tools fail with null pointers if these keys are offered.
func TestVersionsForJavaTools(t *testing.T) {
	ctx, s := start(t, Config{})
	versions, err := kadm.NewClient(connect(t, s.Clusters[0])).ApiVersions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions.Sorted() {
		if v.Err != nil {
			t.Fatal(v.Err)
		}
		if _, max, ok := v.KeyVersions(75); ok {
			t.Errorf("DescribeTopicPartitions is offered up to %d", max)
		}
		if _, max, _ := v.KeyVersions(19); max != 4 {
			t.Errorf("CreateTopics is offered up to %d", max)
		}
		if _, max, ok := v.KeyVersions(90); !ok {
			t.Errorf("share group offsets are missing (%d)", max)
		}
	}
}

func TestPorts(t *testing.T) {
	ctx, s := start(t, Config{})
	host, port, err := net.SplitHostPort(s.Bootstrap())
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("%s listens on %s: %v", s.Bootstrap(), host, err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, Config{Ports: []int{n}}); err == nil || !strings.Contains(err.Error(), s.Bootstrap()) {
		t.Errorf("a port in use: %v", err)
	}
	// The second cluster's failure must take the first with it: goleak watches.
	if _, err := Start(ctx, Config{Clusters: 2, Ports: []int{0, n}}); err == nil {
		t.Error("a port in use for the second cluster passed")
	}
	s.Close()
	_, again := start(t, Config{Ports: []int{n}})
	if again.Bootstrap() != s.Bootstrap() {
		t.Errorf("asked for %s, got %s", s.Bootstrap(), again.Bootstrap())
	}
	for _, bad := range []Config{{Clusters: 3}, {Clusters: 1, Ports: []int{0, 0}}} {
		if _, err := Start(ctx, bad); err == nil {
			t.Errorf("%+v passed", bad)
		}
	}
}

func TestStartCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSamplesExist(t *testing.T) {
	ctx, s := start(t, Config{})
	text := dump(ctx, t, s.Clusters[0])
	for _, sample := range s.Samples() {
		want := "\n" + sample.Name + ": "
		if sample.Kind == "topic" {
			want = "\n" + sample.Name + " 0: "
		}
		if !strings.Contains("\n"+text, want) || sample.About == "" {
			t.Errorf("%+v is not there", sample)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(b.Context(), Config{Clusters: 2})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
