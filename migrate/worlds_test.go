package migrate_test

// Worlds in which look-alikes are far away: stretches sent again with their times, compaction on either side, heads deleted,
// batches of one to thousands of records. A position is held against both logs read whole.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// history is one partition as it was written at the source, and which of its records were copied, in order. What lies at an
// offset is at that index: nil, or a negative one, is the marker at the end of a transaction.
type history struct {
	source []*kgo.Record
	copied []int
	at     []int64 // positions
	// aborted are the markers whose transactions were.
	aborted map[int]bool
}

// marker stands for one on the target.
const marker = -1

// withMarkers puts records into transactions of random sizes, of which some are aborted. The others are in none.
func (h *history) withMarkers(r *rand.Rand) {
	h.aborted = map[int]bool{}
	all := h.source
	h.source = nil
	for len(all) > 0 {
		n := min(len(all), 1+r.IntN(40))
		h.source = append(h.source, all[:n]...)
		if all = all[n:]; r.IntN(4) > 0 {
			h.aborted[len(h.source)] = r.IntN(5) == 0
			h.source = append(h.source, nil)
		}
	}
}

// committed says that a record is in no aborted transaction.
func (h *history) committed(i int) bool {
	for ; i < len(h.source); i++ {
		if h.source[i] == nil {
			return !h.aborted[i]
		}
	}
	return true
}

// copyOf is what the target gets: marker for one, at the end of a transaction of its own.
func (h *history) copyOf(c int) *kgo.Record {
	if c == marker {
		return nil
	}
	r := *h.source[c]
	return &r
}

// writeLog produces records; those in front of a nil are in a transaction, which that ends.
func writeLog(t *testing.T, plain *kgo.Client, txn *kafkatest.Txn, rs []*kgo.Record, aborted func(int) bool) {
	t.Helper()
	for begin := 0; begin < len(rs); {
		end := begin + slices.Index(rs[begin:], nil)
		if end < begin {
			kafkatest.Produce(t, plain, rs[begin:]...)
			return
		}
		txn.Begin()
		txn.Produce(rs[begin:end]...)
		txn.End(!aborted(end))
		begin = end + 1
	}
}

// randomHistory writes n records, sends stretches again, and copies them as a mirror does: late, in part, and some again.
func randomHistory(r *rand.Rand, topic string, p int32, n int, markers bool) history {
	var h history
	ms := int64(1_700_000_000_000) + int64(p)*1_000_000
	disorder, equal := r.IntN(4) == 0, r.IntN(4) == 0
	keys := 1 + r.IntN(2*n)
	for len(h.source) < n {
		if !equal || r.IntN(20) == 0 {
			ms += int64(r.IntN(3))
		}
		at := ms
		if disorder {
			at -= int64(r.IntN(20))
		}
		// A mark of the partition is in each record: partitions do not share any.
		h.source = append(h.source, &kgo.Record{Topic: topic, Partition: p, Timestamp: time.UnixMilli(at), Key: fmt.Appendf(nil, "p%d-k%d", p, r.IntN(keys)),
			Value: fmt.Appendf(nil, "p%d-%d", p, len(h.source))})
		if len(h.source) > 20 && r.IntN(n/2) == 0 { // a stretch is sent again as it was
			from := r.IntN(len(h.source) - 10)
			until := min(len(h.source), from+1+r.IntN(max(2, n/8)))
			for _, old := range h.source[from:until] {
				c := *old
				h.source = append(h.source, &c)
			}
		}
	}
	readCommitted := false
	if markers {
		h.withMarkers(r)
		readCommitted = r.IntN(2) == 0
	}
	from, until := 0, len(h.source)
	if r.IntN(4) == 0 {
		from = r.IntN(until)
	}
	if r.IntN(4) == 0 {
		until = from + r.IntN(until-from+1)
	}
	restarts := r.IntN(3)
	for i := from; i < until; i++ {
		if markers && r.IntN(30) == 0 && len(h.copied) > 0 && h.copied[len(h.copied)-1] != marker {
			h.copied = append(h.copied, marker)
		}
		if h.source[i] == nil || readCommitted && !h.committed(i) {
			continue
		}
		h.copied = append(h.copied, i)
		if restarts > 0 && r.IntN(n) == 0 {
			i, restarts = max(from, i-r.IntN(max(2, n/10)))-1, restarts-1
		}
	}
	for range 4 {
		h.at = append(h.at, int64(r.IntN(len(h.source)+1)))
	}
	return h
}

// offsetsOf reads which offsets of each partition are left.
func offsetsOf(t *testing.T, cl *kgo.Client, topic string, parts int32) []map[int64]bool {
	t.Helper()
	out := make([]map[int64]bool, parts)
	for p := range parts {
		out[p] = map[int64]bool{}
		for _, r := range wholeLog(t, cl, topic, p) {
			out[p][r.Offset] = true
		}
	}
	return out
}

// scene is how the worlds of one test are made: their logs, and what is lost of them.
type scene struct {
	name          string
	seeds         []uint64
	parts         int32
	records       int
	batch         int32 // bytes
	compactSource bool
	compactTarget bool
	trim          bool
	markers       bool
}

// TestWorlds holds every translated position to what both logs hold. Seeds beside the first one are of worlds in which a rule was
// wrong once.
func TestWorlds(t *testing.T) {
	for n, w := range []scene{
		{"one record a batch", []uint64{99}, 30, 60, 1, false, false, true, false},
		{"compacted target", []uint64{99}, 40, 200, 2000, false, true, false, false},
		{"compacted source", []uint64{99, 1, 2}, 40, 200, 4000, true, false, false, false},
		{"both compacted, heads deleted", []uint64{99, 2}, 40, 300, 1 << 20, true, true, true, false},
		{"neither", []uint64{99, 7}, 40, 400, 30_000, false, false, true, false},
		{"markers", []uint64{99}, 40, 200, 4000, false, false, true, true},
		{"markers, compacted target", []uint64{99}, 40, 200, 4000, false, true, true, true},
		{"markers, compacted source", []uint64{99, 1}, 40, 200, 4000, true, false, false, true},
		{"100,000 records", []uint64{99}, 1, 100_000, 1 << 20, false, true, true, false},
		{"100,000 records, not compacted", []uint64{99}, 4, 25_000, 1 << 20, false, false, true, false},
	} {
		for _, seed := range w.seeds {
			t.Run(fmt.Sprintf("%s, seed %d", w.name, seed), func(t *testing.T) { w.run(t, rand.New(rand.NewPCG(uint64(n), seed))) })
		}
	}
}

func (w scene) run(t *testing.T, r *rand.Rand) { w.runAfter(t, r, func(*kgo.Client) {}) }

// runAfter is run, with something done to the source when its records are lost.
func (w scene) runAfter(t *testing.T, r *rand.Rand, then func(src *kgo.Client)) {
	t.Helper()
	sc, src := kafkatest.FakeClient(t)
	dc, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	hs, groups := w.write(t, r, src, dst)
	for p, h := range hs {
		if w.trim && r.IntN(3) == 0 {
			kafkatest.DeleteRecords(t, src, "w", int32(p), int64(r.IntN(len(h.source)/4)))
		}
		if w.trim && r.IntN(2) == 0 && len(h.copied) > 4 {
			kafkatest.DeleteRecords(t, dst, "w", int32(p), int64(r.IntN(len(h.copied)*3/4)))
		}
	}
	sc.Compact()
	dc.Compact()
	then(src)
	left, there := offsetsOf(t, src, "w", w.parts), offsetsOf(t, dst, "w", w.parts)
	outcomes := map[migrate.Outcome]int{}
	for _, g := range groups {
		res := translate(t, src, dst, g, migrate.Query{Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
		for _, i := range res.Items {
			outcomes[i.Outcome]++
			if problem := hs[i.Target.Partition].judge(i, left[i.Target.Partition], there[i.Target.Partition]); problem != "" {
				t.Errorf("partition %d at %d: %s to %d (%s: %s): %s", i.Target.Partition, i.Row.Committed.Offset, i.Label(), i.Offset, i.Strategy, i.Proof, problem)
			}
		}
	}
	t.Logf("%v", outcomes)
	if outcomes[migrate.Exact] == 0 {
		t.Error("nothing is exact: the world says nothing")
	}
}

// write makes the topic w on both clusters with random histories, and groups with their positions at the source.
func (w scene) write(t *testing.T, r *rand.Rand, src, dst *kgo.Client) (hs []history, groups []string) {
	t.Helper()
	config := func(compact bool) []string {
		if !compact {
			return nil
		}
		return []string{"cleanup.policy", "compact", "segment.bytes", "14", "min.cleanable.dirty.ratio", "0", "segment.ms", "1"}
	}
	kafkatest.CreateTopic(t, src, "w", w.parts, config(w.compactSource)...)
	kafkatest.CreateTopic(t, dst, "w", w.parts, config(w.compactTarget)...)
	from, into := derived(t, src, kgo.ProducerBatchMaxBytes(max(600, w.batch)), kgo.RecordPartitioner(kgo.ManualPartitioner())), derived(t, dst, kgo.ProducerBatchMaxBytes(max(600, w.batch/2)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var sourceTxn, targetTxn *kafkatest.Txn
	if w.markers {
		sourceTxn, targetTxn = kafkatest.NewTxn(t, src, "worlds"), kafkatest.NewTxn(t, dst, "worlds")
	}
	commits := map[int][]kafkatest.Committed{}
	for p := range w.parts {
		h := randomHistory(r, "w", p, w.records, w.markers)
		hs = append(hs, h)
		writeLog(t, from, sourceTxn, h.source, func(i int) bool { return h.aborted[i] })
		var copies []*kgo.Record
		for _, i := range h.copied {
			copies = append(copies, h.copyOf(i))
		}
		writeLog(t, into, targetTxn, copies, func(int) bool { return false })
		for g, at := range h.at {
			commits[g] = append(commits[g], kafkatest.At("w", p, at))
		}
	}
	for g, at := range commits {
		groups = append(groups, fmt.Sprint("g", g))
		kafkatest.Commit(t, src, fmt.Sprint("g", g), at...)
	}
	return hs, groups
}

// judge says what is wrong with a translated position: an unread record that is on the target in front of it and nowhere
// behind, or more records that were read behind it than it says.
func (h history) judge(i *migrate.Item, left, there map[int64]bool) string {
	if !i.Resolved() {
		return ""
	}
	at := i.Row.Committed.Offset
	unread, ahead := map[string]map[int]bool{}, map[string]int{}
	for off, c := range h.copied {
		if c == marker || !there[int64(off)] {
			continue
		}
		if int64(c) >= at && left[int64(c)] {
			if unread[h.looks(c)] == nil {
				unread[h.looks(c)] = map[int]bool{}
			}
			unread[h.looks(c)][c] = true
		}
		if int64(off) >= i.Offset {
			ahead[h.looks(c)]++
		}
	}
	for look, cs := range unread {
		if ahead[look] < len(cs) {
			return fmt.Sprintf("%d unread records %s are on the target, %d of them behind the position", len(cs), look, ahead[look])
		}
	}
	// What the source has lost and sent again is not told from its second copy while that is on its way.
	if a := i.Row.Around; !a.Whole && len(h.copied) > 0 && slices.ContainsFunc(a.Sought(), func(f migrate.Fingerprint) bool { return int(f.Offset) > slices.Max(h.copied) }) {
		return ""
	}
	most, latest := int64(0), i.Offset
	if i.Outcome == migrate.Again {
		most, latest = i.Translation.Again, i.Latest
	}
	point := pointOf(h.copied, at)
	again := h.again(at, i.Offset, point, there)
	if int64(len(again)) > most {
		return fmt.Sprintf("%d records that were read come again, source offset %d first", len(again), again[0])
	}
	if len(again) > 0 && point > latest {
		return fmt.Sprintf("all that was read is there by %d, and not by %d", point, latest)
	}
	return ""
}

func (h history) looks(c int) string {
	r := h.source[c]
	return fmt.Sprintf("%d %s %s", r.Timestamp.UnixMilli(), r.Key, r.Value)
}

// pointOf is the offset by which the mirror had copied everything that was read. What it copied again behind that comes to
// every reader.
func pointOf(copied []int, at int64) int64 {
	point := int64(0)
	seen := map[int]bool{}
	for off, c := range copied {
		if c != marker && int64(c) < at && !seen[c] {
			seen[c], point = true, int64(off)+1
		}
	}
	return point
}

// again are the records that were read and come again from one offset to another, each as often as it is there.
func (h history) again(at, from, until int64, there map[int64]bool) []int {
	var out []int
	for off := from; off < until; off++ {
		c := h.copied[off]
		if c == marker || !there[off] {
			continue
		}
		if !slices.ContainsFunc(h.source[max(0, int(at)):], func(r *kgo.Record) bool { // one that is sent again later comes as that
			return r != nil && string(r.Value) == string(h.source[c].Value)
		}) {
			out = append(out, c)
		}
	}
	return out
}

// A stretch is sent again with its times while the target has lost the first copies: the position must not land on the second ones.
func TestSentAgainAndCompacted(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	dc, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	sentAgain(t, src, dst, "again", dc.Compact, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0")
}

// The same where the target's head is deleted.
func TestSentAgainAndTrimmed(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	sentAgain(t, src, dst, "again", func() { kafkatest.DeleteRecords(t, dst, "again", 0, 600) })
}

// sentAgain is the test where the target's topic, which has that configuration, is filled here. lose takes the first copies away.
func sentAgain(t *testing.T, src, dst *kgo.Client, topic string, lose func(), config ...string) {
	t.Helper()
	kafkatest.CreateTopic(t, src, topic, 1)
	kafkatest.CreateTopic(t, dst, topic, 1, config...)
	kafkatest.Produce(t, src, sentAgainRecords(topic)...)
	for part := range slices.Chunk(sentAgainRecords(topic), 50) {
		kafkatest.Produce(t, dst, part...)
	}
	lose()
	judgeSentAgain(t, src, dst, topic, topic, migrate.Mapping{})
}

// sentAgainRecords are 900 of 2 KB, of which those from 700 to 799 are those from 500 to 599 once more.
func sentAgainRecords(topic string) (all []*kgo.Record) {
	for i := range 900 {
		n := i
		if i >= 700 && i < 800 {
			n = i - 200
		}
		all = append(all, &kgo.Record{Topic: topic, Timestamp: time.UnixMilli(1_700_000_000_000 + int64(n)*1000), Key: fmt.Appendf(nil, "k%d", n), Value: fmt.Appendf(nil, "%02000d", n)})
	}
	return all
}

// judgeSentAgain translates positions around the first copies, which the target has lost.
func judgeSentAgain(t *testing.T, src, dst *kgo.Client, topic, copied string, names migrate.Mapping) {
	t.Helper()
	left := offsetsOf(t, dst, copied, 1)[0]
	if left[550] || !left[600] || !left[750] {
		t.Fatalf("the target has all records: %d", len(left))
	}
	for _, at := range []int64{499, 500, 501, 550, 598, 599, 600, 650, 700, 750} {
		kafkatest.Commit(t, src, topic+".g", kafkatest.At(topic, 0, at))
		i := translate(t, src, dst, topic+".g", migrate.Query{Mapping: names, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}).Items[0]
		want := at
		if at < 600 && !left[at] {
			want = 600 // the first unread record that is there
		}
		if !i.Resolved() || i.Offset > want {
			t.Errorf("at %d: %s %d (%s) %v, want %d at the most", at, i.Label(), i.Offset, i.Proof, i.Reasons, want)
		}
	}
}

// The same number of partitions, and another partitioner: no position of one partition says anything about the other's.
func TestDealtAnew(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "anew", dealtParts)
	}
	rs, copies := dealtRecords("anew", "anew")
	kafkatest.Produce(t, src, rs...)
	kafkatest.Produce(t, dst, copies...)
	judgeDealtAnew(t, src, dst, "anew", migrate.Mapping{})
}

// dealtParts is how many partitions a topic and the one with another partitioner have.
const dealtParts = 6

// dealtRecords are the same records in two topics, by two partitioners.
func dealtRecords(topic, other string) (rs, others []*kgo.Record) {
	for i := range 600 {
		r := &kgo.Record{Topic: topic, Partition: int32(i*7%41) % dealtParts, Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*10), Key: fmt.Appendf(nil, "k%d", i*7%41), Value: fmt.Append(nil, i)}
		c := *r
		c.Topic, c.Partition = other, int32(i*7%41/5)%dealtParts
		rs, others = append(rs, r), append(others, &c)
	}
	return rs, others
}

// judgeDealtAnew carries positions of the topic to where its records were dealt anew.
func judgeDealtAnew(t *testing.T, src, dst *kgo.Client, topic string, names migrate.Mapping) {
	t.Helper()
	var at []kafkatest.Committed
	for p := range int32(dealtParts) {
		at = append(at, kafkatest.At(topic, p, 40))
	}
	kafkatest.Commit(t, src, topic+".g", at...)
	for _, allow := range []bool{false, true} {
		for _, i := range translate(t, src, dst, topic+".g", migrate.Query{Mapping: names, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies(), AllowUnproven: allow}}).Items {
			if i.Outcome != migrate.Unproven && i.Outcome != migrate.Unresolved || !allow && i.Resolved() {
				t.Errorf("allowed %t, %s: %s %d (%s)", allow, i.Target, i.Label(), i.Offset, i.Proof)
			}
			if i.Evidence.Elsewhere == "" {
				t.Errorf("%s: nothing says that its records are elsewhere", i.Target)
			}
		}
	}
}

// Ten records that are one and the same, of which the target has seven: which of them are there cannot be told, and no commit among
// them is verified as the same, nor as behind or ahead.
func TestVerifyAmongIdenticalRecords(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for n, cl := range map[int]*kgo.Client{10: src, 7: dst} {
		kafkatest.CreateTopic(t, cl, "identical", 1)
		for range n {
			kafkatest.Produce(t, cl, &kgo.Record{Topic: "identical", Timestamp: time.UnixMilli(1_700_000_000_000), Key: []byte("k"), Value: []byte("v")})
		}
	}
	kafkatest.Commit(t, src, "g", kafkatest.At("identical", 0, 5))
	for _, at := range []int64{3, 5, 6} {
		kafkatest.Commit(t, dst, "g", kafkatest.At("identical", 0, at))
		got, err := migrate.Verify(t.Context(), dst, export(t, src, "g"), migrate.Mapping{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Verdict != migrate.VerdictUnknown {
			t.Errorf("5 at the source, %d on the target: %s: %s", at, got[0].Verdict, got[0].Detail)
		}
	}
}

// All of them were read and copied: how many of them are there cannot be told either, so that the group is not behind, and no record is
// missing by name.
func TestVerifyBehindIdenticalRecords(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	for _, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "identical", 1)
		for range 5 {
			kafkatest.Produce(t, cl, &kgo.Record{Topic: "identical", Timestamp: time.UnixMilli(1_700_000_000_000), Key: []byte("k"), Value: []byte("v")})
		}
		kafkatest.Commit(t, cl, "g", kafkatest.At("identical", 0, 5))
	}
	got, err := migrate.Verify(t.Context(), dst, export(t, src, "g"), migrate.Mapping{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Verdict != migrate.VerdictUnknown || !strings.Contains(got[0].Detail, "has look-alikes that were read too") {
		t.Errorf("%s: %s", got[0].Verdict, got[0].Detail)
	}
}
