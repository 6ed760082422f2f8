package inspect

import (
	"context"
	"maps"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Standing is what groups are and where they are, each read at its coordinator. A group that could not be read has its error in
// each.
type Standing struct {
	Groups  map[string]Description
	Commits map[string]Commits      // of every group but share groups
	Share   map[string]ShareOffsets // of share groups
	// Activity is what is known of when groups commit, where their commits are followed. Unfollowed is why they are not, where they
	// were to be.
	Activity   map[string]*Activity
	Unfollowed error
}

// ReadStanding describes groups and reads their commits and start offsets, all at once.
func ReadStanding(ctx context.Context, cl *kgo.Client, groups []Group) Standing {
	return readStanding(ctx, cl, groups, true)
}

// readStanding makes do with what the list tells about the groups where they are not to be described.
func readStanding(ctx context.Context, cl *kgo.Client, groups []Group, describe bool) Standing {
	return ReadStandingOf(ctx, cl, groups, func(Group) Ask { return Ask{Commits: true, Describe: describe} })
}

// Ask is what to read of a group: its commits, or start offsets, and who is in it.
type Ask struct{ Commits, Describe bool }

// ReadStandingOf is ReadStanding for a caller that knows some of it already. Of a group that is not to be described the result has
// what the list tells; of one whose commits are not to be read it has none.
func ReadStandingOf(ctx context.Context, cl *kgo.Client, groups []Group, ask func(Group) Ask) Standing {
	s := Standing{Groups: make(map[string]Description, len(groups)), Commits: make(map[string]Commits, len(groups))}
	var stores, shares []string
	var unknown []Group
	for _, g := range groups {
		if _, twice := s.Groups[g.Name]; twice {
			continue
		}
		s.Groups[g.Name] = Description{Group: g}
		a := ask(g)
		if a.Describe {
			unknown = append(unknown, g)
		}
		switch {
		case !a.Commits:
		case g.Type == TypeShare:
			shares = append(shares, g.Name)
		default:
			stores = append(stores, g.Name)
		}
	}
	hints := coordinatorsOf(groups)
	p := newPatience(ctx)
	defer p.stop()
	var described map[string]Description
	var reads sync.WaitGroup
	reads.Go(func() {
		for _, c := range readCommits(ctx, cl, stores, hints, p) {
			s.Commits[c.Group] = c
		}
	})
	reads.Go(func() { s.Share = readShareOffsets(ctx, cl, shares, hints, p) })
	if len(unknown) > 0 {
		reads.Go(func() { described = describeAll(ctx, cl, unknown, p) })
	}
	reads.Wait()
	maps.Copy(s.Groups, described)
	// A group that is not in the list has no type before: only its description tells that it is a share group.
	var late []string
	for n, d := range s.Groups {
		if _, read := s.Commits[n]; read && d.Type == TypeShare {
			late = append(late, n)
			delete(s.Commits, n)
		}
	}
	maps.Copy(s.Share, readShareOffsets(ctx, cl, late, hints, nil))
	return s
}
