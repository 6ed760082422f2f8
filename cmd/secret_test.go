package cmd_test

// A password never leaves: not in what is printed, in any form and on any error, and not in any file that koffset writes.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// planted is the secret. Nothing else is called so.
const planted = "pl4nt3d/s3cr3t"

// plantedForms are the ways in which it could stand somewhere.
var plantedForms = []string{planted, "pl4nt3d", "s3cr3t"}

// secretLines has a command line or more for every command; one that is not in it fails the test. STORE stands for each
// location with a secret, of servers that are not there.
var secretLines = map[string][]string{
	"inspect":            {"inspect", "inspect app --by partition --lag-time", "inspect app --position-from STORE"},
	"resolve":            {"resolve orders --to latest", "resolve orders -g app --to store:STORE", "resolve orders -g app --to STORE"},
	"find":               {"find orders --count", "find orders --by day", "find orders -g app --from store:STORE --key k", "find orders --key k --out STORE", "find STORE --key k"},
	"history":            {"history app", "history --deleted", "history app --since store:STORE", "history app --until STORE"},
	"watch":              {"watch app --count 1 --plain --interval 100ms"},
	"check":              {"check app --max-lag 1000", "check app --max-lag 1"},
	"serve":              {"serve app --listen 127.0.0.1:0 --interval 1s", "serve app --listen STORE"},
	"reset":              {"reset app --to earliest --plan-out FRESH.json", "reset app --to 5 --topic orders --execute --impact", "reset app --to store:STORE --execute", "reset app --to STORE", "reset app --from-file STORE", "reset app --to earliest --plan-out STORE", "reset app --to earliest --export --confirm STORE --execute"},
	"apply":              {"apply plan.json", "apply plan.json --execute", "apply STORE"},
	"undo":               {"undo", "undo last --execute", "undo STORE", "undo --prune --execute"},
	"delete":             {"delete app --topic orders", "delete spare --topic orders --execute", "delete gone --execute", "delete app --topic STORE"},
	"repair":             {"repair app", "repair app --execute"},
	"keep":               {"keep app", "keep app --for STORE", "keep app --for 30d --execute"},
	"migrate export":     {"migrate export app", "migrate export app --out FRESH.jsonl", "migrate export --from store:STORE --group app", "migrate export app --to-store STORE", "migrate export app --to-store file:FRESH.store?create=true"},
	"migrate import":     {"migrate import export.jsonl --strategy same", "migrate import export.jsonl --map-group app=copy --strategy same --execute", "migrate import STORE", "migrate import export.jsonl --table STORE --strategy table"},
	"migrate sync":       {"migrate sync app --profile other --source-profile saved --rounds 1 --execute --yes", "migrate sync app --source-profile away --rounds 1"},
	"migrate verify":     {"migrate verify app --profile other --source-profile saved", "migrate verify app --source-profile away"},
	"split":              {"split orders --parts 2 --out FRESH.ranges", "split orders -g app --from store:STORE --parts 2", "split orders -g app --from STORE --parts 2"},
	"checkpoint list":    {"checkpoint list chk/job", "checkpoint list STORE"},
	"checkpoint show":    {"checkpoint show chk/job --against app", "checkpoint show STORE"},
	"checkpoint export":  {"checkpoint export chk/job", "checkpoint export STORE"},
	"checkpoint rewrite": {"checkpoint rewrite state/savepoints/savepoint-67840d-81ca0584ad87 --topic orders:0 --to 5 --out FRESH.chk --execute", "checkpoint rewrite state/savepoints/savepoint-67840d-81ca0584ad87 --topic orders:0 --to store:STORE --out FRESH.chk --execute"},
	"consume": {"consume orders -g reader --from earliest --until latest --auto-commit", "consume orders -g reader --from earliest --until latest --explain",
		"consume orders -g app --from store:STORE --until latest --explain", "consume orders -g app --from store:STORE --until latest", "consume orders -g app --from STORE --until latest --dry-run",
		"consume orders -g app --from earliest --until latest --checkpoint-dir FRESH.chk --offset-store STORE", "consume orders -g app --from earliest --until latest --checkpoint-dir FRESH.chk --offset-store STORE --explain"},
	"profile add":   {"profile add fresh -b 127.0.0.1:1 --no-test", "profile add STORE", "profile add saved"},
	"profile check": {"profile check saved", "profile check away", "profile check", "profile check STORE"},
	"profile list":  {"profile list"},
	"profile show":  {"profile show saved", "profile show away", "profile show"},
	"profile use":   {"profile use saved", "profile use STORE"},
	"sandbox":       {"sandbox"},
	"demo":          {"demo"},
	"completion":    {"completion bash", "completion STORE"},
	"version":       {"version"},
}

func secretStores() []string {
	return []string{
		"redis://:" + planted + "@127.0.0.1:1/0",
		"postgres://u:" + planted + "@127.0.0.1:1/db",
		"postgres://127.0.0.1:1/db?user=u&password=" + planted,
		"postgres://u@127.0.0.1:1/db?sslmode=require&sslpassword=" + planted,
		"mysql://u:" + planted + "@127.0.0.1:1/db",
		"mysql:u:" + planted + "@tcp(127.0.0.1:1)/db",
		"postgres:host=127.0.0.1 port=1 password=" + planted,
		"sqlite:x.db?password=" + planted,
	}
}

// leaves are the commands that do something, by their path.
func leaves(c *cobra.Command, path string) (out []string) {
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		name := strings.TrimSpace(path + " " + sub.Name())
		if sub.HasSubCommands() {
			out = append(out, leaves(sub, name)...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

func TestSecretLinesAreComplete(t *testing.T) {
	t.Parallel()
	tree := leaves(cmd.Root(cli.App{}), "")
	for _, name := range tree {
		if len(secretLines[name]) == 0 {
			t.Errorf("koffset %s has no line in secretLines: whether it shows a password is not tested", name)
		}
	}
	for name := range secretLines {
		if !slices.Contains(tree, name) {
			t.Errorf("secretLines has %s, which is no command", name)
		}
	}
}

// vault runs lines in one folder, and looks for the secret in all that comes of them.
type vault struct {
	t       *testing.T
	dir     string
	given   map[string]bool // files that hold the secret from the start
	environ []string
	n       int
}

func (v *vault) run(args []string) (code int, errs string) {
	v.t.Helper()
	v.n++
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FRESH", fmt.Sprintf("fresh%d", v.n))
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	var o, e bytes.Buffer
	out, errOut := io.Writer(&o), io.Writer(&e)
	if slices.Contains(args, "serve") || slices.Contains(args, "sandbox") {
		// They run until they are ended: when they have said something, which on a busy machine is late, and then nothing for
		// a second.
		quiet := time.AfterFunc(time.Minute, cancel)
		out, errOut = wakes{&o, quiet}, wakes{&e, quiet}
	}
	st := &render.Streams{In: strings.NewReader(""), Out: out, Err: errOut, Env: func(string) string { return "" }}
	code = cmd.Run(ctx, args, cli.App{Streams: st, Environ: append([]string{"USER=tester", "TERM=dumb"}, v.environ...), Dir: v.dir, Home: v.dir, Now: time.Now})
	v.clean("stdout of", args, o.String())
	v.clean("stderr of", args, e.String())
	return code, e.String()
}

// wakes sets a timer to a second with each write.
type wakes struct {
	io.Writer
	quiet *time.Timer
}

func (w wakes) Write(b []byte) (int, error) {
	w.quiet.Reset(time.Second)
	return w.Writer.Write(b)
}

func (v *vault) clean(what string, args []string, text string) {
	v.t.Helper()
	for _, form := range plantedForms {
		if at := strings.Index(text, form); at >= 0 {
			v.t.Errorf("%s %q has the secret: …%s…", what, args, text[max(0, at-120):min(len(text), at+60)])
			return
		}
	}
}

// files looks into everything that was written: plans, exports, the journal, the audit log, the state of a sync.
func (v *vault) files() (seen []string) {
	v.t.Helper()
	err := filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(v.dir, path)
		v.clean("the name", []string{name}, name)
		if d.IsDir() || v.given[name] {
			return nil
		}
		data, err := os.ReadFile(path)
		v.clean("the file", []string{name}, string(data))
		seen = append(seen, name)
		return err
	})
	if err != nil {
		v.t.Error(err)
	}
	return seen
}

func TestSecretsNeverLeave(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kfake.ClusterID("guarded"), kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", planted))
	other := kafkatest.Fake(t, kfake.ClusterID("other"), kfake.EnableSASL(), kfake.Superuser("PLAIN", "alice", planted))
	for _, c := range []*kfake.Cluster{other, c} {
		cl := kafkatest.Client(t, c.ListenAddrs(), kgo.SASL(plain.Auth{User: "alice", Pass: planted}.AsMechanism()))
		kafkatest.CreateTopic(t, cl, "orders", 1)
		kafkatest.CreateTopic(t, cl, history.Topic, 1)
		kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, 20, 1_710_072_000_000, 1000)...)
		for _, group := range []string{"app", "gone", "spare"} {
			kafkatest.Commit(t, cl, group, kafkatest.At("orders", 0, 6))
		}
	}
	broker := c.ListenAddrs()[0]

	v := &vault{t: t, dir: t.TempDir(), given: map[string]bool{}}
	write := func(name, text string) {
		path := filepath.Join(v.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v.given[name] = true
	}
	login := "    sasl: {mechanism: PLAIN, user: alice, password: " + planted + "}\n"
	config := "profiles:\n  saved:\n    brokers: [" + broker + "]\n" + login + "  other:\n    brokers: [" + other.ListenAddrs()[0] + "]\n" + login + "  away:\n    brokers: [\"127.0.0.1:1\"]\n    timeout: 300ms\n" + login
	write(".config/koffset/config.yaml", config)
	write("client.properties", "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"alice\" password=\""+planted+"\";\n")
	for _, args := range [][]string{
		{"--profile", "saved", "migrate", "export", "app", "--out", "export.jsonl"},
		{"--profile", "saved", "reset", "app", "--topic", "orders", "--to", "6", "--plan-out", "plan.json"},
	} {
		if code, errs := v.run(args); code != 0 {
			t.Fatalf("%v: status %d\n%s", args, code, errs)
		}
	}
	if _, err := checkpointfile.WriteCheckpoint(filepath.Join(v.dir, "chk", "job"), &checkpointfile.Header{ClusterID: "guarded", CreatedAt: time.Now(), Version: "test"},
		checkpointfile.Checkpoint{Job: "job", ID: 1, Mode: "AT_LEAST_ONCE", Isolation: "read_uncommitted", Topics: []checkpointfile.CheckpointTopic{{Name: "orders"}},
			Partitions: []checkpointfile.CheckpointPartition{{Topic: "orders", Offset: 6}}}); err != nil {
		t.Fatal(err)
	}

	if err := os.CopyFS(filepath.Join(v.dir, "state"), os.DirFS(filepath.Join("..", "checkpointfile", "flink", "testdata", "f120-hashmap"))); err != nil {
		t.Fatal(err)
	}

	logins := map[string][]string{
		"profile":  {"--profile", "saved"},
		"-X":       {"-b", broker, "-X", "sasl.mechanism=PLAIN", "-X", "sasl.user=alice", "-X", "sasl.password=" + planted},
		"java":     {"-b", broker, "--command-config", "client.properties"},
		"env":      {"-b", broker, "-X", "sasl.mechanism=PLAIN", "-X", "sasl.user=alice"},
		"not user": {"-b", broker, "-X", "sasl.mechanism=PLAIN", "-X", "sasl.user=bob", "-X", "sasl.password=" + planted, "--timeout", "300ms"},
		"away":     {"--profile", "away"},
	}
	v.environ = []string{"KOFFSET_SASL_PASSWORD=" + planted}
	for name, login := range logins {
		code, errs := v.run(append(slices.Clone(login), "inspect", "app"))
		if good := name != "not user" && name != "away"; good != (code == 0) {
			t.Errorf("login by %s: status %d\n%s", name, code, errs)
		}
	}
	v.environ = nil
	formats := [][]string{nil, {"-o", "json", "-v"}, {"-o", "jsonl"}, {"-o", "csv"}}
	for _, name := range slices.Sorted(maps.Keys(secretLines)) {
		done, failed := false, ""
		for _, line := range secretLines[name] {
			if !strings.Contains(line, "STORE") {
				for i, form := range formats {
					login := logins["profile"]
					if name == "profile add" {
						login = nil // it writes one, and takes none
					}
					code, errs := v.run(append(append(slices.Clone(login), strings.Fields(line)...), form...))
					done, failed = done || code < 2, failed+fmt.Sprintln(line, form, code, errs[max(0, len(errs)-300):])
					if i == 1 && name != "demo" {
						for _, login := range []string{"-X", "java", "not user", "away"} {
							v.run(append(append(slices.Clone(logins[login]), strings.Fields(line)...), form...))
						}
					}
				}
				continue
			}
			for i, url := range secretStores() {
				args := append(slices.Clone(logins["profile"]), "--timeout", "1s")
				for _, word := range strings.Fields(line) {
					args = append(args, strings.ReplaceAll(word, "STORE", url))
				}
				v.run(append(args, formats[i%2]...))
			}
		}
		if !done {
			t.Errorf("no line of koffset %s did its work:\n%s", name, failed)
		}
	}
	v.t.Log(v.n, "lines")
	seen := strings.Join(v.files(), "\n")
	for _, want := range []string{"audit", "journal", "plan.json", "export.jsonl", ".json", ".ranges", "sync"} {
		if !strings.Contains(seen, want) {
			t.Errorf("no file with %q was written, so that nothing was looked at; there are\n%s", want, seen)
		}
	}
}
