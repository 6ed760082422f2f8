//go:build realkafka

package migrate_test

// A MirrorMaker 2 that is killed, and whose offset syncs could not all be written.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

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
	kafkatest.SetTopicConfig(t, cl, topic, "max.message.bytes", size)
}

const (
	lostTopic  = "mm.lost"
	lostTarget = "src.mm.lost"
	lostNoted  = "mm2-offsets.src.internal" // how far MirrorMaker is
)

// lossy is a topic of one partition, called mm.lost, with a MirrorMaker.
type lossy struct {
	t        *testing.T
	src, dst *kgo.Client
	mm       *kafkatest.Mirror
	produced int
}

func (l *lossy) produce(n int) {
	l.t.Helper()
	var rs []*kgo.Record
	for range n {
		rs = append(rs, kafkatest.Record(lostTopic, 0, 1_700_000_000_000+int64(l.produced)*100, fmt.Sprint("r", l.produced)))
		l.produced++
	}
	kafkatest.Produce(l.t, l.src, rs...)
}

// until waits for a topic that has any record of which something is so.
func (l *lossy) until(what string, cl *kgo.Client, topic string, any func(*kgo.Record) bool) {
	l.t.Helper()
	kafkatest.UntilWithin(l.t, mirrorTakes, what, func() bool {
		if err := l.mm.Err(); err != nil {
			l.t.Fatal(err)
		}
		return topicThere(l.t, cl, topic) && slices.ContainsFunc(readAll(l.t, cl, topic), any)
	})
}

func (l *lossy) copied() {
	l.t.Helper()
	last := fmt.Sprint("r", l.produced-1)
	l.until("MirrorMaker has copied "+last, l.dst, lostTarget, func(r *kgo.Record) bool { return string(r.Value) == last })
}

// A MirrorMaker that starts again copies records a second time, and where the sync of the first one is lost, as it is when the syncs
// cannot be written for a while or too many wait, nothing in its topics says so. What is read again is bounded all the same. This is
// the last thing that the MirrorMaker of the other tests does; it waits for the second one to start, mostly.
func (m *mirrorBed) losesSyncs(t *testing.T) {
	l := &lossy{t: t, src: m.a, dst: m.b, mm: m.mm, produced: 100}
	syncs := migrate.SyncsTopic("dst")
	l.copied()
	noted := fmt.Sprintf(`"offset":%d`, l.produced-1)
	l.until("MirrorMaker has noted how far it is", l.dst, lostNoted, func(r *kgo.Record) bool {
		return strings.Contains(string(r.Key), `"`+lostTopic+`"`) && strings.Contains(string(r.Value), noted)
	})
	l.until("MirrorMaker has written a sync", l.src, syncs, func(r *kgo.Record) bool { return strings.Contains(string(r.Key), lostTopic) })
	takes(t, l.dst, lostNoted, false)
	takes(t, l.src, syncs, false)
	l.produce(60)
	l.copied()
	l.mm.Kill()
	takes(t, l.dst, lostNoted, true)
	l.mm = kafkatest.StartMirror(t, m.props) // what was not noted comes again
	l.produce(100)
	l.copied()
	takes(t, l.src, syncs, true)
	l.produce(140)
	l.copied()
	l.hold(syncs)
}

// hold translates positions all over the topic by the syncs.
func (l *lossy) hold(syncs string) {
	t := l.t
	var m migrate.MM2
	kafkatest.UntilWithin(t, mirrorTakes, "MirrorMaker has written a sync again", func() bool {
		m = migrate.MM2{}
		if err := m.ReadSyncs(t.Context(), l.src, syncs); err != nil {
			t.Fatal(err)
		}
		list := m.Syncs(offset.Partition{Topic: lostTopic})
		return len(list) > 0 && list[len(list)-1].Source >= 259
	})
	t.Logf("syncs: %v", m.Syncs(offset.Partition{Topic: lostTopic}))
	var groups []string
	for at := int64(0); at <= int64(l.produced); at += 7 {
		groups = append(groups, fmt.Sprintf("lost.%03d", at))
		kafkatest.Commit(t, l.src, groups[len(groups)-1], kafkatest.At(lostTopic, 0, at))
	}
	x := export(t, l.src, groups...)
	q := migrate.Query{Header: x.Header, Mapping: migrate.Mapping{MM2Source: "src"}, MM2: &m, Rules: migrate.Rules{Strategies: []migrate.Strategy{migrate.ByMM2}}}
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := migrate.TranslateAll(t.Context(), l.dst, q)
	if err != nil {
		t.Fatal(err)
	}
	twice := 0
	all := readAll(t, l.dst, lostTarget)
	for _, r := range all {
		if string(r.Value) == "r150" {
			twice++
		}
	}
	if twice < 2 {
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
