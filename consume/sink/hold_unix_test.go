//go:build unix

package sink_test

// Folders can be locked here; see hold.go for where they cannot.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
)

// While a run writes to a folder no other one may: a restore would cut off what it writes.
func TestFilesOneRunAtATime(t *testing.T) {
	ctx := context.Background()
	d := disk{t, t.TempDir()}
	idle := d.files(sink.FilesOptions{})
	must(t, idle.Open(ctx, nil))
	state := checkpoint(t, idle, 1, false, true) // nothing was written
	must(t, idle.Close(ctx))

	other := d.files(sink.FilesOptions{})
	must(t, other.Open(ctx, nil))
	must(t, other.Write(ctx, batch("aa")))
	for name, back := range map[string]*consume.Restored{"restored": {Checkpoint: 1, State: state, TakeBack: true}, "at least once": {Checkpoint: 1, State: state}, "fresh": nil} {
		err := d.files(sink.FilesOptions{}).Open(ctx, back)
		var de *sink.DirError
		if !errors.As(err, &de) || !strings.Contains(err.Error(), "another run writes to folder") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, other.Write(ctx, batch("bb")))
	checkpoint(t, other, 1, true, true)
	must(t, other.Close(ctx))
	equal(t, d.content(), map[string]string{"part-00000001.txt": "aa\nbb\n"})

	// A refused run holds nothing.
	if err := d.files(sink.FilesOptions{}).Open(ctx, nil); err == nil || !strings.Contains(err.Error(), "parts of an earlier run") {
		t.Error(err)
	}
	again := d.files(sink.FilesOptions{})
	must(t, again.Open(ctx, &consume.Restored{Checkpoint: 1, State: state}))
	must(t, again.Close(ctx))
}
