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
