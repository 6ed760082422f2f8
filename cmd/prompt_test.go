package cmd_test

// The question before a plan is executed: only a terminal is asked, and no is the default.

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// ran is what one command line left.
type ran struct {
	code     int
	out, err string
}

// run runs a command line in this process. tty says that a person sits there, who types in.
func run(t testing.TB, home, in string, tty bool, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	st := &render.Streams{In: strings.NewReader(in), Out: &out, Err: &errs, InTTY: tty, OutTTY: tty, ErrTTY: tty, Env: func(string) string { return "" }}
	code := cmd.Run(t.Context(), args, cli.App{Streams: st, Environ: []string{"USER=tester", "TERM=dumb"}, Dir: home, Home: home, Now: time.Now})
	return ran{code, out.String(), errs.String()}
}

func TestExecuteAsksOnATerminal(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	at := strings.Join(c.ListenAddrs(), ",")
	home := t.TempDir()
	base := []string{"-b", at, "reset", f.App, "--topic", f.Topic, "--to-offset", "8", "--execute"}
	moved := func() bool { return kafkatest.CommittedOffsets(t, cl, f.App, f.Topic)[1] == 8 }
	for _, tc := range []struct {
		name string
		in   string
		tty  bool
		more []string
		code int
		asks bool
	}{
		{"no answer is no", "", true, nil, 3, true},
		{"return is no", "\n", true, nil, 3, true},
		{"no", "n\n", true, nil, 3, true},
		{"anything is no", "sure\n", true, nil, 3, true},
		{"the wrong cluster is no, whatever is typed", "y\n", true, []string{"--confirm", "prod"}, 3, false},
		{"yes", "y\n", true, nil, 0, true},
		{"--yes does not ask", "", true, []string{"--yes"}, 0, false},
		{"without a terminal --execute is enough", "", false, nil, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kafkatest.Commit(t, cl, f.App, kafkatest.At(f.Topic, 1, 7))
			r := run(t, home, tc.in, tc.tty, append(base[:len(base):len(base)], tc.more...)...)
			if r.code != tc.code {
				t.Errorf("status %d, want %d\n%s", r.code, tc.code, r.err)
			}
			if asked := strings.Contains(r.err, "[y/N]"); asked != tc.asks {
				t.Errorf("asked: %v, want %v\n%s", asked, tc.asks, r.err)
			}
			if moved() != (tc.code == 0) {
				t.Errorf("moved: %v\n%s", moved(), r.err)
			}
			if tc.asks && !strings.Contains(r.out, "NEW-OFFSET") {
				t.Errorf("the plan was not shown before the question:\n%s", r.out)
			}
			if tc.code == 3 && !strings.Contains(r.err, "nothing was changed") {
				t.Errorf("it does not say that nothing was changed:\n%s", r.err)
			}
		})
	}
}

func TestConfirmWantsTheClusterID(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	home := t.TempDir()
	args := []string{"-b", strings.Join(c.ListenAddrs(), ","), "-X", "confirm=cluster-id", "reset", f.App, "--topic", f.Topic, "--to-offset", "8", "--execute", "--yes"}
	for _, tc := range []struct {
		in   string
		tty  bool
		code int
	}{{"y\n", true, 3}, {"kfak\n", true, 3}, {"", false, 3}, {"kfake\n", true, 0}} {
		r := run(t, home, tc.in, tc.tty, args...)
		if r.code != tc.code {
			t.Errorf("typed %q: status %d, want %d\n%s", tc.in, r.code, tc.code, r.err)
		}
	}
	if got := kafkatest.CommittedOffsets(t, cl, f.App, f.Topic)[1]; got != 8 {
		t.Errorf("p1 is %d", got)
	}
}

// The question names the group as every other line does: one whose name is empty, or ends with a blank, is seen.
func TestQuestionNamesTheGroupExactly(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	for typed, shown := range map[string]string{`""`: `group "" on`, "billing ": `group "billing " on`, "a b": `group "a b" on`, "billing": "group billing on"} {
		group := typed
		if typed == `""` {
			group = ""
		}
		kafkatest.Commit(t, cl, group, kafkatest.At(f.Topic, 1, 7))
		r := run(t, t.TempDir(), "n\n", true, "-b", strings.Join(c.ListenAddrs(), ","), "reset", typed, "--topic", f.Topic+":1", "--to-offset", "8", "--execute")
		if r.code != 3 || !strings.Contains(r.err, "Move "+shown) {
			t.Errorf("%q: status %d\n%s", typed, r.code, r.err)
		}
	}
}
