package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/sandbox"
	"github.com/koffset/koffset/offset"
)

var update = flag.Bool("update", false, "rewrite the outputs in README.md and docs/ with what the commands print")

// docsNow is the time at which the documentation's commands run, so that their output can be compared to the letter.
var docsNow = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// Every ```console block of the README and of docs/ is run against a fresh sandbox, one for each file, in the order of the
// file, and what it prints is compared. A command is a line that begins with "$ ". Run with -update to rewrite them.
func TestDocumentation(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append([]string{filepath.Join(root, "README.md")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n```console\n") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			got := runBlocks(t, string(text))
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s does not show what the commands print; go test ./cmd -run Documentation -update rewrites it\n%s", filepath.Base(file), firstDifference(string(text), got))
		})
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\nshown: %s\nreal:  %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("shown %d lines, real %d lines", len(x), len(y))
}

var consoleBlock = regexp.MustCompile("(?s)\n```console\n(.*?)\n```")

func runBlocks(t *testing.T, text string) string {
	d := newDocShell(t)
	return consoleBlock.ReplaceAllStringFunc(text, func(block string) string {
		body := strings.TrimSuffix(strings.TrimPrefix(block, "\n```console\n"), "\n```")
		return "\n```console\n" + d.run(body) + "\n```"
	})
}

// newDocShell starts a sandbox of two clusters, and works in a folder of its own that holds Flink's snapshots.
func newDocShell(t *testing.T) *docShell {
	ctx := t.Context()
	s, err := sandbox.Start(ctx, sandbox.Config{Clusters: 2, Now: docsNow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	// Of a length that is always the same: a path is part of the widths of a table, and t.TempDir's has a random number in it.
	base := t.TempDir()
	dir := filepath.Join(base, strings.Repeat("d", max(1, 50-len(base))))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// What koffset sandbox --clusters 2 --dir . brings along.
	if _, err := sandbox.WriteSnapshots(dir, docsNow); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	d := &docShell{t: t, ctx: ctx, dir: dir, ids: map[string]int{}, env: map[string]string{"KOFFSET_BROKERS": s.Bootstrap(), "DR": s.Clusters[1].Bootstrap, "KOFFSET_STATE_DIR": filepath.Join(dir, "state"), "HOME": dir, "USER": "ops"}}
	d.hide = strings.NewReplacer(s.Bootstrap(), shopAddr, s.Clusters[1].Bootstrap, drAddr, dir, "~")
	return d
}

// docsTimeout is far more than any block takes: one that would run forever must fail with its name.
const docsTimeout = 30 * time.Second

// The addresses shown for the two clusters: as long as real ones, so that columns stay aligned.
const (
	shopAddr = "127.0.0.1:19092"
	drAddr   = "127.0.0.1:29092"
)

// Undo ids end in a random number, and a plan's digest holds the topics' ids, which the sandbox makes anew.
var (
	undoID = regexp.MustCompile(`\b(\d{8}-\d{9})-[0-9a-f]{4}\b`)
	planID = regexp.MustCompile(`\bplan [0-9a-f]{12}\b`)
	member = regexp.MustCompile(`127\.0\.0\.1:[1-9]\d{4,}\b`) // a member's own port
	pace   = regexp.MustCompile(` in [0-9.]+m?s \([0-9,]+ records/s\)`)
)

func (d *docShell) settle(s string) string {
	s = undoID.ReplaceAllStringFunc(d.hide.Replace(s), func(id string) string {
		return id[:len(id)-4] + d.alias(id)[:4]
	})
	s = member.ReplaceAllStringFunc(s, func(addr string) string {
		if addr == shopAddr || addr == drAddr {
			return addr
		}
		return "127.0.0.1:50000"
	})
	s = pace.ReplaceAllString(s, " in 480ms (500 records/s)")
	return planID.ReplaceAllStringFunc(s, func(id string) string { return "plan " + d.alias(id)[:12] })
}

// alias is what stands for an id that is random: another for each, and the same in every run.
func (d *docShell) alias(id string) string {
	n, ok := d.ids[id]
	if !ok {
		n = len(d.ids)
		d.ids[id] = n
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte{byte(n)}))
}

// docShell runs the few things that the documentation's blocks hold: koffset itself, echo $? and cat.
type docShell struct {
	t    *testing.T
	ctx  context.Context
	dir  string
	env  map[string]string
	hide *strings.Replacer
	last int
	ids  map[string]int // random ids in the order in which they came
}

func (d *docShell) run(body string) string {
	var out strings.Builder
	lines := strings.Split(body, "\n")
	for i := 0; i < len(lines); i++ {
		line, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue // the old output
		}
		out.WriteString("$ " + line + "\n")
		for strings.HasSuffix(line, "\\") && i+1 < len(lines) {
			i++
			out.WriteString(lines[i] + "\n")
			line = strings.TrimSuffix(line, "\\") + strings.TrimPrefix(lines[i], "> ")
		}
		out.WriteString(d.command(line))
	}
	return strings.TrimRight(out.String(), "\n")
}

func (d *docShell) command(line string) string {
	line, file, _ := strings.Cut(line, " > ")
	words := d.words(line)
	switch {
	case line == "echo $?":
		return fmt.Sprintln(d.last)
	case words[0] == "cat" && len(words) == 2:
		b, err := os.ReadFile(filepath.Join(d.dir, words[1]))
		if err != nil {
			d.t.Fatal(err)
		}
		return d.settle(string(b))
	case words[0] != "koffset":
		d.t.Fatalf("the documentation runs %q, which this test does not know", line)
	}
	var environ []string
	for k, v := range d.env {
		environ = append(environ, k+"="+v)
	}
	var buf, out bytes.Buffer
	streams := &render.Streams{In: strings.NewReader(""), Out: &buf, Err: &buf, Env: func(k string) string { return d.env[k] }}
	if file != "" {
		streams.Out = &out
	}
	now := func() time.Time { return docsNow }
	if strings.Contains(line, "--rate") {
		began := time.Now() // a rate needs a clock that goes
		now = func() time.Time { return docsNow.Add(time.Since(began)) }
	}
	ctx, cancel := context.WithTimeout(d.ctx, docsTimeout)
	defer cancel()
	d.last = Run(ctx, words[1:], cli.App{Streams: streams, Environ: environ, Dir: d.dir, Home: d.dir, Now: now, Version: "v0.1.0"})
	if ctx.Err() != nil {
		d.t.Fatalf("%s did not end within %s:\n%s", line, docsTimeout, buf.String())
	}
	if file != "" {
		if err := os.WriteFile(filepath.Join(d.dir, file), out.Bytes(), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	return d.settle(buf.String())
}

// words splits a line as a shell does, with quotes and $NAME.
func (d *docShell) words(line string) []string {
	var out []string
	var cur strings.Builder
	in, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			cur.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if in {
				out, in = append(out, cur.String()), false
				cur.Reset()
			}
		default:
			cur.WriteRune(r)
			in = true
		}
	}
	if in {
		out = append(out, cur.String())
	}
	for i, w := range out {
		out[i] = os.Expand(w, func(name string) string { return d.env[name] })
	}
	return out
}

// Every direct dependency has its reason in docs/dependencies.md.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := string(page)
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 10 {
		t.Fatalf("go.mod names %d direct dependencies", len(direct))
	}
	for _, m := range direct {
		name := m[1]
		if own, ok := strings.CutPrefix(name, "github.com/twmb/franz-go/"); ok && strings.Contains(table, "`"+own+"`") {
			continue
		}
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/dependencies.md does not say what %s is for", name)
		}
	}
}

// The production check list is the one that consume --explain goes through: the same lines in the same order.
func TestCheckListIsTheCommands(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "checklist.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| check | what it wants |")
	table, _, _ = strings.Cut(table, "\n\n")
	var written []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \|`).FindAllStringSubmatch(table, -1) {
		written = append(written, m[1])
	}
	var asked []string
	for _, m := range regexp.MustCompile(`"kind":"check","check":"([^"]+)"`).FindAllStringSubmatch(newDocShell(t).command("koffset consume orders -g shipping --explain -o jsonl"), -1) {
		asked = append(asked, m[1])
	}
	if len(asked) == 0 || !slices.Equal(written, asked) {
		t.Errorf("docs/checklist.md lists %q, the command checks %q", written, asked)
	}
}

// Every metric of a run is in docs/metrics-consume.md.
func TestConsumeMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "metrics-consume.md"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	one := int64(1)
	parts := []consume.PartitionStats{
		{Partition: offset.Partition{Topic: "t"}, Position: 2, Current: &one, Committed: &one, End: &one, LogEnd: 5, Records: 1},
	}
	if err := consume.WriteMetrics(&b, consume.Stats{Partitions: parts, Checkpoints: consume.CheckpointStats{On: true, LastAt: docsNow}}); err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(b.String(), -1)
	if len(names) < 25 {
		t.Fatalf("%d metrics in\n%s", len(names), b.String())
	}
	for _, m := range names {
		if !strings.Contains(string(page), "`"+m[1]+"`") {
			t.Errorf("docs/metrics-consume.md does not name %s", m[1])
		}
	}
}
