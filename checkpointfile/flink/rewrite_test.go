package flink

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree reads all files below dir.
func tree(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		out[rel], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everyPartition asks every partition that has a position to stand somewhere else.
func everyPartition(s *Snapshot) []Change {
	var out []Change
	for _, src := range s.Sources {
		for _, p := range src.Partitions {
			if len(p.Spans) > 0 {
				out = append(out, Change{src.OperatorID, p.Cluster, p.Topic, p.Partition, 1<<40 + int64(len(out))})
			}
		}
	}
	return out
}

// onlyInside fails where old and changed differ outside the given spans.
func onlyInside(t *testing.T, name string, old, changed []byte, spans []Span) {
	t.Helper()
	if len(old) != len(changed) {
		t.Errorf("%s: %d bytes became %d", name, len(old), len(changed))
		return
	}
	for i := range old {
		if old[i] == changed[i] {
			continue
		}
		if !slices.ContainsFunc(spans, func(s Span) bool {
			n := int64(8)
			if s.In == InChunk {
				n = 4 + int64(old[s.Pos+1]) + int64(old[s.Pos+2])<<8 + int64(old[s.Pos+3])<<16
			}
			return int64(i) >= s.Pos && int64(i) < s.Pos+n
		}) {
			t.Errorf("%s: byte %d changed, and no position lies there", name, i)
			return
		}
	}
}

func TestRewriteReal(t *testing.T) {
	for _, r := range realSnapshots(t) {
		t.Run(strings.TrimPrefix(r.dir, "testdata/"), func(t *testing.T) {
			before := tree(t, r.dir)
			s, err := Open(r.dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			changes := everyPartition(s)
			rw, err := PlanRewrite(s, changes)
			if err != nil {
				t.Fatal(err)
			}
			if len(rw.Rows) != len(r.want) {
				t.Errorf("%d rows for %d partitions", len(rw.Rows), len(r.want))
			}
			to := filepath.Join(t.TempDir(), "new")
			w, err := rw.Write(to, WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(w.Diff, rw.Rows, func(a, b RewriteRow) bool { return a.String() == b.String() }) || len(w.Diff) == 0 {
				t.Errorf("the diff is %v, planned was %v", w.Diff, rw.Rows)
			}
			if !maps.EqualFunc(before, tree(t, r.dir), bytes.Equal) {
				t.Error("the original changed")
			}
			after := tree(t, to)
			if got, want := slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)); !slices.Equal(got, want) {
				t.Errorf("files %v, want %v", got, want)
			}
			if len(rw.Inlined) == 0 {
				spans := map[string][]Span{}
				for _, src := range s.Sources {
					for _, p := range src.Partitions {
						for _, sp := range p.Spans {
							spans[filepath.Base(sp.File)] = append(spans[filepath.Base(sp.File)], sp)
						}
					}
				}
				// The offsets asked for are long numbers, so a chunk that Flink 1.18 did compress gets longer here; then
				// _metadata changes in positions and a size, too.
				longer := false
				for name, b := range before {
					longer = longer || len(b) != len(after[name])
				}
				if longer && r.set != "f118-compressed" {
					t.Error("a file became longer")
				}
				for name, b := range before {
					if !longer {
						onlyInside(t, name, b, after[name], spans[name])
					}
				}
			}
			// A plain Open of the copy, away from its origin, sees the new numbers.
			again, err := Open(to, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				_, p, err := again.find(c)
				if err != nil || p.Next == nil || *p.Next != c.NewNext {
					t.Errorf("%v: %v %v", c, p, err)
				}
			}
		})
	}
}

// TestRewriteOne moves one partition and holds the others still, and moves it back to the byte.
func TestRewriteOne(t *testing.T) {
	for _, set := range []string{"f110/sp", "f113/sp-canon", "f118-compressed/sp-native", "f120-compressed/savepoints", "f120-files/savepoints", "f22-rocksdb/savepoints"} {
		dirs, _ := filepath.Glob("testdata/" + set + "/savepoint-*")
		for _, dir := range dirs {
			s, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			src := s.Sources[0]
			p := src.Partitions[slices.IndexFunc(src.Partitions, func(p Partition) bool { return p.Next != nil && *p.Next > 0 })]
			change := Change{Source: src.OperatorID, Topic: p.Topic, Partition: p.Partition, NewNext: 3}
			there := rewritten(t, s, change)
			before, after := gotRows(s), gotRows(there)
			differ := 0
			for i := range before {
				if before[i] != after[i] {
					differ++
				}
			}
			if differ != 1 {
				t.Errorf("%s: %d rows moved", dir, differ)
			}
			change.NewNext = *p.Next
			back := rewritten(t, there, change)
			if !maps.EqualFunc(tree(t, dir), tree(t, back.Path), bytes.Equal) {
				t.Errorf("%s: there and back is not the same", dir)
			}
		}
	}
}

func rewritten(t testing.TB, s *Snapshot, changes ...Change) *Snapshot {
	t.Helper()
	rw, err := PlanRewrite(s, changes)
	if err != nil {
		t.Fatal(err)
	}
	w, err := rw.Write(filepath.Join(t.TempDir(), "new"), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w.Snapshot
}

// TestRewriteSelfContained copies what an incremental and a file-merging checkpoint share, and then takes the job
// directory away.
func TestRewriteSelfContained(t *testing.T) {
	for _, set := range []string{"f22-keyed-rocks", "f22-merging", "f22-rocksdb"} {
		t.Run(set, func(t *testing.T) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS("testdata/"+set)); err != nil {
				t.Fatal(err)
			}
			dirs, _ := filepath.Glob(root + "/c*/*/chk-*")
			s, err := Open(dirs[0], Options{})
			if err != nil {
				t.Fatal(err)
			}
			rw, err := PlanRewrite(s, everyPartition(s)[:1])
			if err != nil {
				t.Fatal(err)
			}
			if len(rw.Shared) == 0 {
				t.Fatal("nothing is shared")
			}
			to := filepath.Join(t.TempDir(), "new")
			w, err := rw.Write(to, WriteOptions{SelfContained: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Shared) != 0 || len(w.Copied) < len(rw.Shared) {
				t.Errorf("shared %v, copied %v", w.Shared, w.Copied)
			}
			if err := os.RemoveAll(root); err != nil {
				t.Fatal(err)
			}
			again, err := Open(to, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(again.OperatorErrors) > 0 || len(gotRows(again)) != len(gotRows(s)) {
				t.Errorf("errors %v", again.OperatorErrors)
			}
			if slices.ContainsFunc(again.Warnings, func(w Warning) bool { return w.Code == WarnStateOutside }) {
				t.Error("the copy still names files outside")
			}
			// Every file that the copy names is there, with the size it names.
			if _, err := PlanRewrite(again, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRewriteRefusals(t *testing.T) {
	s, err := Open("testdata/f22-hashmap/savepoints/savepoint-5a15ac-77a763fb6f67", Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := s.Sources[0].OperatorID
	for want, c := range map[string][]Change{
		"no Kafka source of this id": {{Source: strings.Repeat("0", 32), Topic: "orders"}},
		"does not hold":              {{Source: id, Topic: "orders", Partition: 99}},
		"negative":                   {{Source: id, Topic: "orders", NewNext: -2}},
		"changed twice":              {{Source: id, Topic: "orders", NewNext: 2}, {Source: id, Topic: "orders", NewNext: 3}},
	} {
		_, err := PlanRewrite(s, c)
		var ce *ChangeError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	rw, err := PlanRewrite(s, []Change{{Source: id, Topic: "orders", NewNext: 2}})
	if err != nil {
		t.Fatal(err)
	}
	exists := t.TempDir()
	if _, err := rw.Write(exists, WriteOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing directory: %v", err)
	}
	if _, err := rw.Write(filepath.Join(s.Path, "new"), WriteOptions{}); err == nil || !strings.Contains(err.Error(), "inside the snapshot") {
		t.Errorf("inside the original: %v", err)
	}
	parsed, err := Parse(bytes.NewReader(tree(t, s.Path)[MetadataName]), s.size, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlanRewrite(parsed, nil); err == nil {
		t.Error("a snapshot without a directory was copied")
	}
}

// TestRewriteNoticesChange writes a plan whose original changed meanwhile, or lost a file.
func TestRewriteNoticesChange(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "savepoint-a1ce74-0f0e8c60f916")
	if err := os.CopyFS(dir, os.DirFS("testdata/f120-files/savepoints/savepoint-a1ce74-0f0e8c60f916")); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	change := everyPartition(s)[0]
	rw, err := PlanRewrite(s, []Change{change})
	if err != nil {
		t.Fatal(err)
	}
	_, p, _ := s.find(change)
	b, _ := os.ReadFile(p.Spans[0].File)
	b[p.Spans[0].Pos+7]++
	if err := os.WriteFile(p.Spans[0].File, b, 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(root, "new")
	if _, err := rw.Write(to, WriteOptions{}); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("written over a change: %v", err)
	}
	if left, _ := filepath.Glob(root + "/*new*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob(root + "/.new*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// A keyed state file that is missing would make a copy that no job restores.
	for name := range tree(t, dir) {
		if name != MetadataName && filepath.Join(dir, name) != p.Spans[0].File {
			os.Remove(filepath.Join(dir, name))
			break
		}
	}
	var missing *MissingFileError
	if _, err := PlanRewrite(s, []Change{change}); !errors.As(err, &missing) {
		t.Errorf("a missing state file: %v", err)
	}
}
