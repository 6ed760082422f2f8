package cmd_test

// Tables on a terminal: no row wider than it is, and what is missing for that is named. Into a pipe goes everything.

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	const topic, group = "warehouse.inventory.reservations.v1", "warehouse-reservation-service"
	kafkatest.CreateTopic(t, cl, topic, 2)
	ms := time.Now().Add(-3 * time.Hour).UnixMilli()
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 900, ms, 1000)...)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 1, 900, ms, 1000)...)
	kafkatest.Commit(t, cl, group, kafkatest.At(topic, 0, 7), kafkatest.At(topic, 1, 800))
	kafkatest.Commit(t, cl, "audit", kafkatest.At(topic, 0, 5000))
	live := kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "live-reader", Topics: []string{topic}, ClientID: "reservation-reader-0"})
	defer live.Close()
	home := t.TempDir()
	run := func(tty bool, width int, args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		st := &render.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: tty, ErrTTY: tty, Width: width, Env: func(name string) string { return map[string]string{"LANG": "C.UTF-8"}[name] }}
		st.SetColour(render.ColourNever)
		args = append([]string{"-b", c.ListenAddrs()[0], "--state-dir", home, "--color", "never"}, args...)
		if code := cmd.Run(t.Context(), args, cli.App{Streams: st, Dir: home, Home: home}); code != 0 {
			t.Fatalf("%v: exit status %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String(), errs.String()
	}
	run(false, 0, "reset", group, "--topic", topic, "--to-offset", "9", "--execute")
	for _, line := range []string{
		"inspect", "inspect --lag-time", "inspect " + group, "inspect live-reader", "inspect live-reader --by member", "inspect --by topic --all-groups",
		"inspect audit", "inspect --topic " + topic, "resolve " + topic, "resolve " + topic + " --to @-2h", "resolve " + topic + " --to @-2h59m --show 1",
		"reset " + group + " --topic " + topic + " --to @-2h55m", "reset audit --topic " + topic + " --to-latest", "repair audit", "undo",
		"delete " + group, "split " + topic + " --parts 3", "consume " + topic + " --explain --from earliest --until latest",
		"profile show --resolved",
	} {
		args := strings.Fields(line)
		piped, notes := run(false, 80, args...)
		if strings.Contains(notes, "to fit") {
			t.Errorf("%s into a pipe: %s", line, notes)
		}
		for _, width := range []int{80, 100, 120} {
			out, errs := run(true, width, args...)
			heads := strings.Fields(piped)
			for row := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(row, "\n")); n > width && tabular(piped, row) {
					t.Errorf("%s at %d: %d columns wide: %s", line, width, n, row)
				}
			}
			lost := regexp.MustCompile(`to fit \d+ columns: (.*); --output wide shows all`).FindStringSubmatch(errs)
			if cut := strings.Contains(out, "…") && !strings.Contains(piped, "…"); cut && (lost == nil || !strings.Contains(lost[1], "shortened")) {
				t.Errorf("%s at %d: something is shortened and not said\n%s%s", line, width, out, errs)
			}
			for _, head := range heads {
				if headOf(head) && !strings.Contains(out, shorter(head)) && (lost == nil || !strings.Contains(lost[1], head)) {
					t.Errorf("%s at %d: %s is missing and not named\n%s%s", line, width, head, out, errs)
				}
			}
			if wide, _ := run(true, width, append(args, "-o", "wide")...); strings.Contains(wide, "…") {
				t.Errorf("%s -o wide is shortened\n%s", line, wide)
			}
		}
	}
}

// tabular says that a line of the screen is a row of a table: others are sentences, which a terminal wraps.
func tabular(piped, row string) bool { return strings.Contains(row, "  ") && piped != "" }

// headOf says that a word of the output is a column's header.
func headOf(word string) bool { return regexp.MustCompile(`^[A-Z]+(-[A-Z]+)+$`).MatchString(word) }

// shorter is what is left of a header in the narrowest form.
func shorter(head string) string {
	switch head {
	case "CURRENT-OFFSET", "NEW-OFFSET", "LOG-START-OFFSET", "LOG-END-OFFSET", "FROM-OFFSET", "UNTIL-OFFSET":
		return strings.TrimSuffix(head, "-OFFSET")
	case "LAST-STABLE-OFFSET":
		return "STABLE"
	}
	return head
}

// What needs attention is at the top of a terminal's list; a pipe has names in order, which scripts compare.
func TestWorstFirstOnATerminal(t *testing.T) {
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.Commit(t, cl, "zz-ahead", kafkatest.At(f.Topic, 0, 99))
	kafkatest.CreateTopic(t, cl, "quiet", 1)
	kafkatest.Commit(t, cl, "aa-done", kafkatest.At("quiet", 0, 0))
	order := func(tty bool, more ...string) string {
		r := run(t, t.TempDir(), "", tty, append([]string{"-b", c.ListenAddrs()[0], "--color", "never", "inspect"}, more...)...)
		var names []string
		for i, row := range strings.Split(strings.TrimSpace(r.out), "\n") {
			if i > 0 {
				names = append(names, strings.Fields(row)[0])
			}
		}
		return strings.Join(names, " ")
	}
	for _, tc := range []struct {
		tty  bool
		more []string
		want string
	}{
		{true, nil, "zz-ahead app app2 aa-done"},
		{false, nil, "aa-done app app2 zz-ahead"},
		{true, []string{"--sort", "name"}, "aa-done app app2 zz-ahead"},
	} {
		if got := order(tc.tty, tc.more...); got != tc.want {
			t.Errorf("terminal %v %v: %s, want %s", tc.tty, tc.more, got, tc.want)
		}
	}
}
