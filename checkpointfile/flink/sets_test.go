package flink

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The real snapshots in testdata, each against what Flink's own loader reads from it.

// expectedRow is one line of a set's expected.tsv.
type expectedRow struct {
	operator, subtask, topic, partition, stored, stopping string
}

func (r expectedRow) String() string {
	return strings.Join([]string{r.operator, r.subtask, r.topic, r.partition, r.stored, r.stopping}, " ")
}

// real is one snapshot of testdata.
type real struct {
	set, dir string
	id       string
	want     []expectedRow
}

// realSnapshots reads every expected.tsv and finds the directories that it speaks of.
func realSnapshots(t testing.TB) []real {
	t.Helper()
	sets, err := filepath.Glob("testdata/*/expected.tsv")
	if err != nil || len(sets) < 15 {
		t.Fatalf("%d sets in testdata: %v", len(sets), err)
	}
	var out []real
	for _, tsv := range sets {
		set := filepath.Dir(tsv)
		dirs := map[string]string{}
		err := filepath.WalkDir(set, func(p string, d fs.DirEntry, err error) error {
			if d != nil && d.Name() == MetadataName {
				dirs[filepath.Base(filepath.Dir(p))] = filepath.Dir(p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(tsv)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		found := 0
		for sc := bufio.NewScanner(f); sc.Scan(); {
			line := sc.Text()
			if head, ok := strings.CutPrefix(line, "# "); ok {
				if name, id, ok := strings.Cut(head, " checkpoint "); ok && dirs[name] != "" {
					out = append(out, real{set: filepath.Base(set), dir: dirs[name], id: id})
					found++
				}
				continue
			}
			c := strings.Split(line, "\t")
			if len(c) != 6 {
				t.Fatalf("%s: %q", tsv, line)
			}
			r := &out[len(out)-1]
			r.want = append(r.want, expectedRow{c[0], c[1], c[2], c[3], c[4], c[5]})
		}
		if found != len(dirs) {
			t.Fatalf("%s speaks of %d snapshots, and there are %d", tsv, found, len(dirs))
		}
	}
	return out
}

// gotRows are the rows that readers hold, as expected.tsv writes them.
func gotRows(s *Snapshot) []string {
	var out []string
	for _, src := range s.Sources {
		for _, p := range src.Partitions {
			if p.Subtask == nil {
				continue
			}
			stop := "-"
			if p.Stopping != nil {
				stop = fmt.Sprint(*p.Stopping)
			}
			out = append(out, expectedRow{src.OperatorID, fmt.Sprint(*p.Subtask), p.Topic, fmt.Sprint(p.Partition),
				fmt.Sprint(*p.Stored), stop}.String())
		}
	}
	slices.Sort(out)
	return out
}

func (r real) check(t *testing.T, s *Snapshot) {
	t.Helper()
	var want []string
	for _, w := range r.want {
		want = append(want, w.String())
	}
	slices.Sort(want)
	if got := gotRows(s); !slices.Equal(got, want) {
		t.Errorf("%s: rows\n%s\nwant\n%s", r.dir, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(s.CheckpointID) != r.id {
		t.Errorf("%s: checkpoint %d, want %s", r.dir, s.CheckpointID, r.id)
	}
	if len(s.OperatorErrors) > 0 {
		t.Errorf("%s: %v", r.dir, s.OperatorErrors[0].Error())
	}
	for _, src := range s.Sources {
		for _, p := range src.Partitions {
			checkMeaning(t, src.Kind, p)
		}
	}
}

// checkMeaning holds a row's next offset and marker against its stored number.
func checkMeaning(t *testing.T, kind Kind, p Partition) {
	t.Helper()
	if p.Stored == nil {
		if p.Next != nil || p.Marker != "" {
			t.Errorf("%s/%d: a position without a stored number", p.Topic, p.Partition)
		}
		return
	}
	want := *p.Stored
	if kind == FlinkKafkaConsumer {
		want++
	}
	switch {
	case want >= 0:
		if p.Next == nil || *p.Next != want || p.Marker != "" {
			t.Errorf("%s/%d: stored %d is shown as %v %q", p.Topic, p.Partition, *p.Stored, p.Next, p.Marker)
		}
	case p.Next != nil:
		t.Errorf("%s/%d: marker %d is shown as offset %d", p.Topic, p.Partition, *p.Stored, *p.Next)
	case p.Marker != map[int64]Marker{-1: Latest, -2: Earliest, -3: Committed, noOffset: ""}[*p.Stored]:
		t.Errorf("%s/%d: marker %d is shown as %q", p.Topic, p.Partition, *p.Stored, p.Marker)
	}
}

func TestRealSnapshots(t *testing.T) {
	for _, r := range realSnapshots(t) {
		t.Run(strings.TrimPrefix(r.dir, "testdata/"), func(t *testing.T) {
			s, err := Open(r.dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, s)
			savepoint := strings.Contains(r.dir, "savepoint-")
			if savepoint != (s.Kind == Savepoint) || !savepoint != (s.Kind == Checkpoint) {
				t.Errorf("kind %s", s.Kind)
			}
			if savepoint && s.MetadataVersion >= 4 && s.Format == UnknownFormat || !savepoint && s.Format != "" {
				t.Errorf("format %q of a %s", s.Format, s.Kind)
			}
			if strings.Contains(r.dir, "canon") && s.Format == Native || strings.Contains(r.dir, "native") && s.Format == Canonical {
				t.Errorf("format %s", s.Format)
			}
			if want := map[bool]int{false: 32, true: 6}[savepoint]; len(s.JobID) != want {
				t.Errorf("job %q", s.JobID)
			}
		})
	}
}

// TestRealSnapshotsMoved copies each set elsewhere: a moved job directory, and a single snapshot directory, read the same.
func TestRealSnapshotsMoved(t *testing.T) {
	for _, r := range realSnapshots(t) {
		t.Run(strings.TrimPrefix(r.dir, "testdata/"), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "elsewhere")
			merged := r.set == "f22-merging" && strings.Contains(r.dir, "chk-")
			from := r.dir
			if merged {
				// Its state is in the job directory's taskowned folder.
				from = filepath.Dir(r.dir)
			}
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			if merged {
				dir = filepath.Join(dir, filepath.Base(r.dir))
			}
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, s)
			s, err = Open("file:"+filepath.Join(dir, MetadataName), Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, s)
		})
	}
}

// TestRealDetails pins what the sets hold besides rows.
func TestRealDetails(t *testing.T) {
	type detail struct {
		version  int
		kinds    []Kind
		warnings []WarningCode
		inFlight bool
	}
	got := map[string]detail{}
	for _, r := range realSnapshots(t) {
		s, err := Open(r.dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := detail{version: s.MetadataVersion, inFlight: s.InFlight}
		for _, src := range s.Sources {
			d.kinds = append(d.kinds, src.Kind)
		}
		for _, w := range s.Warnings {
			d.warnings = append(d.warnings, w.Code)
		}
		got[strings.TrimPrefix(r.dir, "testdata/")] = d
	}
	keys := slices.Sorted(maps.Keys(got))
	var b strings.Builder
	for _, k := range keys {
		d := got[k]
		fmt.Fprintf(&b, "%s v%d %v %v in-flight=%v\n", k, d.version, d.kinds, d.warnings, d.inFlight)
	}
	golden, err := os.ReadFile("testdata/details.golden")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(golden) {
		t.Errorf("details:\n%s\nwant\n%s", b.String(), golden)
	}
}
