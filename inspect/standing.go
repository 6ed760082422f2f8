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
}

// ReadStanding describes groups and reads their commits and start offsets, all at once.
func ReadStanding(ctx context.Context, cl *kgo.Client, groups []Group) Standing {
	return readStanding(ctx, cl, groups, true)
}

// readStanding makes do with what the list tells about the groups where they are not to be described.
func readStanding(ctx context.Context, cl *kgo.Client, groups []Group, describe bool) Standing {
	s := Standing{Groups: make(map[string]Description, len(groups)), Commits: make(map[string]Commits, len(groups))}
	var stores, shares []string
	for _, g := range groups {
		if _, twice := s.Groups[g.Name]; twice {
			continue
		}
		s.Groups[g.Name] = Description{Group: g}
		if g.Type == TypeShare {
			shares = append(shares, g.Name)
		} else {
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
	if describe {
		reads.Go(func() { described = describeAll(ctx, cl, groups, p) })
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
