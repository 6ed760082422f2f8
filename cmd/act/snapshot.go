package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// SnapshotCopy is a copy of a Flink snapshot with other offsets, and how it is shown and written.
type SnapshotCopy struct {
	Of      *flink.Snapshot
	Changes []flink.Change
	Refused error  // nil, or why it may not be written
	Same    string // what is said where there is nothing to change

	To            string // as it was typed
	SelfContained bool
	Execute, Yes  bool
	Table         bool
	// Print shows the rows: before anything is written, and with what was written.
	Print   func(done *flink.Written) error
	Summary func(rows int) string // what the plan does, or nil
	Where   string                // is said of the job's start
}

// Do shows the plan, and writes the copy where --execute says so.
func (c SnapshotCopy) Do(ctx context.Context, a *cli.App) error {
	if c.Refused != nil || len(c.Changes) == 0 {
		if err := c.Print(nil); err != nil {
			return err
		}
		if c.Refused == nil {
			a.Streams.Note("%s", c.Same)
		}
		return c.Refused
	}
	rw, err := flink.PlanRewrite(c.Of, c.Changes)
	if err != nil {
		if ce := new(flink.ChangeError); errors.As(err, &ce) {
			return cli.Faultf(offset.KindRefused, "", "%w; nothing was written", err)
		}
		return fmt.Errorf("plan the copy: %w", err)
	}
	if !c.Execute || c.Table {
		if err := c.Print(nil); err != nil {
			return err
		}
	}
	done, err := c.write(ctx, a, rw)
	if err != nil || done == nil {
		return err
	}
	if err := c.Print(done); err != nil {
		return err
	}
	c.say(a, done)
	return nil
}

// write says what should be known about the copy, asks, and writes it. What was written is nil in a dry run.
func (c SnapshotCopy) write(ctx context.Context, a *cli.App, rw *flink.Rewrite) (*flink.Written, error) {
	st := a.Streams
	for _, w := range rw.Warnings {
		if w.Code == flink.WarnStateOutside && c.SelfContained {
			continue
		}
		st.Warn("%s", w.Message)
	}
	if c.Summary != nil {
		st.Note("%s", c.Summary(len(rw.Rows)))
	}
	if !c.Execute {
		st.Note("dry run: nothing was written; add --execute to write %s", c.To)
		return nil, nil
	}
	if !c.Yes && st.CanPrompt() {
		yes, err := st.Confirm(ctx, "Write "+c.To+"?")
		if err != nil {
			return nil, err
		}
		if !yes {
			return nil, cli.Faultf(offset.KindRefused, "", "declined; nothing was written")
		}
	}
	done, err := rw.Write(a.Path(c.To), flink.WriteOptions{SelfContained: c.SelfContained})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.To, err)
	}
	return done, nil
}

func (c SnapshotCopy) say(a *cli.App, done *flink.Written) {
	a.Streams.Note("wrote %s: %s, %s bytes; read back, it differs from the original in %s and in nothing else",
		c.To, text.Plural(done.Files, "file"), text.Count(done.Bytes), text.Plural(len(done.Diff), "position"))
	a.Streams.Hint("start the job from it%s: flink run -s %s …; keep the uid of the source", c.Where, c.To)
}
