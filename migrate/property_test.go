package migrate_test

// The property that everything rests on: whatever the copy looks like, the translated position skips no unread record that
// is on the target, reads no more again than it says, and is exact where the record itself is there.

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

// world is one partition at the source and its copy.
type world struct {
	source []*kgo.Record
	copied []int // indexes of source records, in the order they were copied
	start  int64 // the source's log start
	tstart int64 // the target's
	at     int64
	// adds says that the mirror adds headers of its own, so that records that differ in headers alone look alike.
	adds   bool
	unique bool // no two source records look alike
}

const worlds = 400

func randomWorld(r *rand.Rand, p int32) world {
	var w world
	n := r.IntN(40)
	ms := int64(1_700_000_000_000)
	mode := r.IntN(4)
	seen := map[string]bool{}
	w.unique, w.adds = true, r.IntN(3) == 0
	for i := range n {
		if r.IntN(3) > 0 {
			ms += int64(r.IntN(3))
		}
		t := ms
		if mode == 1 { // times out of order
			t -= int64(r.IntN(4))
		}
		rec := &kgo.Record{Topic: "src", Partition: p, Timestamp: time.UnixMilli(t)}
		if r.IntN(3) > 0 {
			rec.Key = fmt.Appendf(nil, "k%d", r.IntN(4))
		}
		switch {
		case mode >= 2:
			rec.Value = fmt.Appendf(nil, "v%d", r.IntN(2)) // many look alike
		case r.IntN(10) > 0:
			rec.Value = fmt.Appendf(nil, "v%d", i)
		}
		if r.IntN(4) == 0 {
			rec.Headers = []kgo.RecordHeader{{Key: "h", Value: fmt.Appendf(nil, "%d", r.IntN(2))}}
		}
		look := world{adds: true}.looks(rec) // records that differ in headers alone may be confused
		w.unique = w.unique && !seen[look]
		seen[look] = true
		w.source = append(w.source, rec)
	}
	// The copy: it may begin late, lack the newest, have holes, and hold stretches twice.
	from, to := 0, n
	if n > 0 && r.IntN(3) == 0 {
		from = r.IntN(n)
	}
	if n > 0 && r.IntN(3) == 0 {
		to = from + r.IntN(n-from+1)
	}
	holes := r.IntN(3) == 0
	// A mirror that starts again copies the same records again: with holes it would put records out of their order.
	restarts := !holes && r.IntN(4) == 0
	for i := from; i < to; i++ {
		if holes && r.IntN(3) == 0 {
			continue
		}
		w.copied = append(w.copied, i)
		if restarts && r.IntN(8) == 0 {
			i = max(from, i-r.IntN(4)) - 1
			restarts = r.IntN(2) == 0
		}
	}
	w.at = int64(r.IntN(n + 1))
	if n > 0 && r.IntN(4) == 0 {
		w.start = int64(r.IntN(n + 1))
	}
	if len(w.copied) > 0 && r.IntN(4) == 0 {
		w.tstart = int64(r.IntN(len(w.copied) + 1))
	}
	return w
}

func (w world) looks(r *kgo.Record) string {
	look := fmt.Sprintf("%d %q %t %q %t", r.Timestamp.UnixMilli(), r.Key, r.Key == nil, r.Value, r.Value == nil)
	if !w.adds {
		look += fmt.Sprint(r.Headers)
	}
	return look
}

func (w world) String() string {
	s := fmt.Sprintf("position %d, source from %d, target from %d\n", w.at, w.start, w.tstart)
	for i, r := range w.source {
		s += fmt.Sprintf("  source %d: %s\n", i, w.looks(r))
	}
	for i, c := range w.copied {
		s += fmt.Sprintf("  target %d: source %d\n", i, c)
	}
	return s
}

func TestNeverSkips(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { neverSkips(t, seed) })
	}
}

func neverSkips(t *testing.T, seed uint64) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	kafkatest.CreateTopic(t, src, "src", worlds)
	kafkatest.CreateTopic(t, dst, "src", worlds)
	r := rand.New(rand.NewPCG(seed, 7))
	ws := make([]world, worlds)
	var produce, copies []*kgo.Record
	var commits []kafkatest.Committed
	for p := range ws {
		w := randomWorld(r, int32(p))
		ws[p] = w
		produce = append(produce, w.source...)
		for _, i := range w.copied {
			c := *w.source[i]
			if w.adds {
				c.Headers = append(slices.Clone(c.Headers), kgo.RecordHeader{Key: "mirrored-from", Value: []byte("a")})
			}
			copies = append(copies, &c)
		}
		commits = append(commits, kafkatest.At("src", int32(p), w.at))
	}
	kafkatest.Produce(t, src, produce...)
	kafkatest.Produce(t, dst, copies...)
	kafkatest.Commit(t, src, "g", commits...)
	for p, w := range ws {
		if w.start > 0 {
			kafkatest.DeleteRecords(t, src, "src", int32(p), w.start)
		}
		if w.tstart > 0 {
			kafkatest.DeleteRecords(t, dst, "src", int32(p), w.tstart)
		}
	}
	res := translate(t, src, dst, "g", migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
	exact, possible, resolved := 0, 0, 0
	for _, i := range res.Items {
		w := ws[i.Target.Partition]
		problem, there := w.judge(i)
		if problem != "" {
			t.Errorf("partition %d: %s: %s to %d (%s: %s)\n%s", i.Target.Partition, problem, i.Label(), i.Offset, i.Strategy, i.Proof, w)
		}
		if i.Resolved() {
			resolved++
		}
		if there && w.unique {
			possible++
			if i.Outcome == migrate.Exact || w.twice(i) {
				exact++
			} else {
				t.Errorf("partition %d: the record is on the target and the position is %s: %v\n%s", i.Target.Partition, i.Label(), i.Reasons, w)
			}
		}
	}
	t.Logf("%d worlds: %d resolved, %d of %d with the record on the target exact", worlds, resolved, exact, possible)
	if possible < worlds/10 || resolved < worlds/2 {
		t.Fatalf("too few worlds say anything: %d resolved, %d with the record there", resolved, possible)
	}
}

// twice says that the mirror copied a record around the position more than once, so that a position cannot be exact.
func (w world) twice(i *migrate.Item) bool {
	n := map[int]int{}
	for _, c := range w.copied {
		n[c]++
	}
	for c := max(0, w.at-4); c < min(int64(len(w.source)), w.at+4); c++ {
		if n[int(c)] > 1 {
			return true
		}
	}
	return false
}

// judge holds a translation to what the world is. there says that the next unread record is on the target, and nothing
// unread expired at the source.
func (w world) judge(i *migrate.Item) (problem string, there bool) {
	// What is on the target, with where.
	type copyOf struct {
		off int64
		src int
	}
	var target []copyOf
	for off, c := range w.copied {
		if int64(off) >= w.tstart {
			target = append(target, copyOf{int64(off), c})
		}
	}
	next := max(w.at, w.start)
	there = w.at >= w.start && slices.ContainsFunc(target, func(c copyOf) bool { return int64(c.src) == next })
	if !i.Resolved() {
		return "", there
	}
	// Records that look alike are one record: of each look, as many must lie at or after the position as unread ones are there.
	unread, ahead := map[string]int{}, map[string]int{}
	counted := map[int]bool{}
	again, point := int64(0), pointOf(w.copied, w.at)
	for _, c := range target {
		look := w.looks(w.source[c.src])
		if int64(c.src) >= w.at && !counted[c.src] {
			counted[c.src] = true
			unread[look]++
		}
		if c.off >= i.Offset {
			ahead[look]++
			if c.off < point {
				again++
			}
		}
	}
	for look, n := range unread {
		if ahead[look] < n {
			return fmt.Sprintf("%d unread records %s are on the target, %d at or after the position", n, look, ahead[look]), there
		}
	}
	switch {
	case i.Outcome == migrate.Exact && again > 0 && w.unique:
		return fmt.Sprintf("%d read records come again", again), there
	case i.Outcome == migrate.Again && again > i.Translation.Again && w.unique:
		return fmt.Sprintf("%d read records come again", again), there
	}
	return "", there
}

// translate exports a group, reads the export back, and translates it.
func translate(t *testing.T, src, dst *kgo.Client, group string, q migrate.Query) *migrate.Result {
	t.Helper()
	x := export(t, src, group)
	q.Header = x.Header
	for _, g := range x.Groups {
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := migrate.TranslateAll(t.Context(), dst, q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
