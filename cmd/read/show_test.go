package read

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
)

// A reader that went away is told with what was written to it, a part of the last batch included, and with what the end did without.
func TestReaderGone(t *testing.T) {
	part := fmt.Errorf("write t:0 to stdout: %w", &sink.PartError{Records: 2, Err: io.ErrClosedPipe})
	const after = "went away: stopped after "
	for _, tc := range []struct {
		whole       int64
		err         error
		checkpoints bool
		committer   consume.Committer
		want        string
	}{
		{0, io.ErrClosedPipe, false, consume.CommitsNever, "went away: stopped before a whole record was written"},
		{1_000, part, false, consume.CommitsNever, after + "1,002 written records, how many of them it read is not known"},
		{0, part, false, consume.CommitsByInterval, after + "2 written records, how many of them it read is not known; no last commit"},
		{1, io.ErrClosedPipe, true, consume.CommitsNever, after + "1 written record, how many of them it read is not known; no last checkpoint"},
		{1, io.ErrClosedPipe, true, consume.CommitsOnCheckpoint, after + "1 written record, how many of them it read is not known; no last checkpoint or commit"},
	} {
		s := consume.Summary{Stats: consume.Stats{Records: tc.whole, Checkpoints: consume.CheckpointStats{On: tc.checkpoints}}}
		if got := readerGone(s, tc.err, tc.committer); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
