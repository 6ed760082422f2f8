package cmd_test

// What is done again: a plan that was saved, an operation that is put back, a run that goes on, an export that is carried. They
// name no position, and are held to the same rule as the offsets that one names.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
)

// doneAgain is a command line about something that was written on cluster A before.
type doneAgain struct {
	name string
	args []string
	file string // what an editor would change
	// what status and texts there are where it is of the same log, of another cluster, of a topic that was made anew, and where
	// the file was edited
	same, other, anew, edited outcome
}

type outcome struct {
	code  int
	texts []string
}

func doneAgainCases() []doneAgain {
	quiet := outcome{0, nil}
	changed := func(code int, file string) outcome {
		return outcome{code, []string{file, "changed after it was written"}}
	}
	numbers := func(from string) [2]outcome {
		return [2]outcome{
			{3, []string{from, "has offsets of cluster cluster-A (20", "and this is cluster cluster-B: the same numbers are other records here", "hint: "}},
			{3, []string{from, "has offsets of orders (id ", " there, ", " here): deleted and created again since, so its numbers are other records now", "nothing was changed"}},
		}
	}
	imported := func(name, file string, untold bool) doneAgain {
		d := doneAgain{name: "import " + name, args: []string{"migrate", "import", file, "--group", "app", "--strategy", "same"}, file: file,
			same: quiet, edited: changed(2, file),
			other: outcome{3, []string{"is not proven: it may skip records", "nothing was compared"}},
			anew:  outcome{3, []string{"the topic was deleted and created again on this cluster"}}}
		if untold {
			d.same, d.anew, d.file = d.other, d.other, ""
		}
		return d
	}
	looked := func(texts ...string) outcome { return outcome{0, append(texts, "koffset: warning: ")} } // nothing is moved, and it is said
	plan, undo, restore := numbers("plan plan.json"), numbers("operation "), numbers("ck/run/chk-1")
	return []doneAgain{
		{"apply", []string{"apply", "plan.json", "--execute"}, "plan.json", quiet, plan[0], plan[1], changed(2, "plan.json")},
		{"undo", []string{"undo", "last", "--allow-drift", "--exact"}, "journal", quiet, undo[0], undo[1], outcome{3, []string{".jsonl", "changed after it was written"}}},
		{"consume --restore", append(restoredRun(), "--restore", "latest", "--dry-run"), "ck/run/chk-1/_metadata", quiet, restore[0], restore[1], changed(2, "ck/run/chk-1")},
		{"checkpoint show", []string{"checkpoint", "show", "ck/run", "--against", "app"}, "ck/run/chk-1/_metadata", quiet,
			looked("has offsets of cluster cluster-A", "and this is cluster cluster-B"), looked("has offsets of orders (id "), changed(2, "ck/run/chk-1")},
		imported("export", "bare.jsonl", false),
		imported("plan", "plan.json", false),
		imported("export of a checkpoint", "chk.jsonl", false),
		imported("export of a store", "stored.jsonl", false),
		imported("Kafka's CSV", "kafka.csv", true),
		imported("rpk", "rpk.txt", true),
		imported("kcl", "kcl.json", true),
	}
}

func restoredRun() []string {
	return []string{"consume", "orders", "-g", "app", "--from", "earliest", "--until", "latest", "--job-name", "run", "--checkpoint-dir", "ck", "--checkpoint-interval", "1h", "-q"}
}

func TestOriginsOfWhatIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	a, acl := originCluster(t, "cluster-A", 20)
	b, bcl := originCluster(t, "cluster-B", 40)
	w.must(a, append(restoredRun(), "--max-records", "6")...)
	kafkatest.Commit(t, acl, "app", kafkatest.At("orders", 0, 6))
	kafkatest.Commit(t, bcl, "app", kafkatest.At("orders", 0, 7))
	w.must(a, "migrate", "export", "app", "--no-fingerprint", "--out", "bare.jsonl")
	w.must(a, "migrate", "export", "app", "--to-store", "sqlite:store.db?create=true")
	w.must(a, "migrate", "export", "--from", "store:sqlite:store.db", "--no-fingerprint", "--out", "stored.jsonl")
	w.write("chk.jsonl", w.must(a, "checkpoint", "export", "ck/run"))
	w.lists()
	w.must(a, "reset", "app", "--topic", "orders", "--to-offset", "7", "--execute")
	w.must(a, "reset", "app", "--topic", "orders", "--to-offset", "6", "--plan-out", "plan.json")

	check := func(t *testing.T, brokers []string, d doneAgain, want outcome) {
		t.Helper()
		code, out, errs := w.run(brokers, d.args...)
		ok := code == want.code && (code != 0 || len(want.texts) > 0 || !strings.Contains(errs, "warning"))
		for _, text := range want.texts {
			ok = ok && strings.Contains(out+errs, text)
		}
		if !ok {
			t.Errorf("%v: status %d, want %d with %q\n%s%s", d.args, code, want.code, want.texts, out, errs)
		}
	}
	for _, d := range doneAgainCases() {
		t.Run(d.name+"/other cluster", func(t *testing.T) { check(t, b, d, d.other) })
		if d.file != "" {
			t.Run(d.name+"/edited", func(t *testing.T) {
				file := d.file
				if file == "journal" {
					file = w.newestOperation()
				}
				defer w.edit(file)()
				check(t, a, d, d.edited)
			})
		}
	}
	if got := kafkatest.Commits(t, bcl, "app")["orders"][0]; got.Offset != 7 {
		t.Errorf("on the other cluster the commit is %+v", got)
	}
	for _, d := range doneAgainCases() {
		t.Run(d.name+"/same", func(t *testing.T) { check(t, a, d, d.same) })
	}
	kafkatest.DeleteTopic(t, acl, "orders")
	createOrders(t, acl, 40)
	kafkatest.Commit(t, acl, "app", kafkatest.At("orders", 0, 7))
	for _, d := range doneAgainCases() {
		t.Run(d.name+"/made anew", func(t *testing.T) { check(t, a, d, d.anew) })
	}
	if got := kafkatest.Commits(t, acl, "app")["orders"][0]; got.Offset != 7 {
		t.Errorf("in the topic that was made anew the commit is %+v", got)
	}
}

// Files that an older koffset wrote carry neither topic ids nor a digest: they are read, and what cannot be compared is said,
// once, by every command that uses them.
func TestOriginsOfOlderFiles(t *testing.T) {
	t.Parallel()
	w := workbench{t, t.TempDir()}
	a, cl := originCluster(t, "cluster-A", 20)
	kafkatest.Commit(t, cl, "app", kafkatest.At("orders", 0, 6))
	w.must(a, "migrate", "export", "app", "--no-fingerprint", "--out", "new.jsonl")
	text := regexp.MustCompile(`"topic_id":"[^"]+",`).ReplaceAllString(w.read("new.jsonl"), "")
	w.write("old.jsonl", regexp.MustCompile(`,?"digest":"[^"]+"`).ReplaceAllString(text, ""))
	w.write("old.ranges", "# koffset ranges 1\n# cluster cluster-A\n1 orders:0=0:10\n2 orders:0=10:20\n")
	w.checkpoint()
	w.flink()
	const noID, noDigest = "has no topic id to compare for orders: whether it was deleted and created again since is not known", "was written by an older koffset, without a digest"
	lines := map[string][]string{}
	for name, args := range originUsers("file:old.jsonl") {
		lines["export, "+name] = args
	}
	lines["range file"] = []string{"consume", "--range-file", "old.ranges", "--part", "1", "--dry-run"}
	for name, args := range lines {
		if code, out, errs := w.run(a, args...); code != 0 || strings.Count(errs, noID) != 1 || strings.Count(errs, noDigest) != 1 {
			t.Errorf("%s: status %d\n%s%s", name, code, out, errs)
		}
	}
	for name, args := range originUsers("checkpoint:chk/job") {
		if code, out, errs := w.run(a, args...); code != 0 || strings.Count(errs, noID) != 1 {
			t.Errorf("checkpoint, %s: status %d\n%s%s", name, code, out, errs)
		}
	}
	// An import takes no number that nothing proves.
	if code, out, errs := w.run(a, "migrate", "import", "old.jsonl", "--strategy", "same"); code != 3 || !strings.Contains(out+errs, "no topic id tells") || strings.Count(errs, noDigest) != 1 {
		t.Errorf("import: status %d\n%s%s", code, out, errs)
	}
}

// newestOperation is the newest file of the journal.
func (w workbench) newestOperation() string {
	w.t.Helper()
	journal := filepath.Join(".local", "state", "koffset", "journal")
	names, err := os.ReadDir(filepath.Join(w.dir, journal)) // sorted, and named by time
	if err != nil || len(names) == 0 {
		w.t.Fatalf("the journal has %d files, %v", len(names), err)
	}
	return filepath.Join(journal, names[len(names)-1].Name())
}
