package cmd

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/sandbox"
)

// Without a completion of its own a flag or an argument gets cobra's, which is the files of the current folder: worse than
// silence for a number, a group or a regular expression.
func TestEveryArgumentAndFlagCompletes(t *testing.T) {
	values, commands := 0, 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		commands++
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" {
				return // a switch
			}
			values++
			_, has := c.GetFlagCompletionFunc(f.Name)
			_, files := f.Annotations[cobra.BashCompFilenameExt]
			_, dirs := f.Annotations[cobra.BashCompSubdirsInDir]
			if !has && !files && !dirs {
				t.Errorf("%s --%s has no completion", c.CommandPath(), f.Name)
			}
		})
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
			t.Errorf("the arguments of %s have no completion", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(cli.App{}))
	if values < 200 || commands < 25 {
		t.Errorf("only %d flags of %d commands were looked at", values, commands)
	}
}

// completion runs what a shell runs at a TAB.
func completion(t *testing.T, brokers, dir string, args ...string) (words string, files bool, took time.Duration) {
	t.Helper()
	var out bytes.Buffer
	env := map[string]string{"KOFFSET_BROKERS": brokers, "HOME": dir, "KOFFSET_STATE_DIR": filepath.Join(dir, "state")}
	var environ []string
	for k, v := range env {
		environ = append(environ, k+"="+v)
	}
	began := time.Now()
	Run(t.Context(), append([]string{"__complete"}, args...), cli.App{Environ: environ, Dir: dir, Home: dir,
		Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard, Env: func(k string) string { return env[k] }}})
	took = time.Since(began)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, ":") {
		t.Fatalf("%v: no directive in %q", args, out.String())
	}
	var names []string
	for _, l := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(l, "\t")
		names = append(names, name)
	}
	return strings.Join(names, " "), last == ":0" || last == ":16", took
}

func TestCompletedWords(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	brokers := strings.Join(fake.ListenAddrs(), ",")
	dir := t.TempDir()
	if _, err := sandbox.WriteSnapshots(dir, docsNow); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.plan", "saved/x.csv"} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ranges := "# koffset ranges 1\n1 " + f.Topic + ":0=0:5\n2 " + f.Topic + ":0=5:9\n"
	if err := os.WriteFile(filepath.Join(dir, "work.ranges"), []byte(ranges), 0o600); err != nil {
		t.Fatal(err)
	}
	snapshot := onlySnapshot(t, dir)
	source := oneSource(t, dir, snapshot)
	for _, c := range []struct {
		line  string
		words string // what is offered; ~ before it: what is among it
		files bool
	}{
		{line: "apply ", files: true},
		{line: "apply a.plan "},
		{line: "migrate import ", files: true},
		{line: "reset app --plan-out ", files: true},
		{line: "reset app --shift-by "},
		{line: "reset app --topic-match "},
		{line: "reset app --confirm "},
		{line: "reset app --wait-empty 3", words: "30s"},
		{line: "reset app --metadata ", words: "keep clear"},
		{line: "reset app --to file:sa", words: "file:saved/"},
		{line: "reset app --to file:saved/", words: "file:saved/x.csv"},
		{line: "reset app --to checkpoint:", words: "checkpoint:flink/ checkpoint:flink-old/ checkpoint:saved/"},
		{line: "reset app --to store:p", words: "store:postgres://"},
		{line: "reset app --to checkpoint:" + snapshot + " --operator-uid ", words: source.uid},
		{line: "checkpoint show " + snapshot + " --operator-id ", words: "~" + source.id},
		{line: "checkpoint rewrite " + snapshot + " --operator-id " + source.id[:3], words: source.id},
		{line: "checkpoint show nowhere --operator-id "},
		{line: "migrate export --from ", words: "checkpoint: store:"},
		{line: "migrate export --to-store s", words: "sqlite:"},
		{line: "migrate export --expect-topics " + f.Topic + ",", words: ""},
		{line: "migrate import x --map ord", words: f.Topic + "="},
		{line: "migrate import x --strategy same,re", words: "same,record"},
		{line: "migrate sync "}, // the environment names the target, not the source
		{line: "migrate sync --source-bootstrap-server " + brokers + " ", words: f.App + " " + f.App2},
		{line: "consume --range " + f.Topic + ":1", words: f.Topic + ":1="},
		{line: "consume --value-deserializer ", words: "~org.apache.kafka.common.serialization.StringDeserializer"},
		{line: "consume --range-file work.ranges --part ", words: "1 2"},
		{line: "consume --range-file work.ranges --part 2", words: "2"},
		{line: "consume --range-file a.plan --part "},
		{line: "consume --part "},
		{line: "consume --max-records "},
		{line: "split " + f.Topic + " --if-none ", words: "latest earliest skip fail"},
		{line: "version -o ", words: "table json jsonl"},
		{line: "version "},
		{line: "inspect -X tls.server", words: "tls.server_name="},
		{line: "checkpoint x"},
	} {
		args := strings.Split(c.line, " ")
		got, files, _ := completion(t, brokers, dir, args...)
		want, among := strings.CutPrefix(c.words, "~")
		if ok := got == want || among && strings.Contains(" "+got+" ", " "+want+" "); !ok || files != c.files {
			t.Errorf("%q offers %q, files %t; want %q, files %t", c.line, got, files, c.words, c.files)
		}
	}
}

func onlySnapshot(t *testing.T, dir string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(dir, "flink"), func(p string, _ os.DirEntry, err error) error {
		if filepath.Base(p) == "_metadata" && found == "" {
			found, _ = filepath.Rel(dir, filepath.Dir(p))
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no snapshot: %v", err)
	}
	return found
}

type oneUID struct{ uid, id string }

func oneSource(t *testing.T, dir, ref string) oneUID {
	t.Helper()
	snap, err := checkpointfile.OpenSnapshot(filepath.Join(dir, ref), flink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var uids, ids []string
	for _, s := range snap.Sources() {
		if s.UID != "" {
			uids = append(uids, s.UID)
		}
		ids = append(ids, s.OperatorID)
	}
	if len(uids) == 0 {
		t.Fatalf("%s has no source with an uid", ref)
	}
	return oneUID{strings.Join(uids, " "), ids[0]}
}

// A shell waits for a completion, so a cluster that accepts and never answers must not hold it, and what is remembered must
// come at once.
func TestCompletionIsSoon(t *testing.T) {
	mute, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	dir := t.TempDir()
	if words, files, took := completion(t, mute.Addr().String(), dir, "inspect", ""); words != "" || files || took > time.Second {
		t.Errorf("a dead cluster offers %q, files %t, after %s", words, files, took)
	}
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	brokers := strings.Join(fake.ListenAddrs(), ",")
	completion(t, brokers, dir, "inspect", "")
	least := time.Hour
	for range 5 { // the least of some: the machine may be doing something else
		words, _, took := completion(t, brokers, dir, "inspect", "")
		if words != f.App+" "+f.App2 {
			t.Fatalf("offered %q", words)
		}
		least = min(least, took)
	}
	if least > 50*time.Millisecond {
		t.Errorf("from the cache it took %s", least)
	}
}
