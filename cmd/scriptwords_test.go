package cmd_test

// Words of the scripts about processes and output:
//
//	status CODE PROGRAM ARG…      run it; it must end with exactly this status
//	within DURATION WORD …        the word must be done within the time
//	start NAME PROGRAM ARG…       run it in the background, with its output in the files NAME.out and NAME.err
//	until FILE REGEX              wait until the file matches
//	signal NAME int|term          send it a signal
//	ended NAME CODE               wait for its end; it must end with this status
//	closing CODE PROGRAM ARG…     run it with a stdout whose reader has gone away
//	load FILE                     put its lines "export NAME=VALUE" into the environment
//	port NAME VAR                 the port of the address in $VAR, in $NAME
//	json FILE PATH VALUE          the JSON in FILE (or stdout, stderr) has this value there: .groups[0].lag 12,
//	                              .partitions[topic=orders,partition=2].lag null, .groups[n] 3 (their number)
//	jsonl FILE PATH VALUE         the same for a file of one JSON value a line: [0].kind
//	keys FILE PATH KEY,…          the JSON object there has these keys, at least
//	fill FILE                     replace @NAME@ in the file by the variable's value
//	fields FILE LINE WORD…        the line with that number (from 1) consists of these words, however far apart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/internal/kafkatest"
)

// world is what one script has made.
type world struct {
	t        testing.TB
	dir      string
	vars     []string // names of environment variables that a background process gets
	clusters map[string]*fakeCluster
	current  *fakeCluster
	procs    map[string]*background
	members  map[string]*kafkatest.Member
	pending  map[string]func(commit bool)
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

type word = func(ts *testscript.TestScript, neg bool, args []string)

func scriptWords() map[string]word {
	words := map[string]word{
		"status": doStatus, "start": doStart, "until": doUntil, "signal": doSignal, "ended": doEnded,
		"json": doJSON, "jsonl": doJSON, "keys": doKeys, "fields": doFields, "fill": doFill,
		"closing": doClosing, "load": doLoad, "port": doPort,
	}
	maps.Copy(words, clusterWords())
	maps.Copy(words, pastWords())
	maps.Copy(words, snapshotWords())
	maps.Copy(words, migrateWords())
	maps.Copy(words, monitorWords())
	inner := maps.Clone(words)
	words["within"] = func(ts *testscript.TestScript, neg bool, args []string) {
		need(ts, neg, args, 2, -1, "within DURATION WORD …")
		limit, err := time.ParseDuration(args[0])
		ts.Check(err)
		do, ok := inner[args[1]]
		if !ok {
			ts.Fatalf("within: no word %q", args[1])
		}
		start := time.Now()
		do(ts, false, args[2:])
		if took, more := time.Since(start), loaded(); took > limit+more {
			ts.Fatalf("it took %s, not at most %s and %s for a loaded machine", took.Round(time.Millisecond), limit, more)
		}
	}
	// json and jsonl differ in how the file is read; a word does not know its own name.
	words["jsonl"] = func(ts *testscript.TestScript, neg bool, args []string) { checkJSON(ts, neg, args, true) }
	return words
}

// loaded is what a busy machine may add to the time of a script's line: 5 s, and in proportion more where more processes want to run
// than the machine has processors for (measured: 5.6 s with ten for each). What these times catch, a hang past a deadline, is longer.
func loaded() time.Duration {
	const quiet = 5 * time.Second
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return quiet // not Linux
	}
	var load float64
	if _, err := fmt.Sscan(string(data), &load); err != nil {
		return quiet
	}
	return max(quiet, time.Duration(load/float64(runtime.NumCPU())*float64(time.Second)))
}

// need checks the number of arguments; at most -1 is any number.
func need(ts *testscript.TestScript, neg bool, args []string, least, most int, usage string) {
	if neg || len(args) < least || most >= 0 && len(args) > most {
		ts.Fatalf("usage: %s", usage)
	}
}

func doStatus(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "status CODE PROGRAM ARG…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func exitCode(ts *testscript.TestScript, err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("run: %v", err)
	}
	return exit.ExitCode()
}

// background is a process that a script started.
type background struct {
	cmd  *exec.Cmd
	done chan error
}

func doStart(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "start NAME PROGRAM ARG…")
	w := worldOf(ts)
	c := w.command(ts, args[1:])
	for _, o := range []struct {
		to  *io.Writer
		ext string
	}{{&c.Stdout, ".out"}, {&c.Stderr, ".err"}} {
		f, err := os.Create(filepath.Join(w.dir, args[0]+o.ext))
		ts.Check(err)
		defer f.Close()
		*o.to = f
	}
	ts.Check(c.Start())
	p := &background{cmd: c, done: make(chan error, 1)}
	go func() { p.done <- c.Wait() }()
	if w.procs == nil {
		w.procs = map[string]*background{}
	}
	w.procs[args[0]] = p
	ts.Defer(func() { _ = c.Process.Kill() })
}

// command is a process in the script's folder and environment.
func (w *world) command(ts *testscript.TestScript, args []string) *exec.Cmd {
	c := exec.CommandContext(w.t.Context(), args[0], args[1:]...)
	c.Dir = w.dir
	for _, name := range append(slices.Clone(w.vars), "KOFFSET_BROKERS", "KOFFSET_PROFILE", "KOFFSET_CONFIG", "KOFFSET_STATE_DIR", "NO_COLOR", "TERM") {
		if v := ts.Getenv(name); v != "" {
			c.Env = append(c.Env, name+"="+v)
		}
	}
	return c
}

func doClosing(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "closing CODE PROGRAM ARG…")
	r, out, err := os.Pipe()
	ts.Check(err)
	ts.Check(r.Close())
	c := worldOf(ts).command(ts, args[1:])
	c.Stdout, c.Stderr = out, ts.Stderr()
	err = c.Run()
	ts.Check(out.Close())
	if got := strconv.Itoa(exitCode(ts, err)); got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

func doLoad(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "load FILE")
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if pair, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			key, value, _ := strings.Cut(pair, "=")
			worldOf(ts).export(ts, key, value)
		}
	}
}

func doPort(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "port NAME VAR")
	_, port, err := net.SplitHostPort(ts.Getenv(args[1]))
	ts.Check(err)
	worldOf(ts).export(ts, args[0], port)
}

func doUntil(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "until FILE REGEX")
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	kafkatest.Until(worldOf(ts).t, args[0]+" matches "+args[1], func() bool {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && re.Match(b)
	})
}

func (w *world) proc(ts *testscript.TestScript, name string) *background {
	p, ok := w.procs[name]
	if !ok {
		ts.Fatalf("no process %q was started", name)
	}
	return p
}

func doSignal(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 3, "signal NAME int|term [twice]")
	sig := map[string]os.Signal{"int": os.Interrupt, "term": syscall.SIGTERM}[args[1]]
	if sig == nil {
		ts.Fatalf("no signal %q", args[1])
	}
	p := worldOf(ts).proc(ts, args[0]).cmd.Process
	ts.Check(p.Signal(sig))
	if len(args) == 3 {
		if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			ts.Fatalf("%v", err)
		}
	}
}

func doEnded(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "ended NAME CODE")
	select {
	case err := <-worldOf(ts).proc(ts, args[0]).done:
		if got := strconv.Itoa(exitCode(ts, err)); got != args[1] {
			ts.Fatalf("%s ended with status %s, want %s", args[0], got, args[1])
		}
	case <-time.After(20 * time.Second):
		ts.Fatalf("%s has not ended in 20s", args[0])
	}
}

func doFields(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "fields FILE LINE WORD…")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	if n < 1 || n > len(lines) {
		ts.Fatalf("%s has %d lines, not %d", args[0], len(lines), n)
	}
	if got := strings.Fields(lines[n-1]); !slices.Equal(got, args[2:]) {
		ts.Fatalf("line %d is %q, want %q", n, got, args[2:])
	}
}

func doFill(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "fill FILE")
	text := variable.ReplaceAllStringFunc(ts.ReadFile(args[0]), func(m string) string { return ts.Getenv(m[1 : len(m)-1]) })
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

var variable = regexp.MustCompile(`@[A-Z_]+@`)

func doJSON(ts *testscript.TestScript, neg bool, args []string) { checkJSON(ts, neg, args, false) }

func checkJSON(ts *testscript.TestScript, neg bool, args []string, lines bool) {
	need(ts, neg, args, 3, 3, "json FILE PATH VALUE")
	found := compact(ts, at(ts, readJSON(ts, args[0], lines), args[1]))
	want := args[2]
	if strings.HasPrefix(found, `"`) && !strings.HasPrefix(want, `"`) {
		b, err := json.Marshal(want)
		ts.Check(err)
		want = string(b)
	}
	if found != want {
		ts.Fatalf("%s is %s, want %s", args[1], found, want)
	}
}

func doKeys(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, 3, "keys FILE PATH KEY,…")
	m, ok := at(ts, readJSON(ts, args[0], false), args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	for key := range strings.SplitSeq(args[2], ",") {
		if _, ok := m[key]; !ok {
			ts.Fatalf("%s has no %q, only %q", args[1], key, slices.Sorted(maps.Keys(m)))
		}
	}
}

// readJSON reads one JSON value and nothing after it, or one a line. On stderr errors are JSON and notes are not.
func readJSON(ts *testscript.TestScript, file string, lines bool) any {
	text := ts.ReadFile(file)
	if file == "stderr" {
		text = strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return !strings.HasPrefix(l, "{") }), "")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // 64-bit integers exact
	all := []any{}
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			ts.Fatalf("%s is not JSON: %v", file, err)
		}
		all = append(all, v)
	}
	if lines {
		if n := strings.Count(text, "\n"); n != len(all) {
			ts.Fatalf("%s has %d JSON values on %d lines", file, len(all), n)
		}
		return all
	}
	if len(all) != 1 {
		ts.Fatalf("%s has %d JSON values, want one", file, len(all))
	}
	return all[0]
}

func compact(ts *testscript.TestScript, v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	ts.Check(e.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}

var steps = regexp.MustCompile(`\.[A-Za-z0-9_]+|\[[^\]]*\]`)

// at walks a path: .key, [2], [key=value,key=value] for the first element that has them all, [n] for their number.
func at(ts *testscript.TestScript, v any, path string) any {
	if strings.Join(steps.FindAllString(path, -1), "") != path && path != "." {
		ts.Fatalf("path %q", path)
	}
	for _, step := range steps.FindAllString(path, -1) {
		switch {
		case step[0] == '.':
			m, ok := v.(map[string]any)
			if ok {
				v, ok = m[step[1:]]
			}
			if !ok {
				ts.Fatalf("%s: no %s in %s", path, step, compact(ts, m))
			}
		default:
			v = element(ts, v, step[1:len(step)-1], path)
		}
	}
	return v
}

func element(ts *testscript.TestScript, v any, which, path string) any {
	list, ok := v.([]any)
	if !ok {
		ts.Fatalf("%s: %s is no list", path, compact(ts, v))
	}
	if which == "n" {
		return json.Number(strconv.Itoa(len(list)))
	}
	if n, err := strconv.Atoi(which); err == nil {
		if n >= len(list) {
			ts.Fatalf("%s: there are %d elements", path, len(list))
		}
		return list[n]
	}
	for _, e := range list {
		m, _ := e.(map[string]any)
		if !slices.ContainsFunc(strings.Split(which, ","), func(pair string) bool {
			key, value, _ := strings.Cut(pair, "=")
			return fmt.Sprint(m[key]) != value
		}) {
			return e
		}
	}
	ts.Fatalf("%s: none of %d elements has %s", path, len(list), which)
	return nil
}

func name(v string) string { n, _, _ := strings.Cut(v, "="); return n }
