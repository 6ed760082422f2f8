package cmd_test

import (
	"bytes"
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// Ctrl-C ends a scan, which says how far it came, and writes no positions.
func TestFindThatIsInterruptedSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 10, 1710072000000, 1000)...)
	ctx, stop := context.WithCancelCause(t.Context())
	fake.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		stop(cli.Stopped{Sig: syscall.SIGINT})
		<-ctx.Done()
		return nil, nil, false
	})
	var out, errs bytes.Buffer
	code := cmd.Run(ctx, []string{"-b", fake.ListenAddrs()[0], "find", "orders", "--key", "x", "-o", "positions"}, cli.App{
		Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(),
	})
	if code != 130 || out.Len() > 0 || !strings.Contains(errs.String(), " of 10 offsets were read, 0 matches found") || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("status %d\n%s%s", code, out.String(), errs.String())
	}
}

// What retention takes away before it is read is not "nothing found".
func TestFindWhoseRecordsAreRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 10, 1710072000000, 1000)...)
	fake.ControlKey(kmsg.Fetch.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.SleepControl(func() { kafkatest.DeleteRecords(t, cl, "orders", 0, 4) })
		return nil, nil, false
	})
	var out, errs bytes.Buffer
	code := cmd.Run(t.Context(), []string{"-b", fake.ListenAddrs()[0], "find", "orders", "--key", "x"}, cli.App{
		Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(),
	})
	if code != 4 || !strings.Contains(errs.String(), "orders:0: 4 offsets were removed before they were read") || !strings.Contains(errs.String(), "nothing was found in 6 records") {
		t.Errorf("status %d\n%s%s", code, out.String(), errs.String())
	}
}

// On a terminal each count has a bar, as long as the count is beside the largest one; a count that is not 0 has a mark, and into a
// pipe goes none.
func TestFindDrawsBarsOnATerminal(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "orders", 1)
	const hour = 3_600_000
	for _, of := range []struct{ hour, records int64 }{{0, 400}, {2, 100}, {3, 1}} {
		kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, int(of.records), 1710072000000+of.hour*hour, 1)...)
	}
	run := func(tty bool) string {
		var out, errs bytes.Buffer
		code := cmd.Run(t.Context(), []string{"-b", fake.ListenAddrs()[0], "--color", "never", "--no-pager", "find", "orders", "--by", "hour"}, cli.App{
			Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: tty, ErrTTY: tty, Width: 80}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir(),
		})
		if code != 0 {
			t.Fatalf("status %d\n%s", code, errs.String())
		}
		return out.String()
	}
	want := []string{"FROM                      RECORDS", "2024-03-10T12:00:00.000Z      400", "2024-03-10T13:00:00.000Z        0", "2024-03-10T14:00:00.000Z      100", "2024-03-10T15:00:00.000Z        1"}
	bars := []string{"", "  " + strings.Repeat("#", 40), "", "  " + strings.Repeat("#", 10), "  #"}
	drawn := strings.Split(strings.TrimSuffix(run(true), "\n"), "\n")
	piped := strings.Split(strings.TrimSuffix(run(false), "\n"), "\n")
	for i, line := range want {
		if i >= len(drawn) || strings.TrimRight(drawn[i], " ") != line+bars[i] && (i == 0 || bars[i] != "" || strings.TrimRight(strings.TrimSuffix(drawn[i], "-"), " ") != line) {
			t.Errorf("row %d is %q, not %q", i, drawn[min(i, len(drawn)-1)], line+bars[i])
		}
		if i >= len(piped) || piped[i] != line {
			t.Errorf("row %d into a pipe is %q, not %q", i, piped[min(i, len(piped)-1)], line)
		}
	}
}
