package move

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type keepOptions struct {
	app   *cli.App
	write act.Flags
	scope scopeFlags
	long  string
	keep  reset.Keep
	req   reset.Request
}

// longestKeep bounds --for: a slip of a unit, and far from what a broker's clock can hold.
const longestKeep = 10 * 365 * 24 * time.Hour

// NewKeep is the command keep.
func NewKeep(a *cli.App) *cobra.Command {
	o := &keepOptions{app: a}
	c := &cobra.Command{
		Use: "keep GROUP…", GroupID: "move",
		Short: "Store a group's commits again as they are, so that they do not expire",
		Long: `A group without members loses its commits after offsets.retention.minutes, a week unless the brokers are configured otherwise.
This stores them again: the same offsets and metadata, nothing moves. A group with members is refused, since its commits do not
expire, and so is one that committed something else meanwhile. Nothing is changed without --execute; run it from cron for as
long as the group rests.

From when Kafka counts depends on the group. Of one that never had members (assign(), Flink, Spark), and of the consumer protocol
(KIP-848), from each commit. Of one that had members of the classic protocol, from when the last of them left: storing its commits
again keeps nothing, which is refused, unless --for gives the commits an expiry of their own. Such commits have no leader epoch; a
reader then does without the check for truncation.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: the group is in use, or storing again would keep nothing, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  no such group, topic or partition"),
		Example: `  koffset keep billing
  koffset keep billing --for 30d --execute
  koffset keep --group-match 'nightly-.*' --execute --yes`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE:              a.Connected(o.parse, carriedOut(&o.write, &o.scope, reset.VerbKeep, o.prepare)),
	}
	o.write.Add(c)
	o.scope.add(c)
	c.Flags().StringVar(&o.long, "for", "", "keep the commits for this `DURATION` from now, whatever the brokers are configured to")
	return c
}

func (o *keepOptions) parse(c *cobra.Command, args []string) (err error) {
	if err := o.write.Parse(c); err != nil {
		return err
	}
	if err := o.scope.parse(o.app, c, args); err != nil {
		return err
	}
	if !o.scope.anyGroup() {
		return cli.Usagef("koffset keep GROUP", "which group? none was given")
	}
	if o.long != "" {
		if o.keep.For, err = offset.ParseDuration(o.long); err != nil {
			return cli.FlagFault("--for", err)
		}
		if o.keep.For <= 0 || o.keep.For > longestKeep {
			return cli.Usagef("such as 30d", "--for %s is not between 0 and ten years", o.long)
		}
	}
	scope, named, err := o.scope.scope()
	if err != nil {
		return err
	}
	if !named {
		scope.All = true
	}
	o.req = reset.Request{Verb: reset.VerbKeep, Asked: reset.VerbKeep, Task: reset.Task{Keep: &o.keep}, Scope: scope, Position: offset.Position{Kind: offset.Current}}
	return nil
}

// prepare chooses the groups, waits for them, and makes the plan.
func (o *keepOptions) prepare(ctx context.Context, s *cli.Session) (*act.Run, error) {
	known, err := o.scope.chooseFor(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	if err := o.write.Ready(ctx, s, groupsOf(o.req.Groups)); err != nil {
		return nil, err
	}
	effect, err := o.effect(ctx, s)
	if err != nil {
		return nil, err
	}
	built, err := makePlan(ctx, s, &o.req)
	if err != nil {
		return nil, err
	}
	left := 0
	for _, c := range built.Plan.Changes {
		if c.Action == checkpointfile.ActionLeave {
			left++
		}
	}
	return &act.Run{App: o.app, S: s, Flags: &o.write, Built: built, Known: known, Wide: o.scope.several(), Effect: effect, Left: left, KeepFor: o.keep.For}, nil
}

// effect says until when the commits are kept, as far as it is known.
func (o *keepOptions) effect(ctx context.Context, s *cli.Session) (string, error) {
	ctx, cancel := s.Phase(ctx, "read how long commits are kept")
	defer cancel()
	kept, err := inspect.ReadCommitRetention(ctx, s.Client)
	known := err == nil && kept > 0
	switch {
	case o.keep.For > 0 && known && o.keep.For < kept:
		return "", cli.Usagef("", "--for %s is less than the %s that the brokers keep commits for: it would expire earlier than without", offset.FormatDuration(o.keep.For), offset.FormatDuration(kept))
	case o.keep.For > 0:
		return "kept until " + offset.FormatTime(s.App.Now().Add(o.keep.For)), nil
	case known:
		return fmt.Sprintf("kept for %s from then (offsets.retention.minutes)", offset.FormatDuration(kept)), nil
	}
	return "kept for the brokers' offsets.retention.minutes from then", nil
}
