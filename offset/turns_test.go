package offset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// The rules of a position, each on the two sides of where it turns: at log start, at log end, at the last stable offset, at 0 and at
// what 64 bits hold.
func TestWhereResolveTurns(t *testing.T) {
	t.Parallel()
	log := &offset.Bounds{Start: 4, End: 10, LastStable: 8}
	commit := func(n int64) *offset.Committed { return &offset.Committed{Offset: n, LeaderEpoch: offset.EpochOf(3)} }
	copied := func(n int64) *offset.Foreign { return &offset.Foreign{Committed: *commit(n)} }
	found := func(n int64) *offset.Record { return &offset.Record{Offset: n, Time: time.UnixMilli(6000)} }
	at := offset.Position{Kind: offset.AtTime, At: offset.Instant{Time: time.UnixMilli(5000)}}
	shift := func(n int64) offset.Position { return offset.Position{Kind: offset.FromCurrent, N: n} }
	after := func(n int64) offset.Position { return offset.Position{Kind: offset.AfterStart, N: n} }
	huge, low := int64(math.MaxInt64), int64(math.MinInt64)
	wide := &offset.Bounds{Start: 0, End: huge, LastStable: huge}
	from := int64(6)
	committed := offset.Rules{Isolation: offset.ReadCommitted}
	clamp := offset.Rules{OutOfRange: offset.OutOfRangeClamp}
	for _, c := range []struct {
		name  string
		pos   offset.Position
		facts offset.Facts
		rules offset.Rules
		want  string
	}{
		{"shift to the start", shift(-2), offset.Facts{Bounds: log, Committed: commit(6)}, offset.Rules{}, "4 shifted"},
		{"shift to the end", shift(4), offset.Facts{Bounds: log, Committed: commit(6)}, offset.Rules{}, "10 shifted"},
		{"shift past the end", shift(5), offset.Facts{Bounds: log, Committed: commit(6)}, offset.Rules{}, "refused out-of-range"},
		{"shift to the largest number", shift(huge - 6), offset.Facts{Bounds: wide, Committed: commit(6)}, offset.Rules{}, fmt.Sprint(huge, " shifted")},
		{"shift past the largest number", shift(huge - 5), offset.Facts{Bounds: wide, Committed: commit(6)}, clamp, "refused out-of-range"},
		{"shift to the smallest number", shift(low), offset.Facts{Bounds: log, Committed: commit(0)}, clamp, "4 clamped-to-start"},
		{"an end at the largest number", after(huge - 6), offset.Facts{Bounds: log, From: &from}, offset.Rules{}, fmt.Sprint(huge, " shifted")},
		{"an end past the largest number", after(huge - 5), offset.Facts{Bounds: log, From: &from}, offset.Rules{}, "refused out-of-range"},
		{"an end that counts from the start", after(3), offset.Facts{Bounds: log}, offset.Rules{}, "7 shifted"},
		{"a commit of 0", shift(0), offset.Facts{Bounds: &offset.Bounds{End: 5, LastStable: 5}, Committed: commit(0)}, offset.Rules{}, "0 committed"},
		{"a commit of -1", shift(0), offset.Facts{Bounds: log, Committed: commit(-1)}, offset.Rules{}, "refused negative-offset"},
		{"a commit at the start", shift(0), offset.Facts{Bounds: log, Committed: commit(4)}, offset.Rules{}, "4 committed"},
		{"a commit one below the start", shift(0), offset.Facts{Bounds: log, Committed: commit(3)}, offset.Rules{}, "refused expired"},
		{"a commit at the last stable offset", shift(0), offset.Facts{Bounds: log, Committed: commit(8)}, committed, "8 committed"},
		{"a commit at the end, past the last stable offset", shift(0), offset.Facts{Bounds: log, Committed: commit(10)}, committed, "10 committed"},
		{"a commit one past the end", shift(0), offset.Facts{Bounds: log, Committed: commit(11)}, committed, "refused out-of-range"},
		{"a copied 0", offset.Position{Kind: offset.OfGroup}, offset.Facts{Bounds: &offset.Bounds{End: 5, LastStable: 5}, Foreign: copied(0)}, offset.Rules{}, "0 copied"},
		{"a copied -1", offset.Position{Kind: offset.OfGroup}, offset.Facts{Bounds: log, Foreign: copied(-1)}, offset.Rules{}, "refused negative-offset"},
		{"a past 0", offset.Position{Kind: offset.CurrentAt}, offset.Facts{Bounds: &offset.Bounds{End: 5, LastStable: 5}, Foreign: copied(0)}, offset.Rules{}, "0 committed-then"},
		{"an oldest 0", offset.Position{Kind: offset.CurrentAt},
			offset.Facts{Bounds: &offset.Bounds{End: 5, LastStable: 5}, Foreign: &offset.Foreign{Unknown: &offset.Unknown{Oldest: commit(0)}}},
			offset.Rules{IfUnknown: offset.IfUnknownOldest}, "0 not-known"},
		{"an oldest -1", offset.Position{Kind: offset.CurrentAt}, offset.Facts{Bounds: log, Foreign: &offset.Foreign{Unknown: &offset.Unknown{Oldest: commit(-1)}}},
			offset.Rules{IfUnknown: offset.IfUnknownOldest}, "refused not-known"},
		{"a time whose record is below the last stable offset", at, offset.Facts{Bounds: log, Found: found(7)}, committed, "7 record-at-or-after"},
		{"a time whose record is the last stable offset", at, offset.Facts{Bounds: log, Found: found(8)}, committed, "8 no-record-after"},
		{"the same, uncommitted", at, offset.Facts{Bounds: &offset.Bounds{Start: 4, End: 8, LastStable: 8}, Found: found(8)}, offset.Rules{}, "8 record-at-or-after"},
	} {
		target, err := offset.Resolve(offset.Partition{Topic: "t"}, c.pos, c.facts, c.rules)
		got := fmt.Sprint(target.Offset, " ", target.Reason)
		var no *offset.Refusal
		if errors.As(err, &no) {
			got = fmt.Sprint("refused ", no.Reason)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, err)
		}
	}
}

// What a target carries beside its number: the epoch of the end where it is the end, the commit's own text only where the number is
// the commit's, and how many offsets were lost.
func TestWhatATargetCarries(t *testing.T) {
	t.Parallel()
	log := &offset.Bounds{Start: 4, End: 10, LastStable: 8}
	epochs := offset.Facts{Bounds: log, EndEpoch: offset.EpochOf(9)}
	latest := offset.Position{Kind: offset.Latest}
	if got, _ := offset.Resolve(offset.Partition{}, latest, epochs, offset.Rules{}); got.LeaderEpoch != offset.EpochOf(9) {
		t.Errorf("the log end has no epoch: %+v", got)
	}
	if got, _ := offset.Resolve(offset.Partition{}, latest, epochs, offset.Rules{Isolation: offset.ReadCommitted}); got.LeaderEpoch != (offset.LeaderEpoch{}) {
		t.Errorf("the last stable offset has the epoch of the end: %+v", got)
	}
	past := offset.Position{Kind: offset.CurrentAt}
	old := &offset.Foreign{Committed: offset.Committed{Offset: 1, Metadata: "m"}}
	got, err := offset.Resolve(offset.Partition{}, past, offset.Facts{Bounds: log, Foreign: old}, offset.Rules{IfExpired: offset.IfExpiredEarliest})
	if err != nil || got.Metadata != nil || !strings.Contains(got.Detail, "3 offsets expired unread") {
		t.Errorf("%+v, %v", got, err)
	}
	good := &offset.Foreign{Committed: offset.Committed{Offset: 5, Metadata: "m"}}
	if got, err = offset.Resolve(offset.Partition{}, past, offset.Facts{Bounds: log, Foreign: good}, offset.Rules{}); err != nil || got.Metadata == nil || *got.Metadata != "m" {
		t.Errorf("%+v, %v", got, err)
	}
	cause := offset.NewError(offset.KindDenied, "no")
	_, err = offset.Resolve(offset.Partition{}, latest, offset.Facts{Err: cause}, offset.Rules{})
	if _, none := offset.Resolve(offset.Partition{}, past, offset.Facts{Bounds: log}, offset.Rules{}); offset.KindOf(err) != offset.KindDenied || offset.KindOf(none) != offset.KindRefused {
		t.Errorf("%v is %v, %v is %v", err, offset.KindOf(err), none, offset.KindOf(none))
	}
	if offset.KindOf(nil) != offset.KindNone {
		t.Error("nil is a kind of error")
	}
}

// A source that is not there has nothing, one without groups has the same for all, one with several has none that is the one.
func TestSavedBy(t *testing.T) {
	t.Parallel()
	var none *offset.SavedBy
	if _, ok := none.For("g"); ok || none.Names() != nil {
		t.Error("a source that is not there has something")
	}
	p, a, b := offset.Partition{Topic: "t"}, "a", "b"
	value := func(n int64) offset.Foreign { return offset.Foreign{Committed: offset.Committed{Offset: n}} }
	var any, two offset.SavedBy
	any.Put(offset.Origin{From: "x"}, nil, p, value(1))
	any.Put(offset.Origin{From: "x"}, nil, offset.Partition{Topic: "u"}, value(2))
	if one, ok := any.For("g"); !ok || len(one.Offsets) != 2 || one.Offsets[p].Offset != 1 || one.Origin.From != "x" {
		t.Errorf("%+v, %t", one, ok)
	}
	if one, ok := any.One(); !ok || len(one.Offsets) != 2 {
		t.Errorf("%+v, %t", one, ok)
	}
	two.Put(offset.Origin{}, &a, p, value(1))
	if _, ok := two.For("b"); ok {
		t.Error("a group that is not named has something")
	}
	if one, ok := two.One(); !ok || one.Offsets[p].Offset != 1 {
		t.Errorf("%+v, %t", one, ok)
	}
	two.Put(offset.Origin{}, &b, p, value(2))
	if _, ok := two.One(); ok {
		t.Error("one of two groups was taken")
	}
	if names := two.Names(); len(names) != 2 || names[0] != "a" || names[1] != "b" {
		t.Errorf("%q", names)
	}
	if one, ok := two.For("b"); !ok || one.Offsets[p].Offset != 2 {
		t.Errorf("%+v, %t", one, ok)
	}
}

// A topic that was made anew refuses its own rows and no others, and each side's silence has a sentence of its own.
func TestWhatOriginsSay(t *testing.T) {
	t.Parallel()
	t0, t1 := offset.Partition{Topic: "a"}, offset.Partition{Topic: "b"}
	used := map[offset.Partition]offset.Foreign{t0: {}, t1: {}}
	ids := func(a, b string) map[string]string { return map[string]string{"a": a, "b": b} }
	c := offset.Origin{From: "f", ClusterID: "C", TopicIDs: ids("1", "2")}.Compare(offset.Here{ClusterID: "C", TopicIDs: ids("1", "9")}, used, nil)
	if err := c.Topic("a"); err != nil {
		t.Errorf("a is refused: %v", err)
	}
	if err := c.Topic("b"); err == nil || !strings.Contains(err.Error(), "deleted and created again since") && !strings.Contains(err.Error(), "another topic of the same name") {
		t.Errorf("b: %v", err)
	}
	both := offset.Origin{From: "f", TopicIDs: ids("1", "2")}.Compare(offset.Here{TopicIDs: ids("8", "9")}, used, nil)
	one := offset.Origin{From: "f", TopicIDs: ids("1", "2")}.Compare(offset.Here{TopicIDs: ids("1", "9")}, used, nil)
	if err := both.Err(); err == nil || !strings.Contains(err.Error(), "other topics of the same name") {
		t.Error(err)
	}
	if err := one.Err(); err == nil || !strings.Contains(err.Error(), "another topic of the same name") {
		t.Error(err)
	}
	for _, s := range []struct {
		from offset.Origin
		here offset.Here
		want string
	}{
		{offset.Origin{From: "f"}, offset.Here{ClusterID: "C", TopicIDs: ids("1", "2")}, "f does not say which cluster and topics its offsets belong to"},
		{offset.Origin{From: "f", TopicIDs: ids("", "")}, offset.Here{ClusterID: "C", TopicIDs: ids("1", "2")}, "f does not say which cluster its offsets of a, b belong to"},
		{offset.Origin{From: "f", ClusterID: "C"}, offset.Here{TopicIDs: ids("1", "2")}, "f has offsets of cluster C, and this cluster tells no id"},
		{offset.Origin{From: "f", ClusterID: "C"}, offset.Here{ClusterID: "C", TopicIDs: ids("1", "2")}, "f has no topic id to compare for a, b"},
	} {
		said := s.from.Compare(s.here, used, nil).Said()
		if len(said) != 1 || !strings.HasPrefix(said[0].Text, s.want) {
			t.Errorf("%+v: %+v, want %s", s.from, said, s.want)
		}
	}
}

// Words at the edges of what they take, with the hint that fits.
func TestWordEdges(t *testing.T) {
	t.Parallel()
	clock := offset.Clock{Now: time.Date(2026, 11, 29, 10, 30, 0, 0, time.UTC)}
	for word, want := range map[string]string{"yesterday": "2026-11-28T00:00:00Z", "today": "2026-11-29T00:00:00Z", "now": "2026-11-29T10:30:00Z"} {
		if got, err := offset.ParsePosition(word, offset.RoleStart, clock); err != nil || offset.FormatTime(got.At.Time) != want {
			t.Errorf("%s is %+v, %v", word, got, err)
		}
	}
	hint := func(err error) string {
		var s *offset.SyntaxError
		if !errors.As(err, &s) {
			t.Fatalf("%v is not a syntax error", err)
		}
		return s.Hint
	}
	for word, want := range map[string]string{"1764496800s": "write @1764496800s for that epoch", "1764496800ms": "write @1764496800ms for that epoch", "2h": "write @-2h for 2h ago"} {
		if _, err := offset.ParsePosition(word, offset.RoleStart, clock); err == nil || hint(err) != want {
			t.Errorf("%s: %v, hint %q", word, err, hint(err))
		}
	}
	if _, err := offset.ParsePosition("999999999s", offset.RoleStart, clock); err == nil || strings.Contains(hint(err), "epoch") {
		t.Errorf("nine digits are an epoch: %v", err)
	}
	if p, err := offset.ParseOffset("0"); err != nil || p.N != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := offset.ParsePosition("end-0", offset.RoleTarget, clock); err != nil || p.N != 0 || p.Kind != offset.FromEnd {
		t.Errorf("%+v, %v", p, err)
	}
	if got := (offset.Position{Kind: offset.FromCurrent}).String(); got != "current+0" {
		t.Error(got)
	}
	if _, err := offset.ParseShift("x"); err == nil {
		t.Error("x is a distance")
	}
	for text, want := range map[string]string{"t:0": "t:0", "a:b:7": "a:b:7"} {
		if p, err := offset.ParsePartition(text); err != nil || p.String() != want || p.Partition != int32(text[len(text)-1]-'0') {
			t.Errorf("%s is %+v, %v", text, p, err)
		}
	}
	for _, text := range []string{"t", ":0", "t:", "t:x", "t:-1", "t:+1"} {
		if p, err := offset.ParsePartition(text); err == nil {
			t.Errorf("%s is %+v", text, p)
		}
	}
	for name, want := range map[string]string{"a": "a", "a b": `"a b"`, "a,b": `"a,b"`, "a:b": `"a:b"`, "-": `"-"`, `"`: `"\""`} {
		if got := offset.NameText(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if _, err := offset.ParsePolicy("f", "b", "a", "c"); err == nil {
		t.Error("a word that is not allowed is taken")
	}
	if got, err := offset.ParsePolicy("f", "a", "a", "c"); err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}
}

// A start after an end is only where both are times.
func TestTurnedRound(t *testing.T) {
	t.Parallel()
	at := func(s int64) offset.Position {
		return offset.Position{Kind: offset.AtTime, At: offset.Instant{Time: time.Unix(s, 0)}}
	}
	exact := offset.Position{Kind: offset.Exact, N: 3}
	for _, c := range []struct {
		from, until offset.Position
		want        bool
	}{{at(2), at(1), true}, {at(1), at(2), false}, {at(1), at(1), false}, {at(2), exact, false}, {exact, at(1), false}} {
		if _, _, yes := c.from.TurnedRound(c.until); yes != c.want {
			t.Errorf("%s to %s: %t", c.from, c.until, yes)
		}
	}
}

// Lists of topics and partitions at their edges: what a number after a comma belongs to, and how many partitions are too many.
func TestTopicListEdges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a:0,1,b": "a[0-1] b[]", "a,1": "a[] 1[]", "a:0-2,5": "a[0-2,5]", "a,b:3": "a[] b[3]", "1,2": "1[] 2[]", "a:0,b:1,2": "a[0] b[1-2]",
	} {
		specs, err := offset.ParseTopicSpecs(text)
		var got []string
		for _, s := range specs {
			got = append(got, fmt.Sprintf("%s[%s]", s.Topic, offset.FormatPartitionSet(s.Partitions)))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"a:0,", ",a:0", "a,", "a:1-0", "a b"} {
		if specs, err := offset.ParseTopicSpecs(text); err == nil {
			t.Errorf("%s is %+v", text, specs)
		}
	}
	for text, ok := range map[string]bool{"0-99999": true, "0-100000": false, "5-100004": true, "5-100005": false, "0-9,10-99999": true, "0-9,10-100000": false, "0-2147483647": false} {
		if set, err := offset.ParsePartitionSet(text); (err == nil) != ok {
			t.Errorf("%s: %d, %v", text, len(set), err)
		}
	}
	for n, ok := range map[int]bool{1: true, 249: true, 250: false} {
		if err := offset.CheckTopicName(strings.Repeat("a", n)); (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
	match := func(names, patterns, not []string) bool {
		m, err := offset.NewMatcher("topic", names, patterns, not)
		if err != nil {
			t.Fatal(err)
		}
		return m.All()
	}
	if !match(nil, nil, nil) || match([]string{"a"}, nil, nil) || match(nil, []string{"a"}, nil) || match(nil, nil, []string{"a"}) {
		t.Error("a matcher that leaves something out says that it takes all")
	}
}

// A record's time at the edges: a minute ahead is a clock, more is the future; the first and the last that a record can have.
func TestRecordTimeEdges(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_764_000_000_000)
	for ahead, want := range map[time.Duration]offset.RecordTime{offset.ClockSkew: offset.TimePlausible, offset.ClockSkew + 1: offset.TimeInFuture} {
		if got := (offset.Record{Time: now.Add(ahead)}).TimeKind(now); got != want {
			t.Errorf("%s ahead is %v", ahead, got)
		}
	}
	if got := offset.TimeOf(time.Unix(0, 0)); !got.Equal(time.Unix(0, 0)) || got.IsZero() {
		t.Errorf("1970 is %s", got)
	}
}

// Isolation and epochs in files.
func TestFactsInFiles(t *testing.T) {
	t.Parallel()
	for i, want := range map[offset.Isolation]string{offset.ReadCommitted: "read_committed", offset.ReadUncommitted: "read_uncommitted"} {
		if i.String() != want {
			t.Errorf("%s, want %s", i, want)
		}
	}
	var e offset.LeaderEpoch
	for text, ok := range map[string]bool{"5": true, "null": true, `"x"`: false, "1.5": false} {
		if err := json.Unmarshal([]byte(text), &e); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := json.Unmarshal([]byte("null"), &e); err != nil || e != (offset.LeaderEpoch{}) {
		t.Errorf("null is %v, %v", e, err)
	}
}

// An end at its start follows it, and one before it is refused with both numbers unless something else was asked for.
func TestCheckEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end    int64
		passed bool
		policy offset.OutOfRange
		want   offset.EndOrder
		refuse bool
	}{
		{5, false, "", offset.EndFollows, false},
		{6, false, "", offset.EndFollows, false},
		{4, true, "", offset.EndPassed, false},
		{4, false, offset.OutOfRangeClamp, offset.EndTaken, false},
		{4, false, offset.OutOfRangeSkip, offset.EndLeft, false},
		{4, false, "", offset.EndFollows, true},
	} {
		got, err := offset.CheckEnd(offset.Partition{Topic: "t"}, 5, c.end, c.passed, &offset.Bounds{}, c.policy)
		if got != c.want || (err != nil) != c.refuse || err != nil && err.Error() != "t:0: the end 4 is before the start 5" {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
