package flink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStateFiles(t *testing.T) {
	st := readerState("t", 5)
	data, offs := encStream(plainV6, st)
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "uuid"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	mapTo := func(old, dir string) Options { return Options{PathMap: []PathMapping{{old, dir}}} }
	for name, c := range map[string]struct {
		handle []byte
		beside bool // a file uuid is beside _metadata
		opts   Options
		says   []string // of the error; none: it is read
	}{
		"relative":            {relFile("uuid", len(data)), true, Options{}, nil},
		"relative, missing":   {relFile("uuid", len(data)), false, Options{}, []string{"uuid is missing", "not copied"}},
		"relative, out":       {relFile("../uuid", len(data)), true, Options{}, []string{"leads out"}},
		"absolute":            {inFile("file:"+elsewhere+"/uuid", len(data)), false, Options{}, nil},
		"absolute, //":        {inFile("file://"+elsewhere+"/uuid", len(data)), false, Options{}, nil},
		"absolute, bare":      {inFile(elsewhere+"/uuid", len(data)), false, Options{}, nil},
		"absolute, copied":    {inFile("file:/gone/uuid", len(data)), true, Options{}, nil},
		"absolute, missing":   {inFile("file:/gone/uuid", len(data)), false, Options{}, []string{"file:/gone/uuid is missing", "copy it to", "map file:/gone"}},
		"mapped":              {inFile("file:/gone/uuid", len(data)), false, mapTo("/gone", elsewhere), nil},
		"mapped file:":        {inFile("/gone/uuid", len(data)), false, mapTo("file:///gone/", elsewhere), nil},
		"mapped, not a part":  {inFile("file:/gone2/uuid", len(data)), false, mapTo("/gone", elsewhere), []string{"missing"}},
		"remote":              {inFile("s3://b/x/uuid", len(data)), false, Options{}, []string{"s3://b/x/uuid is not on this machine", "copy", "map s3://b/x"}},
		"remote, copied":      {inFile("gs://b/x/uuid", len(data)), true, Options{}, nil},
		"remote, mapped":      {inFile("s3://b/x/uuid", len(data)), false, mapTo("s3://b/x", elsewhere), nil},
		"hdfs":                {inFile("hdfs://nn:8020/x/uuid", len(data)), false, Options{}, []string{"not on this machine"}},
		"segment, missing":    {segment("file:/gone/uuid", 0, len(data)), false, Options{}, []string{"missing"}},
		"segment, copied":     {segment("file:/gone/uuid", 0, len(data)), true, Options{}, nil},
		"nonsense":            {inFile("..", len(data)), true, Options{}, []string{"not the name"}},
		"a directory":         {inFile("file:"+elsewhere, len(data)), false, Options{}, []string{"missing"}},
		"other size":          {relFile("uuid", len(data)+1), true, Options{}, []string{"bytes"}},
		"second mapping used": {inFile("file:/gone/uuid", len(data)), false, Options{PathMap: []PathMapping{{"/other", "/x"}, {"/gone", elsewhere}}}, nil},
	} {
		files := map[string][]byte{}
		if c.beside {
			files["uuid"] = data
		}
		dir := writeSnapshot(t, "chk-7", encMeta(6, encOp{id: 1, subs: []encSub{{op: opHandle([]encState{st}, offs, c.handle)}}}, source(2, "ok", 1)), files)
		s, err := Open(dir, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.says) == 0 {
			if rows(s) != "t:0@5 ok:0@1" {
				t.Errorf("%s: %s, %v", name, rows(s), s.OperatorErrors)
			}
			continue
		}
		if len(s.OperatorErrors) != 1 || rows(s) != "ok:0@1" {
			t.Errorf("%s: %s, %v", name, rows(s), s.OperatorErrors)
			continue
		}
		for _, say := range c.says {
			if e := s.OperatorErrors[0].Error(); !strings.Contains(e, say) {
				t.Errorf("%s: %q does not say %q", name, e, say)
			}
		}
	}
}

func TestOpenNames(t *testing.T) {
	root := t.TempDir()
	job := filepath.Join(root, strings.Repeat("0a", 16))
	whole := encMeta(4, source(1, "t", 5))
	for _, name := range []string{"chk-9", "chk-10"} {
		if err := os.MkdirAll(filepath.Join(job, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(job, name, MetadataName), whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(job, "chk-11"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Open(filepath.Join(job, "chk-11"), Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "unfinished") {
		t.Error(err)
	}
	if _, err = Open(job, Options{}); err == nil || !strings.Contains(err.Error(), "chk-10") {
		t.Error(err)
	}
	if _, err = Open("s3://bucket/x/chk-10", Options{}); err == nil || !strings.Contains(err.Error(), "copy _metadata") {
		t.Error(err)
	}
	if _, err = Open(filepath.Join(root, "nothing"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	s, err := Open(filepath.Join(job, "chk-9"), Options{})
	if err != nil || s.JobID != strings.Repeat("0a", 16) || s.Path != filepath.Join(job, "chk-9") || s.Kind != Checkpoint {
		t.Errorf("%+v %v", s, err)
	}
}

func TestList(t *testing.T) {
	root := t.TempDir()
	job := filepath.Join(root, strings.Repeat("0a", 16))
	for _, name := range []string{"chk-9", "chk-10", "chk-100", "shared", "taskowned", "chk-x"} {
		if err := os.MkdirAll(filepath.Join(job, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "chk-9" || name == "chk-10" {
			if err := os.WriteFile(filepath.Join(job, name, MetadataName), encMeta(4, source(1, "t", 5)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{job, root, "file:" + job} {
		list, err := List(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		var complete []bool
		for _, e := range list {
			got, complete = append(got, e.Number), append(complete, e.Complete)
			if e.JobID != strings.Repeat("0a", 16) || e.Kind != Checkpoint || e.Written.IsZero() || e.Complete != (e.Size > 0) {
				t.Errorf("%+v", e)
			}
		}
		if !slices.Equal(got, []int64{100, 10, 9}) || !slices.Equal(complete, []bool{false, true, true}) {
			t.Errorf("%v %v", got, complete)
		}
	}
	list, err := List("testdata/f22-hashmap/savepoints")
	if err != nil || len(list) != 2 || list[0].Number != 9 || list[1].Number != 8 || list[0].JobID != "5a15ac" || list[0].Kind != Savepoint {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := List(filepath.Join(root, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
