package reset

import (
	"errors"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

func TestKeepStoresWhatIsThere(t *testing.T) {
	w := small()
	r := &Request{Verb: VerbKeep, Groups: w.groups()[:1], Scope: Scope{All: true}}
	b, err := BuildKeep(r, w.read(), Keep{})
	rows := rowsOf(t, b, err)
	if c := rows["t:0"]; len(rows) != 3 || c.Action != checkpointfile.ActionCommit || !identical(c.From, c.To) {
		t.Errorf("%+v", rows)
	}
	for _, gone := range []string{"t:7", "gone:0"} {
		if c := rows[gone]; c.Action != checkpointfile.ActionLeave || c.Detail == "" {
			t.Errorf("%s: %+v", gone, c)
		}
	}
	// It is sent although it is there already; a commit that moved meanwhile is drift, and never set back.
	if got := Check(b.Plan, w.read(), Allowed{}); len(got.Drifts) > 0 || got.Rows[1].Action != checkpointfile.ActionCommit {
		t.Errorf("%+v", got)
	}
	w.stored["a"][offset.Partition{Topic: "t"}] = offset.Committed{Offset: 6}
	if got := Check(b.Plan, w.read(), Allowed{}); len(got.Drifts) != 1 || got.Drifts[0].Kind != DriftCommit {
		t.Errorf("%+v", got.Drifts)
	}
	// With an expiry of their own they have no epoch.
	b, err = BuildKeep(r, w.read(), Keep{For: time.Hour})
	if c := rowsOf(t, b, err)["t:0"]; c.To == nil || c.To.LeaderEpoch != (offset.LeaderEpoch{}) || c.To.Offset != 6 {
		t.Errorf("%+v", c)
	}
}

func TestKeepKnowsFromWhenKafkaCounts(t *testing.T) {
	for _, c := range []struct {
		kind     inspect.GroupType
		protocol string
		want     error
	}{
		{inspect.TypeClassic, "", nil}, {inspect.TypeClassic, "consumer", ErrCountsFromEmpty}, {"", "consumer", ErrCountsFromEmpty}, {inspect.TypeClassic, "connect", ErrCountsFromEmpty},
		{inspect.TypeConsumer, "consumer", nil}, {inspect.TypeStreams, "streams", nil}, {inspect.TypeShare, "share", ErrShareKeeps},
	} {
		for _, long := range []time.Duration{0, time.Hour} {
			w := small()
			f := w.read()
			f.Groups["a"].Type, f.Groups["a"].ProtocolType = c.kind, c.protocol
			b, err := BuildKeep(&Request{Verb: VerbKeep, Groups: w.groups()[:1], Scope: Scope{All: true}}, f, Keep{For: long})
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if long > 0 && errors.Is(want, ErrCountsFromEmpty) {
				want = nil
			}
			if (want == nil) != (len(b.Failed) == 0) || want != nil && !errors.Is(b.Failed[0], want) {
				t.Errorf("%s %q for %s: %v", c.kind, c.protocol, long, b.Failed)
			}
		}
	}
}
