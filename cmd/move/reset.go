// Package move has the commands that change a group's offsets where it is: reset, apply, undo, delete and repair. Each makes
// a plan, which package act runs.
package move

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type resetOptions struct {
	app       *cli.App
	write     act.Flags
	scope     scopeFlags
	pos       cli.PositionFlags
	only      cli.OnlyFlag
	create    bool
	share     bool
	metadata  string
	isolation string
	export    bool
	snap      cli.SnapshotFlags
	origin    cli.OriginFlag

	position offset.Position
	rules    offset.Rules
	req      reset.Request
}

// NewReset is the command reset.
func NewReset(a *cli.App) *cobra.Command {
	o := &resetOptions{app: a}
	c := &cobra.Command{
		Use: "reset GROUP…", GroupID: "move",
		Short: "Move a group's committed offsets: shows a plan, and executes exactly it",
		Long: `Shows the group's offsets as they are, as they would be, and how that was found. Nothing is changed without --execute.

The partitions: --topic T, --topic T:0,2-5, --all-topics (every partition of the topics that the group has commits
on), or the ones that a file, a map, a checkpoint or another group names. A row without an answer refuses the whole
command: --out-of-range, --if-none, --if-expired and --if-no-commit choose one instead.

With --execute the plan is checked again: the same cluster and topics, no members, no open transaction, commits as they
were, targets inside the log. What was there goes to the undo journal first; then the offsets are committed, read back and
compared. Metadata is kept, and a row that is right already is not written. Several groups are independent of each other: one
that is in use is named and left out, and a second run does the rest.

An application that assigns its partitions itself (Flink, Spark, assign()) shows no members while it runs: --settle 10s
watches whether it overwrites the offsets.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused by a safety check, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  no such group, topic or partition"),
		Example: `  koffset reset billing --topic orders --to-datetime 2026-11-29T10:00:00Z
  koffset reset billing --topic orders --to-datetime 2026-11-29T10:00:00Z --execute
  koffset reset billing --all-topics --to @-2h --plan-out plan.json
  koffset reset billing --topic orders:0,2-5 --shift-by -100
  koffset reset billing --to orders:0=42,orders:1=@-2h
  koffset reset billing-2 --to-group billing --create --execute
  koffset reset --group-match 'test-.*' --topic orders --to-latest --execute --yes`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE:              a.Timed(o.parse, o.run),
	}
	f := c.Flags()
	o.write.Add(c, render.KafkaCSV)
	o.write.AddPlanOut(c)
	o.write.AddImpact(c)
	o.scope.add(c)
	o.pos.Add(f)
	o.pos.Completions(c)
	o.only.Add(c)
	f.BoolVar(&o.create, "create", false, "the group need not exist: its first commit creates it")
	f.BoolVar(&o.share, "share", false, "with --create: make a share group")
	f.StringVar(&o.metadata, "metadata", "keep", "the commits' metadata: `keep`, clear, or a text to store")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end latest means: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.BoolVar(&o.export, "export", false, "print the plan as Kafka's CSV, the same as -o kafka-csv")
	o.snap.Add(f)
	o.snap.AddInFlight(f)
	o.origin.Add(c, f)
	return c
}

func (o *resetOptions) parse(c *cobra.Command, args []string, clock offset.Clock) error {
	if o.export {
		o.write.Out.Word = "kafka-csv"
	}
	if err := o.write.Parse(c); err != nil {
		return err
	}
	if err := o.scope.parse(o.app, c, args); err != nil {
		return err
	}
	if err := o.only.Check(); err != nil {
		return err
	}
	var chosen bool
	var err error
	if o.position, chosen, err = o.pos.Parse(c, clock); err != nil {
		return err
	}
	if !chosen {
		return cli.Usagef("such as --to-earliest, --to-datetime 2026-11-29T10:00:00Z, --shift-by -100, or --to WORD", "where to? no position was given")
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.rules, err = o.pos.Rules(iso); err != nil {
		return err
	}
	if err := o.checkFuture(c, clock); err != nil {
		return err
	}
	scope, named, err := o.scope.scope()
	if err != nil {
		return err
	}
	if err := o.checkScope(args, named); err != nil {
		return err
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	o.req = reset.Request{AllowOrigin: o.origin.Allow, Verb: "reset", Asked: o.position.String(), Scope: scope, Position: o.position, Rules: o.rules,
		Metadata: reset.ParseMetadata(o.metadata), Only: reset.Only(o.only), Create: o.create}
	if o.share {
		o.req.CreateType = inspect.TypeShare
	}
	return nil
}

// checkScope refuses a command line that leaves open which groups or partitions are meant; named says that it names topics.
func (o *resetOptions) checkScope(args []string, named bool) error {
	own := o.position.Needs().Foreign || o.position.Kind == offset.ByPartition
	if !named && !own {
		hint := "add --topic TOPIC, or --all-topics for every topic that the group has commits on"
		if len(args) == 2 {
			hint = fmt.Sprintf("koffset reset %s --topic %s if that is a topic; for two groups %s", args[0], args[1], hint)
		}
		return cli.Usagef(hint, "which partitions? no topic was given")
	}
	if !o.scope.anyGroup() && o.position.Kind != offset.OfFile {
		return cli.Usagef("koffset reset GROUP --topic TOPIC "+positionHint(o.position), "which group? none was given")
	}
	if o.share && !o.create {
		return cli.Usagef("add --create; a share group that exists is known as one", "--share says what --create makes")
	}
	if o.create && (len(o.scope.names) == 0 || o.scope.allTopics) {
		return cli.Usagef("name the group, and its partitions with --topic", "--create makes a named group, which has no commits to choose topics by")
	}
	return nil
}

func positionHint(p offset.Position) string { return "--to " + p.String() }

// checkFuture refuses an instant that has not come: nearly always a slip of unit or zone, and it means the log end.
func (o *resetOptions) checkFuture(c *cobra.Command, clock offset.Clock) error {
	if c.Flags().Changed("if-none") {
		return nil
	}
	one := func(p offset.Position) error {
		if p.HasInstant() && p.Kind != offset.AtTime && p.At.Time.After(clock.Now) {
			return cli.Usagef("", "%s is in the future: it is %s now", offset.FormatTime(p.At.Time), offset.FormatTime(clock.Now))
		}
		if p.Kind == offset.AtTime && p.At.Time.After(clock.Now) {
			return cli.Usagef("add --if-none latest if the log end is meant", "%s is in the future: it is %s now", offset.FormatTime(p.At.Time), offset.FormatTime(clock.Now))
		}
		return nil
	}
	for _, p := range o.position.Map {
		if err := one(p); err != nil {
			return err
		}
	}
	return one(o.position)
}

func (o *resetOptions) run(ctx context.Context, s *cli.Session) error {
	o.app.EchoInstants(o.position)
	if o.write.MayReadImpact() && !o.scope.several() {
		records.Connect(ctx, s.Client)
	}
	built, known, err := o.plan(ctx, s)
	if err != nil {
		return o.write.NotPlanned(o.app, s, "reset", o.scope.names, err)
	}
	w := &act.Run{App: o.app, S: s, Flags: &o.write, Built: built, Known: known, Wide: o.scope.several() || len(o.req.Groups) > 1,
		Allowed: reset.Allowed{OutOfRange: o.rules.OutOfRange}}
	return w.Do(ctx)
}

// plan chooses the groups, waits for them, and makes the plan.
func (o *resetOptions) plan(ctx context.Context, s *cli.Session) (*reset.Built, []string, error) {
	ownPast := o.position.Needs().OwnPast
	if !ownPast {
		if err := s.ReadPast(ctx, o.position); err != nil {
			return nil, nil, err
		}
	}
	pctx, cancel := s.Phase(ctx, "read the groups")
	defer cancel()
	var err error
	if !ownPast {
		if o.req.Saved, err = s.LoadSaved(pctx, o.position, &o.snap); err != nil {
			return nil, nil, cli.Cause(pctx, err)
		}
	}
	if !o.scope.anyGroup() {
		if err := o.groupsOfFile(); err != nil {
			return nil, nil, err
		}
	}
	in, err := o.scope.choose(pctx, s)
	if err != nil {
		return nil, nil, cli.Cause(pctx, err)
	}
	o.req.Groups, o.req.Patterned = in.chosen, in.patterned
	cancel()
	if ownPast { // the history of the groups that were chosen
		if o.req.Saved, err = s.LoadSaved(ctx, o.position, &o.snap, groupsOf(o.req.Groups)...); err != nil {
			return nil, nil, err
		}
	}
	if err := o.write.Ready(ctx, s, groupsOf(o.req.Groups)); err != nil {
		return nil, nil, err
	}
	pctx, cancel = s.Phase(ctx, "make the plan")
	defer cancel()
	if k := o.position.Kind; o.write.Waits() && (k == offset.OfGroup || k == offset.OfStore) {
		// What was read before the wait may be old by now.
		if o.req.Saved, err = s.LoadSaved(pctx, o.position, &o.snap); err != nil {
			return nil, nil, cli.Cause(pctx, err)
		}
	}
	o.sayUnused()
	built, err := reset.Prepare(pctx, s.Client, &o.req)
	return built, in.known, cli.Cause(pctx, err)
}

// sayUnused names the groups that a source has offsets of, and that nobody asked for. Where it has none of those that were asked for
// the error says so, with what it has.
func (o *resetOptions) sayUnused() {
	asked := map[string]bool{}
	for _, g := range o.req.Groups {
		asked[g.Name] = true
	}
	var unused []string
	names := o.req.Saved.Names()
	for _, n := range names {
		if !asked[n] {
			unused = append(unused, offset.NameText(n))
		}
	}
	if len(unused) > 0 && len(unused) < len(names) {
		o.app.Streams.Note("%s also has offsets of %s, which are not used: %s", o.position, text.Plural(len(unused), "other group"), text.Some(unused, 5))
	}
}

// groupsOfFile takes the groups that a file names.
func (o *resetOptions) groupsOfFile() error {
	o.scope.names = append(o.scope.names, o.req.Saved.Names()...)
	if len(o.scope.names) == 0 {
		return cli.Usagef("koffset reset GROUP --from-file "+o.position.Ref, "which group? none was given, and the file names none")
	}
	slices.Sort(o.scope.names)
	return nil
}
