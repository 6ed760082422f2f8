package act

import (
	"context"
	"fmt"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// SnapshotCopy is how a rewritten snapshot is written.
type SnapshotCopy struct {
	To            string // as it was typed
	SelfContained bool
	Execute, Yes  bool
	Summary       string // what the plan does
}

// WriteCopy says what should be known about a rewritten snapshot, asks, and writes it. What was written is nil in a dry run.
func WriteCopy(ctx context.Context, a *cli.App, rw *flink.Rewrite, c SnapshotCopy) (*flink.Written, error) {
	st := a.Streams
	for _, w := range rw.Warnings {
		if w.Code == flink.WarnStateOutside && c.SelfContained {
			continue
		}
		st.Warn("%s", w.Message)
	}
	if c.Summary != "" {
		st.Note("%s", c.Summary)
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
			return nil, cli.Faultf(offset.KindRefused, "nothing was written", "declined")
		}
	}
	done, err := rw.Write(a.Path(c.To), flink.WriteOptions{SelfContained: c.SelfContained})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.To, err)
	}
	return done, nil
}

// SayCopy ends a command that wrote a copy. where is said of the job's start.
func SayCopy(a *cli.App, to string, done *flink.Written, where string) {
	a.Streams.Note("wrote %s: %s, %s bytes; read back, it differs from the original in %s and in nothing else",
		to, text.Plural(done.Files, "file"), text.Count(done.Bytes), text.Plural(len(done.Diff), "position"))
	a.Streams.Hint("start the job from it%s: flink run -s %s …; keep the uid of the source", where, to)
}
