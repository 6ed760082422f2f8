package reset

// Commits that are stored again as they are, so that they do not expire.

import (
	"errors"
	"fmt"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// VerbKeep is the verb of a plan that stores again what is there.
const VerbKeep = "keep"

// Keep says how commits are kept from expiring.
type Keep struct {
	// For gives the commits an expiry of their own, so long after they are stored. 0 leaves it to the broker
	// (offsets.retention.minutes), which counts from the commit only where the group never had members of the classic protocol.
	For time.Duration
}

// ErrCountsFromEmpty says that storing a group's commits again would keep nothing: of a group of the classic protocol that had
// members, Kafka counts from the moment when the last of them left.
var ErrCountsFromEmpty = offset.NewError(offset.KindRefused, "storing its commits again would keep nothing: it had members of the classic protocol, and Kafka counts from when the last of them left")

// ErrShareKeeps says that a group has nothing that expires.
var ErrShareKeeps = offset.NewError(offset.KindRefused, "a share group's offsets do not expire")

// BuildKeep plans to store again what groups have committed: the same offset and metadata, and without an expiry of their own the
// same leader epoch. What cannot be stored again is left alone, and its row says why. It is pure.
func BuildKeep(r *Request, f *Facts, k Keep) (*Built, error) {
	b := &Built{Plan: &Plan{Verb: r.Verb, Asked: r.Asked, ClusterID: f.ClusterID, Isolation: r.Rules.Isolation}}
	return b.eachGroup(r, f, func(g *GroupFacts) error { return b.keepGroup(r, f, g, k) })
}

func (b *Built) keepGroup(r *Request, f *Facts, g *GroupFacts, k Keep) error {
	switch {
	case g.err() != nil:
		return g.err()
	case g.Missing():
		return &NotFoundError{What: "group", Name: g.Name}
	case g.Type == inspect.TypeShare:
		return ErrShareKeeps
	}
	parts, err := r.keepable(g, f)
	if r.Patterned[g.Name] && (errors.Is(err, ErrNothingInScope) || err == nil && len(parts) == 0) {
		b.Without = append(b.Without, g.Name)
		return nil
	}
	if err == nil && len(parts) == 0 {
		err = ErrNothingInScope
	}
	if err != nil {
		return err
	}
	if k.For == 0 && len(g.Members) == 0 && countsFromEmpty(g.Description) {
		return ErrCountsFromEmpty
	}
	var gone []Change
	for _, p := range parts {
		row := k.row(f, g, p)
		b.Plan.Changes = append(b.Plan.Changes, row)
		if row.Gone {
			gone = append(gone, row)
		}
	}
	b.addGroup(g, false)
	b.notes(g, gone, nil)
	return nil
}

// countsFromEmpty says that the broker counts the retention of a group without members from when it became empty. Groups that only
// ever stored offsets have no protocol, and for those of KIP-848 and of Streams it counts from each commit.
func countsFromEmpty(d inspect.Description) bool {
	return d.Type != inspect.TypeConsumer && d.Type != inspect.TypeStreams && d.ProtocolType != ""
}

// keepable are the partitions in scope: of a group as a whole those that it has commits on, a Streams application's internal ones
// included, since nothing of it moves.
func (r *Request) keepable(g *GroupFacts, f *Facts) (out []offset.Partition, err error) {
	if r.Scope.All {
		for _, p := range g.partitions() {
			if r.Scope.matches(p.Topic) {
				out = append(out, p)
			}
		}
		return out, nil
	}
	in, _, err := r.partitions(g, f.Parts.Topics)
	for _, c := range in {
		out = append(out, c.Partition)
	}
	return out, err
}

func (k Keep) row(f *Facts, g *GroupFacts, p offset.Partition) Change {
	one, unstable := f.of(g, p, nil)
	row := newRow(g, p, f, one)
	leave := func(why offset.Reason, format string, args ...any) {
		row.Action, row.How, row.Detail = checkpointfile.ActionLeave, why, fmt.Sprintf(format, args...)
	}
	_, _, err := g.stored(p)
	topic := f.Parts.Topics[p.Topic].PartitionErr(p.Partition)
	switch {
	case err != nil:
		leave(offset.ReasonUnreadable, "its commit could not be read: %v", err)
	case unstable:
		leave(offset.ReasonUnreadable, "a transaction that is still open holds a commit for it")
	case row.From == nil:
		leave(offset.ReasonNoCommit, "there is no commit to keep")
	case row.From.Offset < 0:
		leave(offset.ReasonNegative, "%d is not a valid offset (koffset repair finds such commits)", row.From.Offset)
	case row.Gone:
		leave(offset.ReasonUnreadable, "the topic or partition does not exist any more")
	case topic != nil:
		leave(offset.ReasonUnreadable, "%v", topic)
	default:
		to := *row.From
		if n, has := to.LeaderEpoch.Get(); has && k.For > 0 { // the version of the request that can say how long has no epoch
			to.LeaderEpoch = offset.LeaderEpoch{}
			row.Detail = fmt.Sprintf("without its leader epoch %d: a commit with an expiry of its own has none", n)
		}
		row.Action, row.How, row.To, row.Exact = checkpointfile.ActionCommit, offset.ReasonCommitted, &to, true
	}
	return row
}
