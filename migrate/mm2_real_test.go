//go:build realkafka

package migrate_test

// A MirrorMaker 2 that is killed, and whose offset syncs could not all be written.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// takes says whether a topic takes any record: with room for a byte it refuses all.
func takes(t *testing.T, cl *kgo.Client, topic string, any bool) {
	t.Helper()
	size := "1"
	if any {
		size = "1048588"
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "max.message.bytes", &size
	res.Configs = append(res.Configs, c)
	req.Resources = append(req.Resources, res)
	got, err := req.RequestWith(t.Context(), cl)
	if err != nil || got.Resources[0].ErrorCode != 0 {
		t.Fatalf("%s: %v, %v", topic, got, err)
	}
}

// A MirrorMaker that starts again copies records a second time, and where the sync of the first one is lost, as it is when the syncs
// cannot be written for a while or too many wait, nothing in its topics says so. What is read again is bounded all the same.
func TestMirrorMakerLosesSyncs(t *testing.T) {
	a, b := kafkatest.Start(t, kafkatest.Options{}), kafkatest.Start(t, kafkatest.Options{})
	src, dst := a.Client(t), b.Client(t)
	kafkatest.CreateTopic(t, src, "lost", 1)
	const stored, target = "mm2-offsets.src.internal", "src.lost"
	syncs := migrate.SyncsTopic("dst")
	props := kafkatest.MirrorProperties(a, b, map[string]string{"topics": "lost", "offset.lag.max": "100", "sync.group.offsets.enabled": "false"})
	produced := 0
	produce := func(n int) {
		var rs []*kgo.Record
		for range n {
			rs = append(rs, kafkatest.Record("lost", 0, 1_700_000_000_000+int64(produced)*100, fmt.Sprint("r", produced)))
			produced++
		}
		kafkatest.Produce(t, src, rs...)
	}
	until := func(mm *kafkatest.Mirror, what string, cl *kgo.Client, topic string, ok func([]*kgo.Record) bool) {
		t.Helper()
		kafkatest.Until(t, what, func() bool {
			if err := mm.Err(); err != nil {
				t.Fatal(err)
			}
			return topicThere(t, cl, topic) && ok(readAll(t, cl, topic))
		})
	}
	copied := func(mm *kafkatest.Mirror) {
		t.Helper()
		last := fmt.Sprint("r", produced-1)
		until(mm, "MirrorMaker has copied "+last, dst, target, func(rs []*kgo.Record) bool {
			return slices.ContainsFunc(rs, func(r *kgo.Record) bool { return string(r.Value) == last })
		})
	}
	flushed := func(mm *kafkatest.Mirror) {
		t.Helper()
		want := fmt.Sprintf(`"offset":%d`, produced-1)
		until(mm, "MirrorMaker has noted how far it is", dst, stored, func(rs []*kgo.Record) bool {
			return slices.ContainsFunc(rs, func(r *kgo.Record) bool { return strings.Contains(string(r.Value), want) })
		})
	}

	produce(100)
	mm := kafkatest.StartMirror(t, props)
	copied(mm)
	flushed(mm)
	until(mm, "MirrorMaker has written a sync", src, syncs, func(rs []*kgo.Record) bool { return len(rs) > 0 })
	takes(t, dst, stored, false)
	takes(t, src, syncs, false)
	produce(60)
	copied(mm)
	mm.Kill()
	takes(t, dst, stored, true)
	mm = kafkatest.StartMirror(t, props) // what was not noted comes again
	produce(100)
	copied(mm)
	takes(t, src, syncs, true)
	produce(140)
	copied(mm)
	var m migrate.MM2
	kafkatest.Until(t, "MirrorMaker has written a sync again", func() bool {
		m = migrate.MM2{}
		if err := m.ReadSyncs(t.Context(), src, syncs); err != nil {
			t.Fatal(err)
		}
		list := m.Syncs(offset.Partition{Topic: "lost"})
		return len(list) > 0 && list[len(list)-1].Source >= 260
	})
	t.Logf("syncs: %v", m.Syncs(offset.Partition{Topic: "lost"}))
	groups := map[string]bool{}
	for at := int64(0); at <= int64(produced); at += 7 {
		g := fmt.Sprintf("lost.%03d", at)
		kafkatest.Commit(t, src, g, kafkatest.At("lost", 0, at))
		groups[g] = true
	}
	x := export(t, src, slices.Sorted(maps.Keys(groups))...)
	q := migrate.Query{Header: x.Header, Mapping: migrate.Mapping{MM2Source: "src"}, MM2: &m, Rules: migrate.Rules{Strategies: []migrate.Strategy{migrate.ByMM2}}}
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := migrate.TranslateAll(t.Context(), dst, q)
	if err != nil {
		t.Fatal(err)
	}
	twice := map[string]int{}
	all := readAll(t, dst, target)
	for _, r := range all {
		twice[string(r.Value)]++
	}
	if twice["r150"] < 2 {
		t.Fatalf("nothing was copied twice: %d records", len(all))
	}
	judgeSyncs(t, res.Items, all)
}

// judgeSyncs holds positions to the target read whole, whose values are r0, r1 and so on in the source's order.
func judgeSyncs(t *testing.T, items []*migrate.Item, target []*kgo.Record) {
	t.Helper()
	resolved := 0
	for _, i := range items {
		if !i.Resolved() {
			continue
		}
		resolved++
		first := map[int64]int64{}
		var again []int64
		lastCopy := map[int64]int64{}
		for _, r := range target {
			var n int64
			if _, err := fmt.Sscanf(string(r.Value), "r%d", &n); err != nil {
				t.Fatal(err)
			}
			if _, ok := first[n]; !ok {
				first[n] = r.Offset
			}
			lastCopy[n] = r.Offset
		}
		at := i.Row.Committed.Offset
		point := int64(0)
		for n, off := range first {
			if n < at {
				point = max(point, off+1)
			}
		}
		for _, r := range target {
			if r.Offset >= i.Offset && r.Offset < point {
				again = append(again, r.Offset)
			}
		}
		for n, off := range lastCopy {
			if n >= at && off < i.Offset {
				t.Errorf("%s to %d: source %d is skipped", i.Group, i.Offset, n)
			}
		}
		most := int64(0)
		if i.Outcome == migrate.Again {
			most = i.Translation.Again
		}
		if int64(len(again)) > most {
			t.Errorf("%s: %s to %d (%s): %d come again", i.Group, i.Label(), i.Offset, i.Proof, len(again))
		}
	}
	if resolved == 0 {
		t.Error("nothing was resolved")
	}
}
