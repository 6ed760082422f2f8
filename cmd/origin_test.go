package cmd_test

// Every source of offsets, against every state of the cluster that they are used on, through every command that uses them. No
// cell is silent: what is not the same log is refused with both sides named, and what cannot be compared is said.

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/migrate"
)

// bench runs koffset in one folder.
type workbench struct {
	t   *testing.T
	dir string
}

func (w workbench) run(brokers []string, args ...string) (code int, out, errs string) {
	w.t.Helper()
	var o, e bytes.Buffer
	st := &render.Streams{In: strings.NewReader(""), Out: &o, Err: &e, Env: func(string) string { return "" }}
	code = cmd.Run(w.t.Context(), append([]string{"-b", strings.Join(brokers, ",")}, args...),
		cli.App{Streams: st, Environ: []string{"USER=tester", "TERM=dumb"}, Dir: w.dir, Home: w.dir, Now: time.Now})
	return code, o.String(), e.String()
}

func (w workbench) must(brokers []string, args ...string) string {
	w.t.Helper()
	code, out, errs := w.run(brokers, args...)
	if code != 0 {
		w.t.Fatalf("%v: status %d\n%s%s", args, code, out, errs)
	}
	return out
}

func (w workbench) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w workbench) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// flink puts the state of a Flink job into the folder flink.
func (w workbench) flink() {
	w.t.Helper()
	if err := os.CopyFS(filepath.Join(w.dir, "flink"), os.DirFS(filepath.Join("..", "checkpointfile", "flink", "testdata", "f120-hashmap"))); err != nil {
		w.t.Fatal(err)
	}
}

// lists writes the offset 6 as other tools do.
func (w workbench) lists() {
	w.t.Helper()
	w.write("kafka.csv", "orders,0,6\n")
	w.write("rpk.txt", "orders 0 6\n")
	w.write("kcl.json", `[{"topic":"orders","partition":0,"offset":6}]`)
}

// checkpoint writes a checkpoint of cluster A at the offset 6 to chk/job.
func (w workbench) checkpoint(topics ...checkpointfile.CheckpointTopic) {
	w.t.Helper()
	if _, err := checkpointfile.WriteCheckpoint(filepath.Join(w.dir, "chk", "job"), &checkpointfile.Header{ClusterID: "cluster-A", CreatedAt: time.Now(), Version: "test"},
		checkpointfile.Checkpoint{Job: "job", ID: 1, Mode: "AT_LEAST_ONCE", Isolation: "read_uncommitted", Topics: topics,
			Partitions: []checkpointfile.CheckpointPartition{{Topic: "orders", Offset: 6}}}); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes the first number in a file, as an editor would, and returns what puts it back.
func (w workbench) edit(file string) (back func()) {
	w.t.Helper()
	text := w.read(file)
	for _, x := range [][2]string{{`"offset":6`, `"offset":5`}, {`"offset": 6`, `"offset": 5`}, {"=0:", "=1:"}} {
		if strings.Contains(text, x[0]) {
			w.write(file, strings.Replace(text, x[0], x[1], 1))
			return func() { w.write(file, text) }
		}
	}
	w.t.Fatalf("%s holds nothing to edit:\n%s", file, text)
	return nil
}

// readExport reads the file of an export.
func readExport(t *testing.T, path string) *migrate.Export {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := migrate.ReadExport(path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// source is one form of offsets that were taken on cluster A.
type source struct {
	name string
	word string // the position
	file string // what an editor would change; empty where that is the way to use it
	// silent says that the source cannot tell where its offsets come from: it is taken, and that is said.
	untold bool
	// others says that it holds partitions that are not there, too: what carries all of it on is incomplete.
	others bool
}

func originSources() []source {
	return []source{
		{name: "export", word: "file:export.jsonl", file: "export.jsonl"},
		{name: "plan", word: "file:plan.json", file: "plan.json"},
		{name: "Kafka's CSV", word: "file:kafka.csv", untold: true},
		{name: "rpk", word: "file:rpk.txt", untold: true},
		{name: "kcl", word: "file:kcl.json", untold: true},
		{name: "checkpoint", word: "checkpoint:chk/job", file: "chk/job/chk-1/_metadata"},
		{name: "export of a checkpoint", word: "file:chk.jsonl", file: "chk.jsonl"},
		{name: "Flink savepoint", word: "checkpoint:flink/savepoints/savepoint-67840d-81ca0584ad87", untold: true, others: true},
		{name: "store in a file", word: "store:file:store.json", file: "store.json"},
		{name: "store in a database", word: "store:sqlite:store.db"},
	}
}

// originUsers are the command lines that use a position.
func originUsers(word string) map[string][]string {
	u := map[string][]string{
		"reset":   {"reset", "app", "--topic", "orders", "--to", word},
		"resolve": {"resolve", "orders", "-g", "app", "--to", word},
		"split":   {"split", "orders", "-g", "app", "--from", word, "--parts", "2"},
		"consume": {"consume", "orders", "-g", "app", "--from", word, "--until", "latest", "--dry-run"},
		"rewrite": {"checkpoint", "rewrite", "flink/savepoints/savepoint-67840d-81ca0584ad87", "--out", "new", "--topic", "orders:0", "--to", word},
	}
	if strings.HasPrefix(word, "store:") || strings.HasPrefix(word, "checkpoint:") {
		u["export"] = []string{"migrate", "export", "app", "--from", word}
	}
	if dir, ok := strings.CutPrefix(word, "checkpoint:"); ok {
		u["inspect"] = []string{"inspect", "app", "--by", "partition", "--position-from", dir}
	}
	return u
}

func originCluster(t *testing.T, id string, records int) ([]string, *kgo.Client) {
	c := kafkatest.Fake(t, kfake.ClusterID(id))
	cl := kafkatest.Client(t, c.ListenAddrs())
	createOrders(t, cl, records)
	return c.ListenAddrs(), cl
}

func createOrders(t *testing.T, cl *kgo.Client, records int) {
	kafkatest.CreateTopic(t, cl, "orders", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("orders", 0, records, 1_710_072_000_000, 1000)...)
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	a, acl := originCluster(t, "cluster-A", 20)
	b, bcl := originCluster(t, "cluster-B", 40)
	kafkatest.Commit(t, acl, "app", kafkatest.At("orders", 0, 6))
	kafkatest.Commit(t, bcl, "app", kafkatest.At("orders", 0, 3))

	w.must(a, "migrate", "export", "app", "--out", "export.jsonl")
	w.must(a, "reset", "app", "--topic", "orders", "--to-offset", "6", "--plan-out", "plan.json")
	w.lists()
	id := regexp.MustCompile(`"topic_id":"([^"]+)"`).FindStringSubmatch(w.read("export.jsonl"))[1]
	w.checkpoint(checkpointfile.CheckpointTopic{Name: "orders", ID: id})
	w.write("chk.jsonl", w.must(a, "checkpoint", "export", "chk/job"))
	w.must(a, "migrate", "export", "app", "--to-store", "file:store.json?create=true")
	w.must(a, "migrate", "export", "app", "--to-store", "sqlite:store.db?create=true")
	w.must(a, "split", "orders", "--parts", "2", "--out", "orders.ranges")
	w.flink()

	each := func(t *testing.T, brokers []string, s source, check func(t *testing.T, code int, out, errs string)) {
		for name, args := range originUsers(s.word) {
			code, out, errs := w.run(brokers, args...)
			if s.others && name == "export" && code == 4 {
				code = 0
			}
			check(t, code, out, errs)
			if t.Failed() {
				t.Logf("%s: %v\n%s%s", name, args, out, errs)
				return
			}
		}
	}
	said := func(errs string, words ...string) bool {
		for _, x := range words {
			if !strings.Contains(errs, x) {
				return false
			}
		}
		return true
	}
	refused := func(words ...string) func(*testing.T, int, string, string) {
		return func(t *testing.T, code int, _, errs string) {
			if code != 3 || !said(errs, append(words, "--allow-origin")...) {
				t.Errorf("status %d, want 3 with %q", code, words)
			}
		}
	}
	untold := func(t *testing.T, code int, _, errs string) {
		if code != 0 || strings.Count(errs, "does not say which cluster and topics") != 1 {
			t.Errorf("status %d, and it is to be said once that the origin is not known", code)
		}
	}
	for _, s := range originSources() {
		t.Run(s.name+"/same", func(t *testing.T) {
			each(t, a, s, func(t *testing.T, code int, _, errs string) {
				if s.untold {
					untold(t, code, "", errs)
				} else if code != 0 || strings.Contains(errs, "warning") {
					t.Errorf("status %d", code)
				}
			})
		})
		t.Run(s.name+"/other cluster", func(t *testing.T) {
			if s.untold {
				each(t, b, s, untold)
				return
			}
			each(t, b, s, refused("cluster-A", "cluster-B", "migrate import"))
			if code, out, errs := w.run(b, "reset", "app", "--topic", "orders", "--to", s.word, "--allow-origin", "other-cluster", "--execute"); code != 0 || !said(errs, "cluster-A") {
				t.Errorf("allowed, it has status %d\n%s%s", code, out, errs)
			}
			if got := kafkatest.Commits(t, bcl, "app")["orders"][0]; got.Offset != 6 || got.LeaderEpoch > 0 {
				t.Errorf("the commit is %+v", got)
			}
		})
		if s.file != "" {
			t.Run(s.name+"/edited", func(t *testing.T) {
				defer w.edit(s.file)()
				each(t, a, s, func(t *testing.T, code int, _, errs string) {
					// What contradicts itself is seen before the digest is.
					if changed := said(errs, "changed after it was written") || said(errs, "its offset is 5"); code == 0 || !changed || !said(errs, filepath.Base(s.file)) {
						t.Errorf("status %d, and the file is to be named", code)
					}
				})
			})
		}
	}
	ranges := []string{"consume", "--range-file", "orders.ranges", "--part", "1", "--dry-run"}
	t.Run("range file", func(t *testing.T) {
		if code, _, errs := w.run(a, ranges...); code != 0 {
			t.Errorf("same: status %d\n%s", code, errs)
		}
		code, _, errs := w.run(b, ranges...)
		refused("cluster-A", "cluster-B")(t, code, "", errs)
		defer w.edit("orders.ranges")()
		if code, _, errs := w.run(a, ranges...); code == 0 || !said(errs, "orders.ranges", "changed") {
			t.Errorf("edited: status %d\n%s", code, errs)
		}
	})
	// The topic is made anew, with more records: every number is a valid one, of another record.
	kafkatest.DeleteTopic(t, acl, "orders")
	createOrders(t, acl, 40)
	kafkatest.Commit(t, acl, "app", kafkatest.At("orders", 0, 3))
	for _, s := range originSources() {
		t.Run(s.name+"/made anew", func(t *testing.T) {
			if s.untold {
				each(t, a, s, untold)
				return
			}
			each(t, a, s, refused("orders (id ", "deleted and created again"))
		})
	}
	t.Run("range file/made anew", func(t *testing.T) {
		code, _, errs := w.run(a, ranges...)
		refused("orders (id ", "deleted and created again")(t, code, "", errs)
	})
}

// A commit of an open transaction is not final: another reader does not get it, unless that is asked for.
func TestOriginProvisional(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	brokers, cl := originCluster(t, "cluster-A", 20)
	kafkatest.Commit(t, cl, "other", kafkatest.At("orders", 0, 6))
	kafkatest.Commit(t, cl, "app", kafkatest.At("orders", 0, 3))
	settle := kafkatest.PendingCommit(t, cl, "txn", "other", kafkatest.At("orders", 0, 9))
	w.flink()
	for _, line := range []string{"reset app --to group:other --topic orders", "resolve orders --to group:other", "split orders --from group:other --parts 2",
		"consume orders --from group:other --until latest --dry-run", "consume orders --from orders:0=group:other --until latest --dry-run",
		"checkpoint rewrite flink/savepoints/savepoint-67840d-81ca0584ad87 --out new --topic orders:0 --to group:other"} {
		args := strings.Fields(line)
		if code, out, errs := w.run(brokers, args...); code != 3 || !strings.Contains(errs, "orders:0") || !strings.Contains(errs, "open transaction") {
			t.Errorf("%s: status %d\n%s%s", line, code, out, errs)
		}
		if code, out, errs := w.run(brokers, append(args, "--allow-origin", "provisional")...); code != 0 || !strings.Contains(errs, "open transaction") {
			t.Errorf("%s, allowed: status %d\n%s%s", line, code, out, errs)
		}
	}
	if code, _, _ := w.run(brokers, "migrate", "export", "other", "--out", "pending.jsonl"); code != 4 {
		t.Errorf("an export of a group with an open transaction has status %d", code)
	}
	if code, out, errs := w.run(brokers, "resolve", "orders", "--to", "file:pending.jsonl"); code != 3 || !strings.Contains(errs, "open transaction") {
		t.Errorf("from the export: status %d\n%s%s", code, out, errs)
	}
	// An import has no rule for what it may become: the row is unresolved, and never "without a commit".
	target, tcl := originCluster(t, "cluster-B", 20)
	for _, cluster := range [][]string{brokers, target} {
		line := []string{"migrate", "import", "pending.jsonl", "--map-group", "other=copy", "--execute", "--yes"}
		code, out, errs := w.run(cluster, line...)
		if code != 3 || !strings.Contains(out+errs, "a transaction that was open when the export was made") || !strings.Contains(errs, "1 unresolved") || strings.Contains(errs, "without a commit") {
			t.Errorf("import: status %d\n%s%s", code, out, errs)
		}
		if code, out, errs = w.run(cluster, append(line, "--skip-unresolved")...); !strings.Contains(errs, "1 partition left: unresolved") {
			t.Errorf("import, skipping: status %d\n%s%s", code, out, errs)
		}
	}
	for _, cl := range []*kgo.Client{cl, tcl} {
		if got := kafkatest.Commits(t, cl, "copy"); len(got) > 0 {
			t.Errorf("the import stored %+v", got)
		}
	}
	settle(true)
}

// onText calls do when the text is written for the first time.
type onText struct {
	bytes.Buffer
	text string
	do   func()
}

func (w *onText) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.do != nil && strings.Contains(w.String(), w.text) {
		do := w.do
		w.do = nil
		do()
	}
	return n, err
}

// What a source held before --wait-empty waited is not what it holds after.
func TestSourceIsReadAfterTheWait(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	brokers, cl := originCluster(t, "cluster-A", 20)
	kafkatest.Commit(t, cl, "other", kafkatest.At("orders", 0, 6))
	kafkatest.Commit(t, cl, "app", kafkatest.At("orders", 0, 3))
	settle := kafkatest.PendingCommit(t, cl, "txn", "app", kafkatest.At("orders", 0, 4))
	var out bytes.Buffer
	errs := &onText{text: "waiting: ", do: func() {
		kafkatest.Commit(t, cl, "other", kafkatest.At("orders", 0, 9))
		settle(false)
	}}
	st := &render.Streams{In: strings.NewReader(""), Out: &out, Err: errs, Env: func(string) string { return "" }}
	code := cmd.Run(t.Context(), []string{"-b", strings.Join(brokers, ","), "reset", "app", "--topic", "orders", "--to-group", "other", "--execute", "--wait-empty", "60s"},
		cli.App{Streams: st, Environ: []string{"USER=tester", "TERM=dumb"}, Dir: w.dir, Home: w.dir, Now: time.Now})
	if code != 0 || errs.do != nil {
		t.Fatalf("status %d, waited: %t\n%s%s", code, errs.do == nil, &out, errs)
	}
	if got := kafkatest.Commits(t, cl, "app")["orders"][0].Offset; got != 9 {
		t.Errorf("app stands at %d, and other stood at 9 when the wait was over\n%s", got, &out)
	}
}

// A file of several groups: those that are not used are named, and so is what it has where the group is not in it.
func TestSourceOfOtherGroups(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	brokers, cl := originCluster(t, "cluster-A", 20)
	for _, g := range []string{"app", "absent"} {
		kafkatest.Commit(t, cl, g, kafkatest.At("orders", 0, 3))
	}
	w.write("all.csv", "app,orders,0,6\nbilling,orders,0,7\naudit,orders,0,8\n")
	code, out, errs := w.run(brokers, "reset", "app", "--from-file", "all.csv")
	if code != 0 || !strings.Contains(errs, "also has offsets of 2 other groups, which are not used: audit, billing") {
		t.Errorf("status %d\n%s%s", code, out, errs)
	}
	code, out, errs = w.run(brokers, "reset", "absent", "--from-file", "all.csv")
	if code != 5 || !strings.Contains(errs, "has no offsets for it, only for app, audit, billing") || strings.Contains(errs, "no committed topic matches") || strings.Contains(errs, "which are not used") {
		t.Errorf("a group that is not in the file: status %d\n%s%s", code, out, errs)
	}
}

// The header of an export has the topics of all groups: a count of partitions that differs is seen for the last one too.
func TestExportOfStoreHasAllTopics(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	a, acl := originCluster(t, "cluster-A", 20)
	b, bcl := originCluster(t, "cluster-B", 20)
	kafkatest.CreateTopic(t, acl, "payments", 3)
	kafkatest.CreateTopic(t, bcl, "payments", 5)
	for _, cl := range []*kgo.Client{acl, bcl} {
		kafkatest.Produce(t, cl, kafkatest.Records("payments", 0, 20, 1_710_072_000_000, 1000)...)
	}
	kafkatest.Commit(t, acl, "app", kafkatest.At("orders", 0, 6))
	kafkatest.Commit(t, acl, "zeta", kafkatest.At("payments", 0, 7))
	w.must(a, "migrate", "export", "app", "zeta", "--to-store", "sqlite:store.db?create=true")
	head, _, _ := strings.Cut(w.must(a, "migrate", "export", "--from", "store:sqlite:store.db", "--out", "all.jsonl"), "\n")
	x := readExport(t, filepath.Join(w.dir, "all.jsonl"))
	counts := map[string]int32{}
	for _, topic := range x.Topics {
		counts[topic.Name] = int32(topic.Partitions)
	}
	if len(counts) != 2 || counts["orders"] != 1 || counts["payments"] != 3 {
		t.Errorf("the header has %v\n%s", counts, head)
	}
	code, out, errs := w.run(b, "migrate", "import", "all.jsonl")
	if code != 3 || !regexp.MustCompile(`payments.*3 partitions|3 partitions.*5`).MatchString(out+errs) {
		t.Errorf("3 partitions into 5: status %d\n%s%s", code, out, errs)
	}
}

// Editors and shells write a byte order mark, and end lines as Windows does: whichever command reads the file reads it alike.
func TestFilesAsEditorsSaveThem(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	brokers, cl := originCluster(t, "cluster-A", 20)
	kafkatest.Commit(t, cl, "app", kafkatest.At("orders", 0, 6))
	w.must(brokers, "migrate", "export", "app", "--out", "export.jsonl")
	w.must(brokers, "reset", "app", "--topic", "orders", "--to-offset", "9", "--plan-out", "plan.json")
	w.write("kafka.csv", "orders,0,9\n")
	for _, file := range []string{"export.jsonl", "plan.json", "kafka.csv"} {
		data, err := os.ReadFile(filepath.Join(w.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		w.write(file, "\ufeff"+strings.ReplaceAll(string(data), "\n", "\r\n"))
		lines := [][]string{{"reset", "app", "--from-file", file}, {"resolve", "orders", "--to", "file:" + file},
			{"migrate", "import", file, "--group", "app", "--strategy", "end-distance,same", "--allow-unproven"}}
		if file == "plan.json" {
			lines = append(lines, []string{"apply", file})
		}
		for _, args := range lines {
			if code, out, errs := w.run(brokers, args...); code != 0 {
				t.Errorf("%v: status %d\n%s%s", args, code, out, errs)
			}
		}
	}
}
