package cmd_test

// An output that cannot be written must not change what a command that executes says it did.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// brokenOut cannot be written: it is seen at once, or as in a process, whose output is buffered, when it is flushed.
type brokenOut struct {
	err      error
	buffered bool
}

func (b brokenOut) Write(p []byte) (int, error) {
	if b.buffered {
		return len(p), nil
	}
	return 0, b.err
}

func (b brokenOut) Flush() error { return b.err }

func TestExecuteWithoutAnOutput(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	for _, tc := range []struct {
		name, format string
		err          error
		code         int
		moved        bool
		says         string
	}{
		{"a closed pipe before the plan was shown", "table", syscall.EPIPE, 1, false, "nothing was changed"},
		{"a full disk before the plan was shown", "table", syscall.ENOSPC, 1, false, "nothing was changed"},
		{"a closed pipe after it was executed", "json", syscall.EPIPE, 0, true, "to undo: koffset undo"},
		{"a full disk after it was executed", "json", syscall.ENOSPC, 4, true, "to undo: koffset undo"},
		{"a full disk after it was executed, Kafka's CSV", "kafka-csv", syscall.ENOSPC, 4, true, "it was executed, and the rows could not be written"},
	} {
		unwritten := func(t *testing.T, buffered bool) {
			kafkatest.Commit(t, cl, f.App, kafkatest.At(f.Topic, 1, 7))
			home := t.TempDir()
			var errs bytes.Buffer
			st := &render.Streams{In: strings.NewReader(""), Out: brokenOut{tc.err, buffered}, Err: &errs, Env: func(string) string { return "" }}
			code := cmd.Run(t.Context(), []string{"-b", strings.Join(c.ListenAddrs(), ","), "reset", f.App, "--topic", f.Topic + ":1",
				"--to-offset", "8", "--execute", "-o", tc.format},
				cli.App{Streams: st, Environ: []string{"USER=tester", "TERM=dumb"}, Dir: home, Home: home, Now: time.Now})
			if code != tc.code || !strings.Contains(errs.String(), tc.says) {
				t.Errorf("status %d, want %d with %q\n%s", code, tc.code, tc.says, errs.String())
			}
			if moved := kafkatest.CommittedOffsets(t, cl, f.App, f.Topic)[1] == 8; moved != tc.moved {
				t.Errorf("moved: %v", moved)
			}
			audit, err := os.ReadFile(filepath.Join(home, ".local/state/koffset/audit.jsonl"))
			want := `"outcome":"refused"`
			if tc.moved {
				want = `"outcome":"done"`
			}
			if err != nil || !strings.Contains(string(audit), want) {
				t.Errorf("audit log %q: %v", audit, err)
			}
		}
		t.Run(tc.name, func(t *testing.T) { unwritten(t, false) })
		t.Run(tc.name+", buffered", func(t *testing.T) { unwritten(t, true) })
	}
}

// A reader that has gone changes nothing about what a command found: a check that does not hold still fails.
func TestStatusWithoutAReader(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	other, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "past", kafkatest.At(f.Topic, 1, 100_000))
	kafkatest.CreateTopic(t, dst, f.Topic, 1) // another number of partitions
	export := filepath.Join(t.TempDir(), "x.jsonl")
	run := func(out error, args ...string) (int, string) {
		var errs bytes.Buffer
		st := &render.Streams{In: strings.NewReader(""), Out: brokenOut{out, false}, Err: &errs, Env: func(string) string { return "" }}
		home := t.TempDir()
		code := cmd.Run(t.Context(), args, cli.App{Streams: st, Environ: []string{"USER=tester", "TERM=dumb"}, Dir: home, Home: home, Now: time.Now})
		return code, errs.String()
	}
	from, to := strings.Join(c.ListenAddrs(), ","), strings.Join(other.ListenAddrs(), ",")
	if code, said := run(nil, "-b", from, "migrate", "export", f.App, "--out", export); code != 0 {
		t.Fatalf("export: %d\n%s", code, said)
	}
	for _, tc := range []struct {
		code int
		says string
		args []string
	}{
		{8, "did not hold", []string{"-b", from, "check", f.App, "--max-lag", "0", "--max-uncommitted", "1000000"}},
		{8, "unhealthy", []string{"-b", from, "inspect", "past", "--fail-on", "unhealthy"}},
		{3, "unresolved", []string{"-b", to, "migrate", "import", export}},
		{3, "unresolved", []string{"-b", to, "migrate", "import", export, "--execute"}},
		{8, "different or missing", []string{"-b", to, "migrate", "verify", f.App, "--source-bootstrap-server", from}},
		{0, "dry run", []string{"-b", from, "reset", f.App, "--topic", f.Topic, "--to-earliest"}},
	} {
		if code, said := run(syscall.EPIPE, tc.args...); code != tc.code || !strings.Contains(said, tc.says) || strings.Contains(said, "broken pipe") {
			t.Errorf("%s: exit status %d, want %d with %q\n%s", strings.Join(tc.args, " "), code, tc.code, tc.says, said)
		}
	}
}
