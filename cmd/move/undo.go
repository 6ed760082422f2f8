package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

type undoOptions struct {
	app   *cli.App
	write act.Flags
	exact bool
	group []string // --group: operations, and rows, of these groups alone
	prune pruneFlags
}

// NewUndo is the command undo.
func NewUndo(a *cli.App) *cobra.Command {
	o := &undoOptions{app: a}
	c := &cobra.Command{
		Use: "undo [ID|FILE|last]", GroupID: "move",
		Short: "List what was changed, or put it back",
		Long: `Without an argument: the journal, the newest first. It is read from the state folder, and no cluster is asked.

With an id, a beginning of one, a journal file, or "last" (the newest operation that changed something, is no undo and
was not undone): the inverse of that operation. With --group only what it did to that group. Offsets, leader epochs and metadata go
back to what they were, and commits that did not exist are deleted again. A row whose group moved since is refused, and so
is a value that lies outside the log by now (--exact puts it back all the same). What the operation never changed is left
as it is. Undoing an undo brings the first operation back. Nothing is changed without --execute.

The journal grows by one file for each operation and is never pruned by itself. --prune removes those older than --keep, a year where
nothing is said, but none that was cut off or of which some row's outcome is not known.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: the group moved since, another cluster, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  the journal has no such operation"),
		Example: `  koffset undo
  koffset undo 20261129-1000
  koffset undo last --group billing --execute
  koffset undo 20261129-100000123-3f9a --execute
  koffset undo --prune --keep 90d --execute`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usagef("koffset undo "+args[0], "one operation is undone at a time, %d were given", len(args))
			}
			return nil
		},
		ValidArgsFunction: o.complete,
		RunE:              o.listOrUndo,
	}
	o.write.Add(c)
	o.write.AddPlanOut(c)
	o.write.AddImpact(c)
	o.write.AddAllowDrift(c, "also put back rows whose group moved since")
	c.Flags().StringArrayVarP(&o.group, "group", "g", nil, "list operations on this `GROUP`, or undo its rows alone; repeatable")
	c.Flags().BoolVar(&o.exact, "exact", false, "put back values that are outside the log by now")
	o.prune.add(c)
	return c
}

// listOrUndo does what is asked of the journal; only an undo connects.
func (o *undoOptions) listOrUndo(cmd *cobra.Command, args []string) error {
	if err := o.write.Parse(cmd); err != nil {
		return err
	}
	if err := o.prune.parse(cmd, args, o.group); err != nil {
		return err
	}
	for i, g := range o.group {
		name, err := offset.UnquoteName(g)
		if err != nil {
			return cli.AsUsage(err)
		}
		o.group[i] = name
	}
	s, err := o.app.Settings(cmd)
	if err != nil {
		return err
	}
	if o.prune.prune {
		return o.pruneJournal(cmd.Context(), s.StateDir)
	}
	if len(args) == 0 {
		return o.list(s.StateDir)
	}
	e, err := o.find(s.StateDir, args[0])
	if err != nil {
		return err
	}
	sess, err := o.app.ConnectWith(cmd.Context(), s)
	if err != nil {
		return err
	}
	defer sess.Close()
	return o.run(cmd.Context(), sess, e)
}

// list prints the journal.
func (o *undoOptions) list(stateDir string) error {
	if o.write.Execute {
		return cli.Usagef("koffset undo lists their ids", "which operation? --execute needs an id")
	}
	all, bad := checkpointfile.ReadBriefly(stateDir)
	entries := slices.DeleteFunc(all, func(e *checkpointfile.Entry) bool { return !o.concerns(e) })
	if err := o.table(entries, bad); err != nil {
		return err
	}
	if len(entries) == 0 && len(all) > 0 {
		o.app.Streams.Note("the journal in %s has no operation on group %s", stateDir, strings.Join(offset.NameTexts(o.group), ", "))
	} else if len(entries) == 0 && len(bad) == 0 {
		o.app.Streams.Note("the journal in %s is empty: nothing was changed with it yet", stateDir)
	}
	if len(checkpointfile.NotKnown(bad)) > 0 {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}

// table prints operations, and warns of files that cannot be read.
func (o *undoOptions) table(entries []*checkpointfile.Entry, bad []error) error {
	for _, err := range bad {
		o.app.Streams.Warn("%v", err)
	}
	doc := render.NewWriter(o.app.Streams, o.write.Format, render.Meta{Kind: "journal", GeneratedAt: o.app.Now()})
	doc.Begin(render.Sheet{Name: "operations", Row: "operation", Columns: []render.Column{
		{Header: "UNDO-ID", Key: "undo_id"},
		{Header: "TIME", Key: "time"},
		{Header: "USER", Key: "user"},
		{Header: "HOST", Key: "host", Wide: true},
		{Header: "VERB", Key: "verb"},
		{Header: "GROUPS", Key: "groups", NoTable: true},
		{Header: "GROUPS", Key: "groups_shown", NoJSON: true, NoCSV: true},
		{Header: "ROWS", Key: "rows", Right: true},
		{Header: "CHANGED", Key: "changed", Right: true},
		{Key: "unknown", NoTable: true},
		{Header: "OUTCOME", Key: "outcome", NoTable: true},
		{Header: "OUTCOME", Key: "outcome_shown", NoJSON: true, NoCSV: true},
		{Header: "UNDONE-BY", Key: "undone_by", HideEmpty: true},
		{Header: "UNDOES", Key: "undoes", HideEmpty: true},
		{Header: "CLUSTER-ID", Key: "cluster_id"},
		{Header: "PROFILE", Key: "profile", Wide: true, HideEmpty: true},
		{Header: "COMMAND", Key: "command", Wide: true},
		{Header: "FILE", Key: "file", Wide: true},
	}})
	for _, e := range entries {
		groups := namesOf(e.Groups)
		outcome := render.Text(e.Outcome)
		switch {
		case e.Outcome == "":
			outcome = render.String("cut off").Styled(render.Bad)
		case e.Outcome != "done":
			outcome = outcome.Styled(render.Warn)
		}
		shown := outcome
		if e.UndoneBy != "" { // what undid it is a wide column, which a narrow terminal loses
			shown = render.String(strings.TrimPrefix(e.Outcome+", undone", "done, "))
		}
		doc.Row(render.String(e.ID), render.Time(e.At()), render.String(e.User), render.String(e.Host), render.String(e.Verb),
			render.Names(groups), render.String(few(groups)), render.Int(int64(e.Rows())),
			render.Int(int64(e.Count(checkpointfile.StateCommitted, checkpointfile.StateVerified))),
			render.Int(int64(e.Count(checkpointfile.StatePlanned, checkpointfile.StateUnknown))), outcome, shown,
			render.Text(e.UndoneBy), render.Text(e.Undoes), render.Text(e.Header.ClusterID), render.Text(e.Profile), render.String(e.Command), render.String(e.Path))
	}
	return doc.Close(render.End{Incomplete: len(checkpointfile.NotKnown(bad)) > 0})
}

// find reads the operation that an id, a beginning of one, or a file names.
func (o *undoOptions) find(stateDir, arg string) (*checkpointfile.Entry, error) {
	entries, bad := checkpointfile.ReadBriefly(stateDir)
	if arg == "last" {
		e, err := o.last(stateDir, entries, bad)
		if err != nil {
			return nil, err
		}
		return whole(e)
	}
	e, many := checkpointfile.FindEntry(entries, arg)
	if e != nil {
		return whole(e)
	}
	if len(many) > 0 {
		return nil, cli.Usagef("write more of it", "%q begins %d ids: %s", arg, len(many), strings.Join(many[:min(5, len(many))], ", "))
	}
	path := o.app.Path(arg)
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		e, err := checkpointfile.ReadEntry(path)
		if err != nil {
			return nil, cli.FileFault(err)
		}
		if same, _ := checkpointfile.FindEntry(entries, e.ID); same != nil {
			e.UndoneAs(same) // only the journal around a file knows
		}
		return e, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("", "%w", err)
	}
	for _, err := range bad {
		o.app.Streams.Warn("%v", err)
	}
	return nil, cli.Faultf(offset.KindNotFound, "koffset undo lists what there is", "the journal in %s has no operation %q, and there is no such file", stateDir, arg)
}

// whole reads the rows of an operation.
func whole(e *checkpointfile.Entry) (*checkpointfile.Entry, error) {
	e, err := e.Whole()
	if err != nil {
		return nil, cli.FileFault(err)
	}
	return e, nil
}

// last finds the newest operation that can be meant: it changed something, is no undo, and was not undone.
func (o *undoOptions) last(stateDir string, entries []*checkpointfile.Entry, bad []error) (*checkpointfile.Entry, error) {
	if bad = checkpointfile.NotKnown(bad); len(bad) > 0 {
		// A file that cannot be read may be the newest.
		return nil, cli.Faultf(offset.KindRefused, "name the operation by its id", "which operation is the last is not known: %w", errors.Join(bad...))
	}
	for _, e := range entries {
		if e.Undoes == "" && e.Changed() && o.concerns(e) && e.UndoneFor(o.group) == "" {
			return e, nil
		}
	}
	of := ""
	if len(o.group) > 0 {
		of = " on group " + strings.Join(offset.NameTexts(o.group), ", ")
	}
	return nil, cli.Faultf(offset.KindNotFound, "koffset undo lists what there is", "the journal in %s has no operation%s that could be undone", stateDir, of)
}

// concerns says that an operation is about one of the groups that were asked for.
func (o *undoOptions) concerns(e *checkpointfile.Entry) bool {
	return len(o.group) == 0 || slices.ContainsFunc(e.Groups, func(g checkpointfile.PlanGroup) bool { return slices.Contains(o.group, g.Name) })
}

func namesOf(groups []checkpointfile.PlanGroup) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.Name
	}
	return out
}

// few names the first groups and counts the rest: an operation may have moved thousands. A long name is cut: a name that is to be
// used is in the other forms of the output.
func few(names []string) string {
	const shown, width = 3, 60
	some := offset.NameTexts(names[:min(shown, len(names))])
	for i, n := range some {
		if r := []rune(n); len(r) > width {
			some[i] = fmt.Sprintf("%s… (%s)", string(r[:width]), text.Plural(len(r), "character"))
		}
	}
	out := strings.Join(some, ", ")
	if n := len(names) - shown; n > 0 {
		out += fmt.Sprintf(" and %s more", text.Count(n))
	}
	return out
}

func (o *undoOptions) run(ctx context.Context, s *cli.Session, e *checkpointfile.Entry) error {
	if !o.concerns(e) {
		return cli.Faultf(offset.KindNotFound, "", "%s changed nothing of group %s", e.ID, strings.Join(offset.NameTexts(o.group), ", "))
	}
	if len(o.group) > 0 {
		e = e.Only(o.group)
	}
	if by := e.UndoneFor(o.group); by != "" {
		o.app.Streams.Warn("%s was undone by %s already", e.ID, by)
	}
	if err := o.write.Ready(ctx, s, namesOf(e.Groups)); err != nil {
		return o.write.NotPlanned(o.app, s, "undo", namesOf(e.Groups), err)
	}
	pctx, cancel := s.Phase(ctx, "make the plan")
	defer cancel()
	facts, err := reset.Refresh(pctx, s.Client, reset.UndoFacts(e))
	if err != nil {
		return o.write.NotPlanned(o.app, s, "undo", namesOf(e.Groups), cli.Cause(pctx, err))
	}
	built, err := reset.Inverse(e, facts, reset.Undo{Exact: o.exact, Moved: o.write.AllowDrift})
	w := &act.Run{App: o.app, S: s, Flags: &o.write, Built: &reset.Built{Plan: &reset.Plan{Verb: "undo"}}, Whole: true}
	if err != nil {
		err = w.NotApplied(pctx, err)
		w.Refused(err)
		return err
	}
	w.Built = built
	return w.Do(ctx)
}

// complete offers the ids of the journal.
func (o *undoOptions) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := o.app.LoadSettings(cmd)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	// The newest first, for as long as a person waits for TAB: a journal may hold years.
	until := time.Now().Add(completeFor)
	for e := range checkpointfile.Newest(s.StateDir) {
		if strings.HasPrefix(e.ID, word) {
			what := fmt.Sprintf("%s %s: %s of %s changed", e.Verb, few(namesOf(e.Groups)), text.Count(e.Count(checkpointfile.StateCommitted, checkpointfile.StateVerified)), text.Plural(len(e.Changes), "row"))
			out = append(out, cobra.CompletionWithDesc(e.ID, render.Escape(what)))
		}
		if time.Now().After(until) || len(out) == completeIDs {
			break
		}
	}
	return out, cobra.ShellCompDirectiveKeepOrder
}

const (
	completeFor = time.Second
	completeIDs = 200
)
