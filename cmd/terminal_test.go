package cmd_test

// What a terminal gets and a pipe does not: colours, and no control character from a cluster.

import (
	"bytes"
	"strings"
	"testing"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "ahead", kafkatest.At(f.Topic, 0, 99))
	kafkatest.Commit(t, cl, "ev\x1b[31mil\a", kafkatest.Committed{Topic: f.Topic, Partition: 0, Offset: 5, LeaderEpoch: -1, Metadata: "\x1b]0;owned\a"})
	run := func(tty bool, env map[string]string, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := cmd.Run(t.Context(), append([]string{"-b", fake.ListenAddrs()[0]}, args...), cli.App{
			Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: tty, ErrTTY: tty, Width: 200, Env: func(k string) string { return env[k] }},
			Dir:     t.TempDir(), Home: t.TempDir(),
		})
		if code != 0 {
			t.Fatalf("%v: exit status %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	const red = "\x1b[31m"
	for _, c := range []struct {
		name   string
		tty    bool
		env    map[string]string
		args   []string
		colour bool
	}{
		{"a terminal", true, nil, nil, true},
		{"a pipe", false, nil, nil, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, nil, false},
		{"a dumb terminal", true, map[string]string{"TERM": "dumb"}, nil, false},
		{"--color never", true, nil, []string{"--color", "never"}, false},
		{"--color always into a pipe", false, map[string]string{"NO_COLOR": "1"}, []string{"--color", "always"}, true},
	} {
		out, _ := run(c.tty, c.env, append([]string{"inspect", "ahead"}, c.args...)...)
		if got := strings.Contains(out, red+"past-log-end"); got != c.colour {
			t.Errorf("%s: colour %t\n%q", c.name, got, out)
		}
	}
	for _, format := range []string{"table", "wide", "csv", "tsv", "json", "jsonl"} {
		for _, by := range []string{"group", "partition"} {
			out, errs := run(true, map[string]string{"NO_COLOR": "1"}, "inspect", "--all-groups", "--by", by, "-o", format)
			if strings.ContainsAny(out+errs, "\x1b\a") {
				t.Errorf("-o %s --by %s: a control character reaches the terminal\n%q", format, by, out+errs)
			}
			if !strings.Contains(out, "31mil") {
				t.Errorf("-o %s --by %s: the group is missing\n%q", format, by, out)
			}
		}
	}
}

// -v shows what is asked, on stderr alone.
func TestVerbose(t *testing.T) {
	t.Parallel()
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	var quiet, out, errs bytes.Buffer
	for _, c := range []struct {
		out  *bytes.Buffer
		err  *bytes.Buffer
		args []string
	}{{&quiet, &bytes.Buffer{}, nil}, {&out, &errs, []string{"-v"}}} {
		code := cmd.Run(t.Context(), append([]string{"-b", fake.ListenAddrs()[0], "inspect", f.App}, c.args...),
			cli.App{Streams: &render.Streams{In: strings.NewReader(""), Out: c.out, Err: c.err}, Dir: t.TempDir(), Home: t.TempDir()})
		if code != 0 {
			t.Fatal(code, c.err.String())
		}
	}
	if out.String() != quiet.String() {
		t.Errorf("-v changes stdout:\n%s", out.String())
	}
	for _, want := range []string{fake.ListenAddrs()[0], "OffsetFetch", "ListOffsets"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("-v does not say %s", want)
		}
	}
}
