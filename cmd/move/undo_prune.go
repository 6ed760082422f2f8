package move

// Pruning of the journal.

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// keepFor is --keep's default: a file of an operation is small, and the question what somebody did last year is asked.
const keepFor = "365d"

// pruneFlags take old operations out of the journal.
type pruneFlags struct {
	prune bool
	keep  string
	age   time.Duration
}

func (p *pruneFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&p.prune, "prune", false, "remove operations older than --keep from the journal; those that may be half done stay")
	c.Flags().StringVar(&p.keep, "keep", keepFor, "how long operations are kept by --prune, a `DURATION`")
}

func (p *pruneFlags) parse(c *cobra.Command, args []string, groups []string) error {
	var err error
	switch {
	case !p.prune && c.Flags().Changed("keep"):
		return cli.Usagef("add --prune", "--keep says what --prune leaves")
	case !p.prune:
		return nil
	case len(args) > 0 || len(groups) > 0:
		return cli.Usagef("koffset undo --prune --keep "+p.keep, "--prune takes no operation and no group: it goes by age")
	}
	if p.age, err = offset.ParseDuration(p.keep); err != nil {
		return cli.Usagef("", "--keep: %w", err)
	}
	return nil
}

// pruneJournal lists what is old enough, and removes it where --execute says so.
func (o *undoOptions) pruneJournal(ctx context.Context, stateDir string) error {
	st := o.app.Streams
	all, bad := checkpointfile.ReadBriefly(stateDir)
	before := o.app.Now().Add(-o.prune.age)
	prunable, old := checkpointfile.Prunable(all, before)
	if err := o.table(prunable, bad); err != nil {
		return err
	}
	if n := len(old) - len(prunable); n > 0 {
		st.Note("%s before %s may be half done, or undo one that may be, and stay", text.Plural(n, "operation"), before.UTC().Format(time.DateOnly))
	}
	unsent := checkpointfile.Unsent(bad, before)
	if n := len(unsent); n > 0 {
		st.Note("%s was cut off before anything was sent", text.Plural(n, "file"))
	}
	switch {
	case len(prunable)+len(unsent) == 0:
		st.Note("the journal has no operation to remove that is older than %s", offset.FormatDuration(o.prune.age))
	case !o.write.Execute:
		st.Note("dry run: %s older than %s would be removed and could not be undone any more; add --execute to do it",
			text.Plural(len(prunable), "operation"), offset.FormatDuration(o.prune.age))
	default:
		if !o.write.Yes && st.CanPrompt() {
			yes, err := st.Confirm(ctx, "Remove "+text.Plural(len(prunable), "operation")+" from the journal? None of them can be undone then.")
			if err != nil {
				return err
			}
			if !yes {
				return cli.Faultf(offset.KindRefused, "", "declined; nothing was removed")
			}
		}
		n, err := checkpointfile.Remove(prunable)
		if err == nil {
			_, err = checkpointfile.RemoveFiles(unsent)
		}
		st.Note("%s removed from the journal; the audit log still names them", text.Plural(n, "operation"))
		if err != nil {
			return err
		}
	}
	if len(checkpointfile.NotKnown(bad)) > 0 {
		return cli.Quietly(offset.KindPartial)
	}
	return nil
}
