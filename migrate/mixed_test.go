package migrate_test

// Worlds in which the target is more than a copy: it had records of its own, takes those of a second source too, or lacks what a
// filter drops, while mirrors start again. Records are tombstones, have no key, and times out of order and in the future.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// mixture is one partition at the source, and what the target's log was filled with: source indexes, or foreign.
type mixture struct {
	source []*kgo.Record
	target []*kgo.Record
	of     []int
	at     []int64
}

// foreign is what is not the source's.
const foreign = -2

// mixing is how the worlds of one test are made.
type mixing struct {
	name                       string
	own, second, filter, alike bool
	compact, trimSource        bool
}

// writer makes the records of one partition.
type writer struct {
	mixing
	r                       *rand.Rand
	p                       int32
	n                       int   // how many the source has, and a bit more
	ms                      int64 // the time that they have come to
	future, disorder, equal bool
}

// record is the i-th one from a writer with a name. Only the source's are tombstones, or empty: what is not the source's looks like
// nothing of it.
func (w *writer) record(i int, from string) *kgo.Record {
	if !w.equal || w.r.IntN(10) == 0 {
		w.ms += int64(w.r.IntN(3))
	}
	t := w.ms
	if w.disorder {
		t -= int64(w.r.IntN(30))
	}
	if w.future && w.r.IntN(20) == 0 {
		t += 10 * 365 * 24 * 3600 * 1000
	}
	rec := &kgo.Record{Topic: "m", Partition: w.p, Timestamp: time.UnixMilli(t)}
	if w.r.IntN(4) > 0 || w.compact {
		rec.Key = fmt.Appendf(nil, "%s%d-%d", from, w.p, w.r.IntN(w.n))
	}
	kind := w.r.IntN(12)
	switch {
	case kind == 0 && from == "s":
	case kind == 1 && from == "s":
		rec.Value = []byte{}
	case w.alike:
		rec.Value = fmt.Appendf(nil, "%s%d", from, w.r.IntN(4))
	default:
		rec.Value = fmt.Appendf(nil, "%s%d", from, i)
	}
	return rec
}

func (m mixing) mix(r *rand.Rand, p int32, n int) mixture {
	const begin = 1_700_000_000_000
	w := &writer{mixing: m, r: r, p: p, n: n, ms: begin, future: r.IntN(5) == 0, disorder: r.IntN(3) == 0, equal: r.IntN(3) == 0}
	var out mixture
	for i := range n {
		out.source = append(out.source, w.record(i, "s"))
		if m.alike && i > 10 && r.IntN(n/4) == 0 { // a stretch is sent again as it was
			from := r.IntN(i)
			for _, old := range out.source[from:min(i, from+1+r.IntN(8))] {
				c := *old
				out.source = append(out.source, &c)
			}
		}
	}
	if w.ms = begin - int64(r.IntN(50)); m.own {
		for i := range r.IntN(n) {
			out.put(w.record(i, "own"), foreign)
		}
	}
	w.ms = begin
	out.mirror(w)
	for range 4 {
		out.at = append(out.at, int64(r.IntN(len(out.source)+1)))
	}
	return out
}

func (x *mixture) put(rec *kgo.Record, c int) {
	x.target, x.of = append(x.target, rec), append(x.of, c)
}

// mirror copies the source: late, in part, and some of it again.
func (x *mixture) mirror(w *writer) {
	r, from, until := w.r, 0, len(x.source)
	if r.IntN(4) == 0 {
		from = r.IntN(until)
	}
	if r.IntN(3) == 0 {
		until = from + r.IntN(until-from+1)
	}
	restarts := r.IntN(4)
	for i := from; i < until; i++ {
		if w.second && r.IntN(3) == 0 {
			x.put(w.record(i, "second"), foreign)
		}
		if !w.filter || (i*7919+int(w.p))%5 > 0 {
			c := *x.source[i]
			x.put(&c, i)
		}
		if restarts > 0 && r.IntN(w.n/3) == 0 {
			i, restarts = max(from, i-r.IntN(w.n/6+2))-1, restarts-1
		}
	}
}

func TestMixedWorlds(t *testing.T) {
	for n, m := range []mixing{
		{name: "own records", own: true},
		{name: "two sources", second: true},
		{name: "a filter", filter: true},
		{name: "all", own: true, second: true, filter: true},
		{name: "all, look-alikes", own: true, second: true, filter: true, alike: true},
		{name: "a filter, look-alikes", filter: true, alike: true},
		{name: "all, compacted", own: true, second: true, filter: true, compact: true},
		{name: "all, trimmed", own: true, second: true, filter: true, trimSource: true},
		{name: "all, look-alikes, trimmed", own: true, second: true, filter: true, alike: true, trimSource: true},
	} {
		t.Run(m.name, func(t *testing.T) { m.run(t, rand.New(rand.NewPCG(uint64(n), 1))) })
	}
}

func (m mixing) run(t *testing.T, r *rand.Rand) {
	const parts = 30
	_, src := kafkatest.FakeClient(t)
	dc, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	kafkatest.CreateTopic(t, src, "m", parts)
	var config []string
	if m.compact {
		config = []string{"cleanup.policy", "compact", "segment.bytes", "14", "min.cleanable.dirty.ratio", "0", "segment.ms", "1"}
	}
	kafkatest.CreateTopic(t, dst, "m", parts, config...)
	from, into := derived(t, src, kgo.ProducerBatchMaxBytes(2000), kgo.RecordPartitioner(kgo.ManualPartitioner())), derived(t, dst, kgo.ProducerBatchMaxBytes(1000), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var ws []mixture
	commits := map[int][]kafkatest.Committed{}
	for p := range int32(parts) {
		w := m.mix(r, p, 60)
		ws = append(ws, w)
		kafkatest.Produce(t, from, w.source...)
		kafkatest.Produce(t, into, w.target...)
		for g, at := range w.at {
			commits[g] = append(commits[g], kafkatest.At("m", p, at))
		}
	}
	for g, at := range commits {
		kafkatest.Commit(t, src, fmt.Sprint("g", g), at...)
	}
	for p, w := range ws {
		if m.trimSource && r.IntN(2) == 0 {
			kafkatest.DeleteRecords(t, src, "m", int32(p), int64(r.IntN(len(w.source)/2)))
		}
	}
	dc.Compact()
	left, there := offsetsOf(t, src, "m", parts), offsetsOf(t, dst, "m", parts)
	outcomes := map[migrate.Outcome]int{}
	for g := range commits {
		res := translate(t, src, dst, fmt.Sprint("g", g), migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
		for _, i := range res.Items {
			outcomes[i.Outcome]++
			p := i.Target.Partition
			if problem := ws[p].judge(i, left[p], there[p]); problem != "" {
				t.Errorf("partition %d at %d: %s to %d (%s: %s): %s", p, i.Row.Committed.Offset, i.Label(), i.Offset, i.Strategy, i.Proof, problem)
			}
		}
	}
	t.Logf("%v", outcomes)
	if outcomes[migrate.Exact] == 0 {
		t.Error("nothing is exact: the world says nothing")
	}
}

// judge knows nothing but what lies in both logs. Records that look alike are one record.
func (w mixture) judge(i *migrate.Item, left, there map[int64]bool) string {
	if !i.Resolved() {
		return ""
	}
	at := i.Row.Committed.Offset
	look := func(r *kgo.Record) string {
		return fmt.Sprintf("%d %q %t %q %t", r.Timestamp.UnixMilli(), r.Key, r.Key == nil, r.Value, r.Value == nil)
	}
	unread, ahead := map[string]map[int]bool{}, map[string]int{}
	point := int64(0)
	seen := map[int]bool{}
	for off, c := range w.of {
		l := look(w.target[off])
		if c >= 0 && int64(c) < at && !seen[c] {
			seen[c], point = true, int64(off)+1
		}
		if !there[int64(off)] {
			continue
		}
		if c >= 0 && int64(c) >= at && left[int64(c)] {
			if unread[l] == nil {
				unread[l] = map[int]bool{}
			}
			unread[l][c] = true
		}
		if int64(off) >= i.Offset {
			ahead[l]++
		}
	}
	for l, cs := range unread {
		if ahead[l] < len(cs) {
			return fmt.Sprintf("%d unread records %s are on the target, %d of them behind the position", len(cs), l, ahead[l])
		}
	}
	if a := i.Row.Around; !a.Whole && slices.ContainsFunc(a.Sought(), func(f migrate.Fingerprint) bool { return !seen[int(f.Offset)] && f.Offset < at }) {
		return ""
	}
	again := int64(0)
	for off := i.Offset; off < point; off++ {
		if c := w.of[off]; c >= 0 && there[off] && int64(c) < at && !slices.ContainsFunc(w.source[at:], func(r *kgo.Record) bool { return look(r) == look(w.source[c]) }) {
			again++
		}
	}
	most := int64(0)
	if i.Outcome == migrate.Again {
		most = i.Translation.Again
	}
	if again > most {
		return fmt.Sprintf("%d records that were read come again", again)
	}
	return ""
}
