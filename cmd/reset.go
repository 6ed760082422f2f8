package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// scopeFlags say which groups and which partitions a command writes.
type scopeFlags struct {
	groups     groupFlags
	groupsFrom string
	topics     topicFlags
	allTopics  bool

	names   []string
	matcher *offset.Matcher
	topic   topicScope
}

func (s *scopeFlags) add(c *cobra.Command) {
	f := c.Flags()
	s.groups.add(f)
	f.StringVar(&s.groupsFrom, "groups-from", "", "groups in a `FILE`, one a line; - is standard input")
	s.topics.add(f)
	f.BoolVar(&s.allTopics, "all-topics", false, "every partition of the topics that the group has commits on")
}

// parse reads the flags and the one GROUP argument.
func (s *scopeFlags) parse(a *App, c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef(fmt.Sprintf("koffset %s %s --topic %s; several groups are --group A --group B", c.Name(), args[0], args[1]),
			"one group is the argument, %d were given", len(args))
	}
	if s.groupsFrom != "" {
		more, err := s.readGroups(a)
		if err != nil {
			return err
		}
		s.groups.names = append(s.groups.names, more...)
	}
	var err error
	if s.names, s.matcher, err = s.groups.resolve(args); err != nil {
		return err
	}
	if s.topic, err = s.topics.resolve(c); err != nil {
		return err
	}
	if s.allTopics && len(s.topic.specs) > 0 {
		return usagef("leave one of them out", "--all-topics and --topic %s were both given", s.topic.specs[0])
	}
	return nil
}

// readGroups reads --groups-from: a name a line; blank lines and lines that begin with # are left out.
func (s *scopeFlags) readGroups(a *App) ([]string, error) {
	var in io.Reader = a.Streams.In
	if s.groupsFrom != "-" {
		f, err := os.Open(a.path(s.groupsFrom))
		if err != nil {
			return nil, usagef("", "--groups-from: %w", err)
		}
		defer f.Close()
		in = f
	}
	var out []string
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		if line := strings.TrimSpace(strings.TrimPrefix(sc.Text(), "\ufeff")); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("--groups-from: %w", err)
	}
	if len(out) == 0 {
		return nil, usagef("", "--groups-from %s names no group", s.groupsFrom)
	}
	return out, nil
}

// anyGroup says that a group, a pattern or all groups were asked for.
func (s *scopeFlags) anyGroup() bool {
	return len(s.names) > 0 || len(s.groups.match) > 0 || s.groups.all
}

// several says that more than one group may be meant.
func (s *scopeFlags) several() bool {
	return len(s.names) > 1 || len(s.groups.match) > 0 || s.groups.all
}

// scope is the partitions that the flags chose; named says that they chose any.
func (s *scopeFlags) scope() (out reset.Scope, named bool, err error) {
	out.Topics, out.All = s.topic.specs, s.allTopics
	if len(s.topics.match) > 0 || len(s.topics.exclude) > 0 {
		if out.Match, err = offset.NewMatcher("topic", nil, s.topics.match, s.topics.exclude); err != nil {
			return out, false, err
		}
		// Patterns narrow what is there; alone they choose among the group's own topics. A literal topic stands on its own.
		out.All = out.All || len(s.topics.match) > 0
	}
	return out, len(out.Topics) > 0 || out.All, nil
}

// choose finds the groups. pattern says that none was named literally.
func (s *scopeFlags) choose(ctx context.Context, a *App, sess *session) (groups []inspect.Group, known []string, err error) {
	listed, missing, err := inspect.ListGroups(ctx, sess.client)
	if err != nil {
		return nil, nil, err
	}
	byName := make(map[string]inspect.Group, len(listed))
	for _, g := range listed {
		byName[g.Name] = g
		known = append(known, g.Name)
	}
	pattern := s.groups.all || len(s.groups.match) > 0
	if pattern && len(missing) > 0 {
		// A pattern over a list that is known to be short would silently do less than was asked for.
		return nil, nil, fmt.Errorf("the list of groups is not complete: %w", errors.Join(missing...))
	}
	seen := map[string]bool{}
	for _, n := range s.names {
		if seen[n] {
			continue
		}
		seen[n] = true
		g, ok := byName[n]
		if !ok {
			g = inspect.Group{Name: n}
		}
		groups = append(groups, g)
	}
	if pattern {
		for _, g := range listed {
			if !seen[g.Name] && s.matcher.Match(g.Name) {
				seen[g.Name] = true
				groups = append(groups, g)
			}
		}
	}
	if len(groups) == 0 {
		return nil, known, faultf(exitNotFound, "", "no group matches (%d groups on the cluster)", len(listed))
	}
	return groups, known, nil
}

type resetOptions struct {
	app       *App
	write     writeFlags
	scope     scopeFlags
	pos       positionFlags
	only      onlyFlag
	create    bool
	metadata  string
	isolation string
	export    bool
	snap      snapshotFlags

	position offset.Position
	rules    offset.Rules
	req      reset.Request
}

func newReset(a *App) *cobra.Command {
	o := &resetOptions{app: a}
	c := &cobra.Command{
		Use: "reset GROUP", GroupID: "move",
		Short: "Move a group's committed offsets: shows a plan, and executes exactly it",
		Long: `Shows where the group stands, where it would stand, and how that was found. Nothing is changed without --execute.

The partitions: --topic T, --topic T:0,2-5, --all-topics (every partition of the topics that the group has commits
on), or the ones that a file, a map, a checkpoint or another group names. A row without an answer refuses the whole
command: --out-of-range, --if-none, --if-expired and --if-no-commit choose one instead.

With --execute the plan is checked again: the same cluster and topics, no members, no open transaction, commits as they
were, targets inside the log. What was there goes to the undo journal first; then the offsets are committed, read back and
compared. Metadata is kept, and so is every row that stands right already. Several groups each stand for themselves: one
that is in use is named and left out, and a second run does the rest.

An application that assigns its partitions itself (Flink, Spark, assign()) shows no members while it runs: --settle 10s
watches whether it overwrites the offsets.` + exitStatus(
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
		ValidArgsFunction: a.completer().Groups(),
		RunE:              a.timed(o.parse, o.run),
	}
	f := c.Flags()
	o.write.add(c, render.KafkaCSV)
	o.write.addPlanOut(c)
	o.write.addImpact(c)
	o.scope.add(c)
	o.pos.add(f)
	o.pos.completions(c)
	o.only.add(c)
	f.BoolVar(&o.create, "create", false, "the group need not exist: its first commit creates it")
	f.StringVar(&o.metadata, "metadata", "keep", "the commits' metadata: `keep`, clear, or a text to store")
	f.StringVar(&o.isolation, "isolation", "read_uncommitted", "which end latest means: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.BoolVar(&o.export, "export", false, "print the plan as Kafka's CSV, the same as -o kafka-csv")
	o.snap.add(f)
	o.snap.addInFlight(f)
	return c
}

func (o *resetOptions) parse(c *cobra.Command, args []string, clock offset.Clock) error {
	if o.export {
		o.write.out.word = "kafka-csv"
	}
	if err := o.write.parse(c); err != nil {
		return err
	}
	if err := o.scope.parse(o.app, c, args); err != nil {
		return err
	}
	if err := o.only.check(); err != nil {
		return err
	}
	var chosen bool
	var err error
	if o.position, chosen, err = o.pos.parse(c, clock); err != nil {
		return err
	}
	if !chosen {
		return usagef("such as --to-earliest, --to-datetime 2026-11-29T10:00:00Z, --shift-by -100, or --to WORD", "where to? no position was given")
	}
	iso, err := offset.ParseIsolation(o.isolation)
	if err != nil {
		return err
	}
	if o.rules, err = o.pos.rules(iso); err != nil {
		return err
	}
	if err := o.checkFuture(c, clock); err != nil {
		return err
	}
	scope, named, err := o.scope.scope()
	if err != nil {
		return err
	}
	own := o.position.Needs().Foreign || o.position.Kind == offset.ByPartition
	if !named && !own {
		return usagef("add --topic TOPIC, or --all-topics for every topic that the group has commits on", "which partitions? no topic was given")
	}
	if !o.scope.anyGroup() && o.position.Kind != offset.OfFile {
		return usagef("koffset reset GROUP --topic TOPIC "+positionHint(o.position), "which group? none was given")
	}
	if o.create && (len(o.scope.names) == 0 || o.scope.allTopics) {
		return usagef("name the group, and its partitions with --topic", "--create makes a named group, which has no commits to choose topics by")
	}
	o.req = reset.Request{Verb: "reset", Asked: o.position.String(), Scope: scope, Position: o.position, Rules: o.rules,
		Metadata: reset.ParseMetadata(o.metadata), Only: reset.Only(o.only), Create: o.create, Pattern: len(o.scope.names) == 0}
	return nil
}

func positionHint(p offset.Position) string { return "--to " + p.String() }

// checkFuture refuses an instant that has not come: nearly always a slip of unit or zone, and it means the log end.
func (o *resetOptions) checkFuture(c *cobra.Command, clock offset.Clock) error {
	if c.Flags().Changed("if-none") {
		return nil
	}
	one := func(p offset.Position) error {
		if p.Kind == offset.AtTime && p.At.Time.After(clock.Now) {
			return usagef("add --if-none latest if the log end is meant", "%s is in the future: it is %s now", offset.FormatTime(p.At.Time), offset.FormatTime(clock.Now))
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

func (o *resetOptions) run(ctx context.Context, s *session) error {
	o.app.echoInstants(o.position)
	built, known, err := o.plan(ctx, s)
	if err != nil {
		return err
	}
	w := &write{app: o.app, s: s, flags: &o.write, built: built, known: known, wide: o.scope.several() || len(o.req.Groups) > 1,
		allowed: reset.Allowed{OutOfRange: o.rules.OutOfRange}}
	return w.run(ctx)
}

// plan chooses the groups, waits for them, and makes the plan.
func (o *resetOptions) plan(ctx context.Context, s *session) (*reset.Built, []string, error) {
	pctx, cancel := s.phase(ctx, "read the groups")
	defer cancel()
	var err error
	if o.req.Foreign, err = s.loadForeign(pctx, o.position, &o.snap); err != nil {
		return nil, nil, cause(pctx, err)
	}
	if !o.scope.anyGroup() {
		if err := o.groupsOfFile(); err != nil {
			return nil, nil, err
		}
	}
	var known []string
	if o.req.Groups, known, err = o.scope.choose(pctx, o.app, s); err != nil {
		return nil, nil, cause(pctx, err)
	}
	cancel()
	if err := o.write.ready(ctx, s, groupsOf(o.req.Groups)); err != nil {
		return nil, nil, err
	}
	pctx, cancel = s.phase(ctx, "make the plan")
	defer cancel()
	built, _, err := reset.Prepare(pctx, s.client, &o.req)
	return built, known, cause(pctx, err)
}

func groupsOf(groups []inspect.Group) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.Name
	}
	return out
}

// groupsOfFile takes the groups that a file names.
func (o *resetOptions) groupsOfFile() error {
	for g := range o.req.Foreign {
		if g != "" {
			o.scope.names = append(o.scope.names, g)
		}
	}
	if len(o.scope.names) == 0 {
		return usagef("koffset reset GROUP --from-file "+o.position.Ref, "which group? none was given, and the file names none")
	}
	slices.Sort(o.scope.names)
	o.req.Pattern = false
	return nil
}
