package history

import (
	"testing"
	"time"

	"github.com/koffset/koffset/inspect"
)

// A share group's progress is not in the topic of the commits, so that having seen none is not known as none.
func TestFollowKnowsNothingOfShareGroups(t *testing.T) {
	t.Parallel()
	for kind, known := range map[inspect.GroupType]bool{inspect.TypeClassic: true, inspect.TypeShare: false} {
		p := newFollowedPart(0)
		p.at, p.before = time.Unix(20, 0), time.Unix(10, 0)
		p.replay = NewReplay(Options{}, p.event)
		of := inspect.Group{Name: "g", Type: kind, State: "Stable"}
		s := inspect.Standing{Groups: map[string]inspect.Description{}, Commits: map[string]inspect.Commits{}, Activity: map[string]*inspect.Activity{}}
		p.answered(p.group(of), of, inspect.Ask{Describe: true, Commits: true}, &s)
		if a := s.Activity["g"]; (a != nil) != known {
			t.Errorf("%s: %+v", kind, a)
		}
	}
}
