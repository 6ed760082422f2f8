package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/reset"
)

type undoOptions struct {
	app   *cli.App
	write act.Flags
	exact bool
}

// NewUndo is the command undo.
func NewUndo(a *cli.App) *cobra.Command {
	o := &undoOptions{app: a}
	c := &cobra.Command{
		Use: "undo [ID|FILE]", GroupID: "move",
		Short: "List what was changed, or put it back",
		Long: `Without an argument: the journal, the newest first. It is read from the state folder, and no cluster is asked.

With an id, a beginning of one, or a journal file: the inverse of that operation. Offsets, leader epochs and metadata go
back to what they were, and commits that did not exist are deleted again. A row whose group moved since is refused, and so
is a value that lies outside the log by now (--exact puts it back all the same). What the operation never changed is left
as it is. Undoing an undo brings the first operation back. Nothing is changed without --execute.` + cli.ExitStatus(
			"  1  failed: the broker refused every row",
			"  3  refused: the group moved since, another cluster, or declined; nothing was changed",
			"  4  partly done or partly known; the rows say which",
			"  5  the journal has no such operation"),
		Example: `  koffset undo
  koffset undo 20261129-1000
  koffset undo 20261129-100000123-3f9a --execute`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.write.Parse(cmd); err != nil {
				return err
			}
			s, err := a.Settings(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return o.list(s.StateDir)
			}
			e, err := o.find(s.StateDir, args[0])
			if err != nil {
				return err
			}
			sess, err := a.ConnectWith(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer sess.Close()
			return o.run(cmd.Context(), sess, e)
		},
	}
	o.write.Add(c)
	o.write.AddPlanOut(c)
	o.write.AddImpact(c)
	o.write.AddAllowDrift(c, "also put back rows whose group moved since")
	c.Flags().BoolVar(&o.exact, "exact", false, "put back values that lie outside the log by now")
	return c
}

// list prints the journal.
func (o *undoOptions) list(stateDir string) error {
	if o.write.Execute {
		return cli.Usagef("koffset undo lists their ids", "which operation? --execute needs an id")
	}
	entries, bad := checkpointfile.ReadJournal(stateDir)
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
		{Header: "GROUPS", Key: "groups"},
		{Header: "ROWS", Key: "rows", Right: true},
		{Header: "CHANGED", Key: "changed", Right: true},
		{Header: "OUTCOME", Key: "outcome"},
		{Header: "UNDONE-BY", Key: "undone_by", HideEmpty: true},
		{Header: "UNDOES", Key: "undoes", HideEmpty: true},
		{Header: "CLUSTER-ID", Key: "cluster_id"},
		{Header: "PROFILE", Key: "profile", Wide: true, HideEmpty: true},
		{Header: "COMMAND", Key: "command", Wide: true},
		{Header: "FILE", Key: "file", Wide: true},
	}})
	for _, e := range entries {
		var groups []string
		for _, g := range e.Groups {
			groups = append(groups, g.Name)
		}
		outcome := render.Text(e.Outcome)
		switch e.Outcome {
		case "":
			outcome = render.String("cut off").Styled(render.Bad)
		case "done":
		default:
			outcome = outcome.Styled(render.Warn)
		}
		doc.Row(render.String(e.ID), render.Time(e.At()), render.String(e.User), render.String(e.Host), render.String(e.Verb),
			render.Strings(groups), render.Int(int64(len(e.Changes))),
			render.Int(int64(e.Count(checkpointfile.StateCommitted, checkpointfile.StateVerified))), outcome,
			render.Text(e.UndoneBy), render.Text(e.Undoes), render.Text(e.Header.ClusterID), render.Text(e.Profile), render.String(e.Command), render.String(e.Path))
	}
	if err := doc.Close(render.End{Incomplete: len(bad) > 0}); err != nil {
		return err
	}
	if len(entries) == 0 && len(bad) == 0 {
		o.app.Streams.Note("the journal in %s is empty: nothing was changed with it yet", stateDir)
	}
	if len(bad) > 0 {
		return cli.Quietly(cli.ExitPartial)
	}
	return nil
}

// find reads the operation that an id, a beginning of one, or a file names.
func (o *undoOptions) find(stateDir, arg string) (*checkpointfile.Entry, error) {
	entries, bad := checkpointfile.ReadJournal(stateDir)
	e, many := checkpointfile.FindEntry(entries, arg)
	if e != nil {
		return e, nil
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
			e.UndoneBy = same.UndoneBy // only the journal around a file knows
		}
		return e, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("", "%w", err)
	}
	for _, err := range bad {
		o.app.Streams.Warn("%v", err)
	}
	return nil, cli.Faultf(cli.ExitNotFound, "koffset undo lists what there is", "the journal in %s has no operation %q, and there is no such file", stateDir, arg)
}

func (o *undoOptions) run(ctx context.Context, s *cli.Session, e *checkpointfile.Entry) error {
	if e.UndoneBy != "" {
		o.app.Streams.Warn("%s was undone by %s already", e.ID, e.UndoneBy)
	}
	var names []string
	for _, g := range e.Groups {
		names = append(names, g.Name)
	}
	if err := o.write.Ready(ctx, s, names); err != nil {
		return err
	}
	pctx, cancel := s.Phase(ctx, "make the plan")
	defer cancel()
	facts, err := reset.Refresh(pctx, s.Client, reset.UndoFacts(e))
	if err != nil {
		return cli.Cause(pctx, err)
	}
	built, err := reset.Inverse(e, facts, reset.Undo{Exact: o.exact, Moved: o.write.AllowDrift})
	w := &act.Run{App: o.app, S: s, Flags: &o.write, Built: &reset.Built{Plan: &reset.Plan{Verb: "undo"}}, Whole: true}
	if err != nil {
		return w.NotApplied(pctx, err)
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
	entries, _ := checkpointfile.ReadJournal(s.StateDir)
	var out []cobra.Completion
	for _, e := range entries {
		if strings.HasPrefix(e.ID, word) {
			var groups []string
			for _, g := range e.Groups {
				groups = append(groups, g.Name)
			}
			what := fmt.Sprintf("%s %s: %d of %d rows changed", e.Verb, strings.Join(groups, ", "), e.Count(checkpointfile.StateCommitted, checkpointfile.StateVerified), len(e.Changes))
			if e.UndoneBy != "" {
				what += ", undone"
			}
			out = append(out, cobra.CompletionWithDesc(e.ID, render.Escape(what)))
		}
	}
	return out, cobra.ShellCompDirectiveKeepOrder
}
