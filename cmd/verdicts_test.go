package cmd_test

// One table of verdicts decides everywhere: what inspect, check, watch and serve say of the same cluster at the same moment.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/sandbox"
)

// judged is a group, or a partition of one, as JSON has it.
type judged struct {
	Group, Topic, Verdict string
	Partition             int32
	Verdicts              []string
	Lag                   *int64
	Why                   *string
	Partitions            []judged
}

// said is what a command says of each group and, where it shows them, of each partition.
type said map[string]string

func (s said) group(g judged) { s[g.Group] = g.text() }

func (s said) partition(group string, p judged) {
	s[fmt.Sprintf("%s %s:%d", group, p.Topic, p.Partition)] = p.text()
}

func (j judged) text() string {
	lag := "-"
	if j.Lag != nil {
		lag = fmt.Sprint(*j.Lag)
	}
	return fmt.Sprintf("%s %v, lag %s", j.Verdict, j.Verdicts, lag)
}

func TestOneVerdictEverywhere(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	s, err := sandbox.Start(t.Context(), sandbox.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, isolation := range []string{"read_uncommitted", "read_committed"} {
		t.Run(isolation, func(t *testing.T) {
			run := func(args ...string) string {
				t.Helper()
				var out bytes.Buffer
				args = append([]string{"-b", s.Bootstrap()}, args...)
				if code, errs := lineAt(t.Context(), t.TempDir(), func() time.Time { return now }, &out, append(args, "--isolation", isolation)...); code != 0 && code != 8 {
					t.Fatalf("%v: exit status %d\n%s", args, code, errs)
				}
				return out.String()
			}
			var doc struct{ Groups, Partitions []judged }
			inspected := said{}
			decode(t, run("inspect", "--all-groups", "--by", "partition", "-o", "json"), &doc)
			var names []string
			for _, g := range doc.Groups {
				inspected.group(g)
				names = append(names, g.Group)
			}
			for _, p := range doc.Partitions {
				inspected.partition(p.Group, p)
			}
			if len(names) < 11 {
				t.Fatalf("the sandbox has %v alone", names)
			}
			sameVerdicts(t, "the table of inspect", statuses(run("inspect")), leads(doc.Groups))

			watched := said{}
			decode(t, strings.SplitN(run(append([]string{"watch", "--count", "1", "-o", "jsonl"}, names...)...), "\n", 2)[0], &doc)
			for _, g := range doc.Groups {
				watched.group(g)
				if g.Verdict != "ok" && g.Why == nil {
					t.Errorf("watch says that %s is %s, and not why", g.Group, g.Verdict)
				}
				for _, p := range g.Partitions {
					watched.partition(g.Group, p)
				}
			}
			sameVerdicts(t, "watch", watched, inspected)

			checked := said{}
			decode(t, run("check", "--all-groups", "-o", "json"), &doc)
			for _, g := range doc.Groups {
				checked.group(g)
			}
			maps.DeleteFunc(inspected, func(name, _ string) bool { return strings.Contains(name, " ") })
			sameVerdicts(t, "check", checked, inspected)
			sameVerdicts(t, "serve", served(t, s.Bootstrap(), isolation, len(names), now), leads(doc.Groups))
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// leads are the leading verdicts.
func leads(groups []judged) said {
	out := said{}
	for _, g := range groups {
		out[g.Group] = g.Verdict
	}
	return out
}

// statuses are the cells of the column STATUS.
func statuses(table string) said {
	out := said{}
	head, rows, _ := strings.Cut(table, "\n")
	at := strings.Index(head, "STATUS")
	for row := range strings.Lines(rows) {
		out[strings.Fields(row)[0]] = strings.Fields(row[at:])[0]
	}
	return out
}

var servedVerdict = regexp.MustCompile(`(?m)^koffset_group_verdict\{group="([^"]+)",verdict="([^"]+)"\} 1$`)

// served are the verdicts that serve exports.
func served(t *testing.T, brokers, isolation string, groups int, now time.Time) said {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var notes lockedBuffer
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	home := t.TempDir()
	running.Go(func() {
		cmd.Run(ctx, []string{"-b", brokers, "serve", "--listen", "127.0.0.1:0", "--isolation", isolation}, cli.App{Environ: []string{"HOME=" + home}, Dir: home,
			Now: func() time.Time { return now }, Streams: &render.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &notes}})
	})
	out := said{}
	kafkatest.Until(t, "serve has the verdicts", func() bool {
		m := regexp.MustCompile(`http://[0-9.:]+/metrics`).FindString(notes.String())
		if m == "" {
			return false
		}
		resp, err := http.Get(m)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		if err != nil {
			return false
		}
		for _, v := range servedVerdict.FindAllStringSubmatch(string(page), -1) {
			out[v[1]] = v[2]
		}
		return len(out) >= groups
	})
	return out
}

func sameVerdicts(t *testing.T, who string, got, want said) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s is %q, and inspect says %q", who, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d names, and inspect has %d", who, len(got), len(want))
	}
}

// lockedBuffer is written by a command while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
