package offset

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func TestResolve(t *testing.T) {
	log := &Bounds{Start: 4, End: 10, LastStable: 8}
	one := Partition{"orders", 0}
	commit := func(n int64) *Committed { return &Committed{Offset: n, LeaderEpoch: EpochOf(3), Metadata: "m"} }
	rec := func(off, ms int64) *Record { return &Record{Offset: off, Time: at(ms), LeaderEpoch: EpochOf(2)} }
	pos := func(s string) Position {
		p, err := ParsePosition(s, RoleTarget, Clock{Now: at(20000)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	timed := Position{Kind: AtTime, At: Instant{Time: at(5001)}}
	for _, tt := range []struct {
		name  string
		pos   Position
		facts Facts
		rules Rules
		want  int64 // -1: refused; -2: left alone
		why   Reason
	}{
		{"earliest", pos("earliest"), Facts{Bounds: log}, Rules{}, 4, ReasonLogStart},
		{"latest", pos("latest"), Facts{Bounds: log}, Rules{}, 10, ReasonLogEnd},
		{"latest under read_committed", pos("latest"), Facts{Bounds: log}, Rules{Isolation: ReadCommitted}, 8, ReasonLastStable},
		{"latest under read_committed, nothing open", pos("latest"), Facts{Bounds: &Bounds{0, 5, 5}}, Rules{Isolation: ReadCommitted}, 5, ReasonLogEnd},
		{"exact at the start", pos("4"), Facts{Bounds: log}, Rules{}, 4, ReasonExact},
		{"exact at the end", pos("10"), Facts{Bounds: log}, Rules{}, 10, ReasonExact},
		{"exact below", pos("3"), Facts{Bounds: log}, Rules{}, -1, ReasonOutOfRange},
		{"exact above", pos("11"), Facts{Bounds: log}, Rules{}, -1, ReasonOutOfRange},
		{"exact above the last stable offset", pos("9"), Facts{Bounds: log}, Rules{Isolation: ReadCommitted}, -1, ReasonOutOfRange},
		{"exact below, clamped", pos("2"), Facts{Bounds: log}, Rules{OutOfRange: OutOfRangeClamp}, 4, ReasonClampedToStart},
		{"exact above, clamped", pos("999"), Facts{Bounds: log}, Rules{OutOfRange: OutOfRangeClamp}, 10, ReasonClampedToEnd},
		{"exact above, skipped", pos("999"), Facts{Bounds: log}, Rules{OutOfRange: OutOfRangeSkip}, -2, ReasonSkipped},
		{"start+2", pos("start+2"), Facts{Bounds: log}, Rules{}, 6, ReasonShifted},
		{"start+7", pos("start+7"), Facts{Bounds: log}, Rules{}, -1, ReasonOutOfRange},
		{"end-6", pos("end-6"), Facts{Bounds: log}, Rules{}, 4, ReasonShifted},
		{"end-7", pos("end-7"), Facts{Bounds: log}, Rules{}, -1, ReasonOutOfRange},
		{"current", pos("current"), Facts{Bounds: log, Committed: commit(6)}, Rules{}, 6, ReasonCommitted},
		{"current, none", pos("current"), Facts{Bounds: log}, Rules{}, -1, ReasonNoCommit},
		{"current, none, skip", pos("current"), Facts{Bounds: log}, Rules{IfNoCommit: IfNoCommitSkip}, -2, ReasonSkipped},
		{"current, none, earliest", pos("current"), Facts{Bounds: log}, Rules{IfNoCommit: IfNoCommitEarliest}, 4, ReasonNoCommit},
		{"current, none, latest", pos("current"), Facts{Bounds: log}, Rules{IfNoCommit: IfNoCommitLatest}, 10, ReasonNoCommit},
		{"current, a stored -5", pos("current"), Facts{Bounds: log, Committed: commit(-5)}, Rules{}, -1, ReasonNegative},
		{"current, expired", pos("current"), Facts{Bounds: log, Committed: commit(2)}, Rules{}, -1, ReasonExpired},
		{"current, expired, earliest", pos("current"), Facts{Bounds: log, Committed: commit(2)}, Rules{IfExpired: IfExpiredEarliest}, 4, ReasonExpired},
		{"current, past the end", pos("current"), Facts{Bounds: log, Committed: commit(99)}, Rules{}, -1, ReasonOutOfRange},
		{"current between last stable and end", pos("current"), Facts{Bounds: log, Committed: commit(9)}, Rules{Isolation: ReadCommitted}, 9, ReasonCommitted},
		{"shift", pos("-2"), Facts{Bounds: log, Committed: commit(6)}, Rules{}, 4, ReasonShifted},
		{"shift below", pos("-3"), Facts{Bounds: log, Committed: commit(6)}, Rules{}, -1, ReasonOutOfRange},
		{"shift below, clamped", pos("-3"), Facts{Bounds: log, Committed: commit(6)}, Rules{OutOfRange: OutOfRangeClamp}, 4, ReasonClampedToStart},
		{"shift that overflows", Position{Kind: FromCurrent, N: math.MaxInt64}, Facts{Bounds: log, Committed: commit(6)}, Rules{OutOfRange: OutOfRangeClamp}, -1, ReasonOutOfRange},
		{"time, found", timed, Facts{Bounds: log, Found: rec(7, 6000)}, Rules{}, 7, ReasonRecord},
		{"time, at the start of an expired log", timed, Facts{Bounds: log, Found: rec(4, 6000)}, Rules{}, 4, ReasonRetention},
		{"time, at the start of an expired log, fail", timed, Facts{Bounds: log, Found: rec(4, 6000)}, Rules{IfExpired: IfExpiredFail}, -1, ReasonRetention},
		{"time, at the start of a whole log", timed, Facts{Bounds: &Bounds{0, 5, 5}, Found: rec(0, 6000)}, Rules{IfExpired: IfExpiredFail}, 0, ReasonRecord},
		{"time, none", timed, Facts{Bounds: log}, Rules{}, 10, ReasonNoRecord},
		{"time, none, earliest", timed, Facts{Bounds: log}, Rules{IfNone: IfNoneEarliest}, 4, ReasonNoRecord},
		{"time, none, skip", timed, Facts{Bounds: log}, Rules{IfNone: IfNoneSkip}, -2, ReasonNoRecord},
		{"time, none, fail", timed, Facts{Bounds: log}, Rules{IfNone: IfNoneFail}, -1, ReasonNoRecord},
		{"time, empty", timed, Facts{Bounds: &Bounds{}}, Rules{}, 0, ReasonEmpty},
		{"time, drained", timed, Facts{Bounds: &Bounds{7, 7, 7}}, Rules{}, 7, ReasonEmpty},
		{"max-timestamp", pos("max-timestamp"), Facts{Bounds: log, Max: rec(6, 6000)}, Rules{}, 6, ReasonMaxTimestamp},
		{"max-timestamp, empty", pos("max-timestamp"), Facts{Bounds: &Bounds{}}, Rules{}, 0, ReasonEmpty},
		{"tiered, not tiered", pos("latest-tiered"), Facts{Bounds: log}, Rules{}, -1, ReasonNotTiered},
		{"local start", pos("earliest-local"), Facts{Bounds: log, LocalStart: ptr(int64(6))}, Rules{}, 6, ReasonLocalStart},
		{"group", pos("group:g"), Facts{Bounds: log, Foreign: &Foreign{Committed: *commit(5)}}, Rules{}, 5, ReasonCopied},
		{"group, nothing", pos("group:g"), Facts{Bounds: log}, Rules{}, -1, ReasonNotListed},
		{"file, past the end", pos("file:f"), Facts{Bounds: log, Foreign: &Foreign{Committed: *commit(100)}}, Rules{}, -1, ReasonOutOfRange},
		{"checkpoint, expired", pos("checkpoint:d"), Facts{Bounds: log, Foreign: &Foreign{Committed: *commit(1)}}, Rules{}, -1, ReasonExpired},
		{"checkpoint, a marker", pos("checkpoint:d"), Facts{Bounds: log, Foreign: &Foreign{Marker: MarkerEarliest}}, Rules{}, -1, ReasonMarker},
		{"checkpoint, a marker as written", pos("checkpoint:d"), Facts{Bounds: log, Foreign: &Foreign{Marker: MarkerLatest}}, Rules{Marked: MarkedAsWritten}, 10, ReasonMarker},
		{"checkpoint, committed", pos("checkpoint:d"), Facts{Bounds: log, Committed: commit(6), Foreign: &Foreign{Marker: MarkerCommitted}}, Rules{Marked: MarkedAsWritten}, 6, ReasonMarker},
		{"map, listed", pos("orders:0=5"), Facts{Bounds: log}, Rules{}, 5, ReasonExact},
		{"map, not listed", pos("orders:1=5"), Facts{Bounds: log}, Rules{}, -1, ReasonNotListed},
		{"unreadable", pos("earliest"), Facts{Err: errors.New("no leader")}, Rules{}, -1, ReasonUnreadable},
		{"no bounds", pos("earliest"), Facts{}, Rules{}, -1, ReasonUnreadable},
		{"after the start", Position{Kind: AfterStart, N: 50}, Facts{Bounds: log, From: ptr(int64(6))}, Rules{}, 56, ReasonShifted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Resolve(one, tt.pos, tt.facts, tt.rules)
			if tt.want == -1 {
				var r *Refusal
				if !errors.As(err, &r) {
					t.Fatalf("got %+v, want a refusal", got)
				}
				if r.Reason != tt.why {
					t.Errorf("refused as %s, want %s", r.Reason, tt.why)
				}
				if !strings.Contains(err.Error(), "orders:0") {
					t.Errorf("%q does not name the partition", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != tt.why || got.Leave != (tt.want == -2) || !got.Leave && got.Offset != tt.want {
				t.Errorf("got %+v, want %d %s", got, tt.want, tt.why)
			}
		})
	}
}

// An out-of-range refusal names the number, both ends and the next step.
func TestRefusalWords(t *testing.T) {
	_, err := Resolve(Partition{"orders", 2}, Position{Kind: Exact, N: 999}, Facts{Bounds: &Bounds{4, 10, 10}}, Rules{})
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatal(err)
	}
	for _, word := range []string{"orders:2", "999", "4", "10"} {
		if !strings.Contains(r.Error(), word) {
			t.Errorf("%q does not name %s", r, word)
		}
	}
	if r.Hint == "" || *r.Asked != 999 {
		t.Errorf("hint %q, asked %v", r.Hint, r.Asked)
	}
}

// A copied commit takes its epoch and metadata along; one that was changed does not.
func TestResolveCarriesEpoch(t *testing.T) {
	f := Facts{Bounds: &Bounds{4, 10, 10}, Foreign: &Foreign{Committed: Committed{Offset: 5, LeaderEpoch: EpochOf(7), Metadata: "x"}}}
	p := Position{Kind: OfGroup, Ref: "g"}
	got, err := Resolve(Partition{"t", 0}, p, f, Rules{})
	if err != nil || got.LeaderEpoch != EpochOf(7) || got.Metadata == nil || *got.Metadata != "x" {
		t.Errorf("got %+v %v", got, err)
	}
	f.Foreign.Offset = 1
	got, err = Resolve(Partition{"t", 0}, p, f, Rules{IfExpired: IfExpiredEarliest})
	if err != nil || got.Metadata != nil || got.LeaderEpoch != (LeaderEpoch{}) {
		t.Errorf("an expired commit kept its epoch or metadata: %+v %v", got, err)
	}
}

// Whatever is asked, a target lies inside the log and is never negative.
func FuzzResolve(f *testing.F) {
	f.Add(uint8(4), int64(7), int64(0), int64(10), int64(8), int64(5), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, kind uint8, n, start, end, stable, committed int64, policy, iso uint8) {
		if start < 0 || end < start || stable < start || stable > end {
			return
		}
		p := Position{Kind: Kind(kind%16 + 1), N: n, Text: "x"}
		if p.Kind == Exact && n < 0 || p.Kind == AfterStart || p.Kind == ByPartition || (p.Kind == FromStart || p.Kind == FromEnd) && n < 0 {
			return
		}
		policies := []OutOfRange{OutOfRangeFail, OutOfRangeClamp, OutOfRangeSkip}
		r := Rules{OutOfRange: policies[policy%3], Isolation: Isolation(iso % 2), IfNoCommit: IfNoCommitEarliest, IfExpired: IfExpiredEarliest}
		facts := Facts{Bounds: &Bounds{start, end, stable}, Committed: &Committed{Offset: committed}, Foreign: &Foreign{Committed: Committed{Offset: committed}}}
		got, err := Resolve(Partition{"t", 0}, p, facts, r)
		if err != nil {
			var ref *Refusal
			if !errors.As(err, &ref) {
				t.Fatalf("%T is no refusal", err)
			}
			return
		}
		if !got.Leave && (got.Offset < start || got.Offset > end) {
			t.Fatalf("%v on [%d,%d]: target %d", p, start, end, got.Offset)
		}
	})
}

// A number outside the log that would be a time of these decades gets the word for that time.
func TestEpochForAnOffset(t *testing.T) {
	f := Facts{Bounds: &Bounds{Start: 0, End: 1440, LastStable: 1440}}
	for n, want := range map[int64]string{
		1764496800: "write @1764496800s if a time is meant; else ", 1764496800000: "write @1764496800000ms if a time is meant; else ", 1764: "", 99999999999: "",
	} {
		_, err := Resolve(Partition{Topic: "t"}, Position{Kind: Exact, N: n}, f, Rules{})
		var no *Refusal
		if !errors.As(err, &no) || no.Hint != want+hintRange {
			t.Errorf("%d: %v", n, err)
		}
	}
	c := Committed{Offset: 1764496800}
	f.Committed = &c
	var no *Refusal
	if _, err := Resolve(Partition{Topic: "t"}, Position{Kind: Current}, f, Rules{}); !errors.As(err, &no) || no.Hint != hintRange {
		t.Errorf("a commit: %v", err)
	}
}
