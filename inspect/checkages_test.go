package inspect

import (
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// A partition without a commit, of which max-uncommitted may allow some, has a next record of unknown age: the group's is a
// minimum beside it, as watch, serve and inspect say, and none where nothing else waits.
func TestAgesOfACheckCountWhatIsNotCommitted(t *testing.T) {
	most, read := time.Hour, GroupPartition{"g", offset.Partition{Topic: "x", Partition: 1}}
	for name, tc := range map[string]struct {
		times map[GroupPartition]TimedLag
		want  LagTime
	}{
		"alone":           {nil, UnknownAge(AgeNoCommit)},
		"beside a record": {map[GroupPartition]TimedLag{read: {Next: &offset.Record{Offset: 5, Time: t0.Add(-time.Minute)}}}, LagTime{D: time.Minute, Known: true, Basis: LagAtLeast, Record: 5}},
	} {
		v := verdictsOf{limits: Limits{Age: &most}, lacking: map[string][]offset.Partition{}, untimed: map[string][]LagTime{}}
		b := full(9)
		d := Diagnose(Window{Samples: []Sample{{At: t0, NoCommit: true, End: 9}}, Status: StatusNoCommit, Bounds: &b, Readers: ReadersSome}, DefaultRules())
		v.row(&Row{Group: "g", Partition: offset.Partition{Topic: "x"}, Bounds: &b, Verdict: Verdict{Status: StatusNoCommit}}, &d)
		groups := []CheckedGroup{{Description: Description{Group: Group{Name: "g"}}}}
		v.ages(groups, tc.times, t0)
		if got := groups[0].LagTime; got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
