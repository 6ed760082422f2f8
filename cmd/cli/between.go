package cli

// Two positions, and what lies between them on each partition: for commands that read or cut stretches of topics.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// BetweenFlags are --from and --until with what decides about them.
type BetweenFlags struct {
	from, until string
	group       NameFlag
	isolation   string
	policies    PositionFlags
	snap        SnapshotFlags
	origin      OriginFlag

	app          *App
	Start, End   offset.Position
	startR, endR offset.Rules
}

// Stretch is what lies between the two positions on one partition; nothing where From is Until.
type Stretch struct {
	offset.Partition
	From, Until int64
	Bounds      *offset.Bounds // nil where they could not be read
	// Err is why it is not known.
	Err error
	// LeftOut says that a policy leaves the partition out, which was said.
	LeftOut bool
}

// Stretches are those of all partitions that were chosen, sorted.
type Stretches struct {
	List   []Stretch
	Topics map[string]inspect.Topic
}

// Add adds the flags. from and until say in the help what begins and ends there, and isolation is the default.
func (b *BetweenFlags) Add(a *App, c *cobra.Command, from, until string, isolation offset.Isolation) {
	b.app = a
	f := c.Flags()
	f.StringVar(&b.from, "from", "earliest", from+", a position `WORD`: earliest, 1234, start+N, end-N, current, @TIME, @-2h, group:G, file:F, orders:0=42,…")
	f.StringVar(&b.until, "until", "latest", until+", not included, a position `WORD`; +N counts from the start")
	f.VarP(&b.group, "group", "g", "the `GROUP` whose commit current means")
	f.StringVar(&b.isolation, "isolation", isolation.String(), "which end latest means: read_uncommitted (high watermark) or read_committed (last stable offset)")
	b.policies.addPolicies(f)
	b.snap.Add(f)
	b.origin.Add(c, f)
	_ = c.RegisterFlagCompletionFunc("isolation", cobra.FixedCompletions([]string{"read_committed", "read_uncommitted"}, cobra.ShellCompDirectiveNoFileComp))
}

// Isolation is the one that was chosen.
func (b *BetweenFlags) Isolation() offset.Isolation { return b.startR.Isolation }

// Parse reads the flags.
func (b *BetweenFlags) Parse(clock offset.Clock) error {
	if err := b.origin.Parse(); err != nil {
		return err
	}
	iso, err := offset.ParseIsolation(b.isolation)
	if err != nil {
		return err
	}
	if b.startR, err = b.policies.Rules(iso); err != nil {
		return err
	}
	// The end of a range is a reader's wish, not a promise: past the log end it is the log end.
	b.endR = b.startR
	b.endR.OutOfRange = offset.OutOfRangeClamp
	if b.Start, err = offset.ParsePosition(b.from, offset.RoleStart, clock); err != nil {
		return FlagFault("--from", err)
	}
	if b.End, err = offset.ParsePosition(b.until, offset.RoleEnd, clock); err != nil {
		return FlagFault("--until", err)
	}
	for flag, p := range map[string]offset.Position{"--from": b.Start, "--until": b.End} {
		if p.NeedsGroup() && !b.group.Given {
			return Usagef("add --group GROUP", "%s %s is a group's commit, and no group was named", flag, p)
		}
	}
	if from, until, yes := b.Start.TurnedRound(b.End); yes {
		return Usagef("did you mean them the other way round?", "--until %s is before --from %s: nothing lies between them", offset.FormatTime(until.Time), offset.FormatTime(from.Time))
	}
	return nil
}

// ReadPast reads what of the positions is in the past, before a phase begins.
func (b *BetweenFlags) ReadPast(ctx context.Context, s *Session) error {
	if err := s.ReadPast(ctx, b.Start, b.group.Name); err != nil {
		return err
	}
	return s.ReadPast(ctx, b.End, b.group.Name)
}

// Resolve reads what the positions mean on every partition of the topics. Topics and partitions must exist. What a partition's
// policy refuses, and what could not be read of it, is its Err.
func (b *BetweenFlags) Resolve(ctx context.Context, s *Session, specs []offset.TopicSpec) (*Stretches, error) {
	savedStart, err := b.saved(ctx, s, b.Start)
	if err != nil {
		return nil, err
	}
	savedEnd, err := b.saved(ctx, s, b.End)
	if err != nil {
		return nil, err
	}
	var commits *inspect.Commits
	if b.group.Given {
		c, err := inspect.ReadCommitsOf(ctx, s.Client, b.group.Name)
		if err != nil {
			return nil, fmt.Errorf("group %q: %w", b.group.Name, err)
		}
		commits = &c
	}
	topics, parts, err := s.existing(ctx, specs)
	if err != nil {
		return nil, err
	}
	starts, ends, err := b.bothEnds(ctx, s, inspect.GatherQuery{Parts: parts, Topics: topics, Position: b.Start, Isolation: b.startR.Isolation, Commits: commits, Saved: savedStart,
		ClusterID: s.Cluster.ID, AllowOrigin: b.origin.Allow}, savedEnd)
	if err != nil {
		return nil, err
	}
	out := &Stretches{Topics: topics}
	for _, p := range parts {
		out.List = append(out.List, b.stretch(p, starts.Of(p), ends.Of(p)))
	}
	return out, nil
}

// bothEnds reads what the start of every partition needs, which q asks for, and then what its end needs.
func (b *BetweenFlags) bothEnds(ctx context.Context, s *Session, q inspect.GatherQuery, savedEnd *offset.Saved) (starts, ends *inspect.Facts, err error) {
	if starts, err = inspect.Gather(ctx, s.Client, q); err != nil {
		return nil, nil, err
	}
	q.Position, q.Saved = b.End, savedEnd
	if ends, err = inspect.Gather(ctx, s.Client, q); err != nil {
		return nil, nil, err
	}
	b.app.SayOrigin(starts.Said)
	if b.End.String() != b.Start.String() {
		b.app.SayOrigin(ends.Said)
	}
	return starts, ends, nil
}

// stretch is one partition's piece.
func (b *BetweenFlags) stretch(p offset.Partition, start, end offset.Facts) Stretch {
	out := Stretch{Partition: p, Bounds: end.Bounds}
	// What could not be read is no refusal: the same command may work later, or for another user.
	if err := cmp.Or(start.Err, end.Err); err != nil {
		out.Err = fmt.Errorf("%s: %w", p, err)
		return out
	}
	from, err := offset.Resolve(p, b.Start, start, b.startR)
	if err != nil {
		out.Err = err
		return out
	}
	end.From = &from.Offset
	to, err := offset.Resolve(p, b.End, end, b.endR)
	if err != nil {
		out.Err = err
		return out
	}
	if from.Leave || to.Leave {
		out.LeftOut = true
		b.app.Streams.Note("%s is left out: %s", p, from.Detail+to.Detail)
		return out
	}
	order, err := offset.CheckEnd(p, from.Offset, to.Offset, from.Reason == offset.ReasonCommitted, end.Bounds, b.startR.OutOfRange)
	// An end past the log end would wait for records; a range is what is there.
	until := min(to.Offset, end.Bounds.EndFor(b.endR.Isolation))
	switch {
	case err != nil:
		out.Err = err
		return out
	case order == offset.EndLeft:
		out.LeftOut = true
		b.app.Streams.Note("%s is left out: the end %d is before the start %d", p, to.Offset, from.Offset)
		return out
	case order != offset.EndFollows:
		b.app.Streams.Warn("%s: the end %d is before the start %d: nothing of it is in a range", p, to.Offset, from.Offset)
	case until < from.Offset:
		b.app.Streams.Warn("%s: an open transaction holds back the offsets from %d on, and the start is %d: nothing of it is in a range", p, until, from.Offset)
	}
	out.From, out.Until = from.Offset, max(from.Offset, until)
	return out
}

func (b *BetweenFlags) saved(ctx context.Context, s *Session, p offset.Position) (*offset.Saved, error) {
	all, err := s.LoadSaved(ctx, p, &b.snap, b.group.Name)
	if err != nil {
		return nil, err
	}
	return b.app.PickSaved(all, p, b.group.Name, b.group.Given)
}

// TopicError says why a topic cannot be used. To a user who may not describe it Kafka says that it does not exist.
func TopicError(name string, err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return errors.New(inspect.MissingTopic(name))
	}
	return fmt.Errorf("topic %q: %w", name, err)
}

// existing are the partitions that arguments name; every one must exist.
func (s *Session) existing(ctx context.Context, specs []offset.TopicSpec) (map[string]inspect.Topic, []offset.Partition, error) {
	names := map[string]bool{}
	for _, spec := range specs {
		names[spec.Topic] = true
	}
	topics, err := inspect.ReadTopics(ctx, s.Client, slices.Collect(maps.Keys(names)))
	if err != nil {
		return nil, nil, err
	}
	var parts []offset.Partition
	for _, spec := range specs {
		t := topics[spec.Topic]
		if t.Err != nil {
			hint := RightsHint(t.Err)
			if hint != "" {
				return nil, nil, Faultf(offset.KindDenied, hint, "topic %q: %w", spec.Topic, t.Err)
			}
			return nil, nil, &Fault{Kind: offset.KindNotFound, Hint: s.TopicHint(ctx, spec.Topic), Err: TopicError(spec.Topic, t.Err)}
		}
		ns := spec.Partitions
		if len(ns) == 0 {
			ns = t.Numbers()
		}
		for _, n := range ns {
			if !t.Has(n) {
				return nil, nil, Faultf(offset.KindNotFound, "", "%s", inspect.MissingPartition(t, n))
			}
			parts = append(parts, offset.Partition{Topic: spec.Topic, Partition: n})
		}
	}
	slices.SortFunc(parts, offset.Partition.Compare)
	return topics, slices.Compact(parts), nil
}
