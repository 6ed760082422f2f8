package checkpointfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type thing struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

func header(kind Kind, version int) *Header {
	return &Header{Kind: kind, SchemaVersion: version, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC), Version: "1.0.0", ClusterID: "c-1"}
}

func TestEnvelopeRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	in := thing{Name: `<&> " ` + "\u00e9", N: 1<<62 + 1}
	h := header(KindPlan, 1)
	if err := Write(path, h, in); err != nil {
		t.Fatal(err)
	}
	var out thing
	got, err := Read(path, KindPlan, 1, &out)
	if err != nil {
		t.Fatal(err)
	}
	if out != in {
		t.Errorf("contents: got %+v, want %+v", out, in)
	}
	if got != *h {
		t.Errorf("header: got %+v, want %+v", got, *h)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", st.Mode().Perm())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want the one file", left, err)
	}
}

func TestIndentedKeepsTheDigest(t *testing.T) {
	h := header(KindPlan, 1)
	flat, err := Encode(h, thing{"a", 1})
	if err != nil {
		t.Fatal(err)
	}
	first := h.Digest
	h.CreatedAt = h.CreatedAt.Add(time.Hour)
	wide, err := Indented(h, thing{"a", 1})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(flat, wide) || !bytes.Contains(wide, []byte("\n    \"name\": \"a\"")) {
		t.Errorf("not indented: %s", wide)
	}
	if h.Digest != first {
		t.Errorf("digest %s, want %s: neither the time nor the indentation is part of it", h.Digest, first)
	}
	var out thing
	if _, err := Decode("x", wide, KindPlan, 1, &out); err != nil {
		t.Error(err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Encode(header(KindPlan, 1), thing{"orders", 42})
	if err != nil {
		t.Fatal(err)
	}
	newer, err := Encode(header(KindPlan, 9), thing{"orders", 42})
	if err != nil {
		t.Fatal(err)
	}
	zero, err := Encode(header(KindPlan, 0), thing{"orders", 42})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Encode(header(KindCheckpoint, 1), thing{"orders", 42})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		data  string
		cause error
		says  string
	}{
		{"another kind", string(other), ErrForeign, "this is a koffset-checkpoint, a koffset-plan was expected"},
		{"newer", string(newer), ErrNewer, "koffset-plan of version 9, written by koffset 1.0.0: this koffset reads up to version 1"},
		{"version zero", string(zero), ErrDamaged, "versions begin at 1"},
		{"a number changed", strings.Replace(string(good), `"n":42`, `"n":43`, 1), ErrDamaged, "changed after it was written"},
		{"the cluster changed", strings.Replace(string(good), "c-1", "c-2", 1), ErrDamaged, "changed after it was written"},
		{"cut off", string(good[:len(good)-10]), ErrDamaged, "cannot be read as JSON"},
		{"empty", " \n", ErrDamaged, "the file is empty"},
		{"csv", "orders,0,42\n", ErrForeign, "not a koffset file"},
		{"other json", `{"version":1,"partitions":[]}`, ErrForeign, "not a koffset file"},
		{"no contents", `{"kind":"koffset-plan","schema_version":1}`, ErrDamaged, "no contents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out thing
			_, err := Decode("p.json", []byte(c.data), KindPlan, 1, &out)
			var fe *FileError
			if !errors.As(err, &fe) || !errors.Is(err, c.cause) {
				t.Fatalf("got %v, want a FileError of %v", err, c.cause)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "p.json: ") {
				t.Errorf("got %q, want it to say %q", err, c.says)
			}
			if out != (thing{}) {
				t.Errorf("contents were filled: %+v", out)
			}
		})
	}
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "no.json"), KindPlan, 1, &thing{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no.json: no such file") {
		t.Errorf("got %v", err)
	}
}

func TestWriteAtomicKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "such", "folder.json")
	var fe *FileError
	if err := WriteAtomic(path, []byte("x")); !errors.As(err, &fe) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("got %v", err)
	}
	// A folder stands where the file should go: the rename fails after the write, and nothing is left over.
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteAtomic(taken, []byte("x")); !errors.As(err, &fe) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want only what was there", left, err)
	}
}

func FuzzDecode(f *testing.F) {
	good, err := Encode(header(KindPlan, 1), thing{"orders", 42})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"kind":"koffset-plan","schema_version":1,"contents":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out json.RawMessage
		h, err := Decode("f", data, KindPlan, 1, &out)
		if err != nil {
			return
		}
		again, err := Encode(&h, out)
		if err != nil {
			t.Fatal(err)
		}
		var back json.RawMessage
		if _, err := Decode("f", again, KindPlan, 1, &back); err != nil {
			t.Errorf("what was read cannot be written and read again: %v", err)
		}
	})
}
