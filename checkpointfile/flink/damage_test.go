package flink

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Files that are cut, flipped, or lie.

// filesOf reads a snapshot's directory, and the job's shared files, for parseBytes.
func filesOf(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, b := range tree(t, dir) {
		out[name] = b
	}
	if strings.Contains(dir, "chk-") {
		for name, b := range tree(t, filepath.Dir(dir)) {
			out[filepath.Base(name)] = b
		}
		out[MetadataName] = tree(t, dir)[MetadataName]
	}
	return out
}

func parseFiles(files map[string][]byte, meta []byte) (*Snapshot, error) {
	return Parse(bytes.NewReader(meta), int64(len(meta)), func(path string, _ bool) (*StateFile, error) {
		b, ok := files[filepath.Base(path)]
		if !ok {
			return nil, &MissingFileError{Path: path, Tried: []string{path}}
		}
		return &StateFile{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: path}, nil
	})
}

// TestCutEverywhere cuts _metadata of every real snapshot at every byte: an error, and nothing else.
func TestCutEverywhere(t *testing.T) {
	for _, r := range realSnapshots(t) {
		files := filesOf(t, r.dir)
		meta := files[MetadataName]
		if s, err := parseFiles(files, meta); err != nil || len(s.OperatorErrors) > 0 {
			t.Fatalf("%s: %v", r.dir, err)
		}
		for n := range meta {
			s, err := parseFiles(files, meta[:n])
			if err == nil || s != nil {
				t.Fatalf("%s: cut at %d of %d bytes, and read", r.dir, n, len(meta))
			}
			if n >= 8 && !errors.Is(err, ErrTruncated) {
				t.Fatalf("%s: cut at %d of %d bytes: %v", r.dir, n, len(meta), err)
			}
		}
	}
}

// TestCutStateFiles cuts every state file at every byte. Where it is a source's, the source is an error and the others
// are shown; where it is another operator's, nothing changes, as it is not read.
func TestCutStateFiles(t *testing.T) {
	cuts := 0
	for _, r := range realSnapshots(t) {
		files := filesOf(t, r.dir)
		whole, err := parseFiles(files, files[MetadataName])
		if err != nil {
			t.Fatal(err)
		}
		all := gotRows(whole)
		holder := map[string]string{} // source by state file
		end := map[string]int64{}     // up to where its positions are needed
		for _, src := range whole.Sources {
			for _, p := range src.Partitions {
				for _, sp := range p.Spans {
					if name := filepath.Base(sp.File); name != MetadataName {
						holder[name] = src.OperatorID
						end[name] = max(end[name], sp.Pos+8)
					}
				}
			}
		}
		for name, b := range files {
			if name == MetadataName || len(b) > 4000 && holder[name] == "" {
				continue
			}
			for n := 0; n < len(b); n += 1 + len(b)/400 {
				files[name] = b[:n]
				s, err := parseFiles(files, files[MetadataName])
				if err != nil {
					t.Fatal(err)
				}
				cuts++
				got := gotRows(s)
				switch {
				case holder[name] == "":
					if !slices.Equal(got, all) {
						t.Fatalf("%s: rows changed with a file that is not a source's", name)
					}
				case len(s.OperatorErrors) == 0:
					// A file of merged segments may lose what is behind the sources' own.
					if int64(n) < end[name] || r.set != "f22-merging" {
						t.Fatalf("%s: %s cut at %d of %d bytes, and read", r.dir, name, n, len(b))
					}
				default:
					others := slices.DeleteFunc(slices.Clone(all), func(row string) bool {
						return slices.ContainsFunc(s.OperatorErrors, func(e OperatorError) bool { return strings.HasPrefix(row, e.OperatorID) })
					})
					if !slices.Equal(got, others) || slices.ContainsFunc(s.OperatorErrors, func(e OperatorError) bool {
						return !strings.Contains(e.Error(), name)
					}) {
						t.Fatalf("%s: %s cut at %d: rows %v, errors %v", r.dir, name, n, got, s.OperatorErrors)
					}
				}
			}
			files[name] = b
		}
	}
	if cuts < 5000 {
		t.Errorf("only %d cuts", cuts)
	}
}

// TestBitFlips flips bits all over: no panic, and no position that is neither an offset nor a marker.
func TestBitFlips(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, r := range realSnapshots(t) {
		files := filesOf(t, r.dir)
		for range 400 {
			for name, b := range files {
				if len(b) == 0 || len(files) > 3 && rnd.IntN(3) > 0 {
					continue
				}
				b = bytes.Clone(b)
				b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
				damaged := files
				meta := files[MetadataName]
				if name == MetadataName {
					meta = b
				} else {
					damaged = map[string][]byte{}
					for k, v := range files {
						damaged[k] = v
					}
					damaged[name] = b
				}
				s, err := parseFiles(damaged, meta)
				if err != nil {
					continue
				}
				for _, src := range s.Sources {
					for _, p := range src.Partitions {
						if p.Next != nil && *p.Next < 0 || p.Partition < 0 || !validTopic([]byte(p.Topic)) {
							t.Fatalf("%s: a flip in %s gave %+v", r.dir, name, p)
						}
					}
				}
			}
		}
	}
}

// sparse is a file of zeros behind some bytes, for lies about large sizes that cost no memory to write.
type sparse struct {
	head []byte
	size int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	if off >= s.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), s.size-off))
	clear(p[:n])
	if off < int64(len(s.head)) {
		copy(p[:n], s.head[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return b.TotalAlloc - a.TotalAlloc
}

// TestLies gives counts and lengths that the file does not hold, and such as a large file of zeros could hold.
func TestLies(t *testing.T) {
	const big = 0x7FFFFFFF
	head := cat(i32(headerMagic), i32(6), i64(1), i32(0))
	op := func(parts ...[]byte) []byte {
		return cat(head, i32(1), utf("name"), utf(""), bytes.Repeat([]byte{1}, 16), i32(1), i32(1), cat(parts...))
	}
	sub := cat([]byte{0}, i32(1), i32(0))
	lies := map[string][]byte{
		"masters":        cat(i32(headerMagic), i32(6), i64(1), i32(big)),
		"master bytes":   cat(i32(headerMagic), i32(6), i64(1), i32(1), i32(-0x3694E96A), i32(big)),
		"operators":      cat(head, i32(big)),
		"coordinator":    op([]byte{1}, utf("x"), i32(big)),
		"subtasks":       op([]byte{0}, i32(big)),
		"states":         op(sub, i32(1), []byte{4}, i32(big)),
		"offsets":        op(sub, i32(1), []byte{4}, i32(1), utf(readerStateName), []byte{0}, i32(big)),
		"key groups":     op(sub, i32(0), i32(0), []byte{3}, i32(0), i32(big)),
		"inline":         op(sub, i32(0), i32(0), []byte{3}, i32(0), i32(0), []byte{1}, utf("x"), i32(big)),
		"changelog":      op(sub, i32(0), i32(0), []byte{8}, i32(0), i32(0), i64(0), i32(big)),
		"shared":         op(sub, i32(0), i32(0), []byte{5}, i64(0), utf(""), i32(0), i32(0), []byte{0}, i32(big)),
		"channels":       op(sub, i32(0), i32(0), []byte{0, 0}, i32(big)),
		"kafka elements": op(sub, i32(1), []byte{4}, i32(1), utf(readerStateName), []byte{0}, i32(big/16)),
	}
	for name, b := range lies {
		for _, size := range []int64{int64(len(b)), int64(len(b)) + 64<<20} {
			var err error
			var s *Snapshot
			got := allocated(func() { s, err = Parse(sparse{b, size}, size, nil) })
			if err == nil || s != nil {
				t.Errorf("%s, %d bytes: no error", name, size)
			}
			if got > 1<<20 {
				t.Errorf("%s, %d bytes: %d bytes were allocated", name, size, got)
			}
		}
	}
	// The same reader with a file that tells the truth.
	whole := encMeta(6, source(1, "t", 5))
	if s, err := Parse(sparse{whole, int64(len(whole))}, int64(len(whole)), nil); err != nil || rows(s) != "t:0@5" {
		t.Error(err)
	}
	// Lies inside an operator's own state, where the body is whole.
	st := readerState("t", 1)
	data, offs := encStream(plainV6, st)
	huge := bytes.Clone(data)
	copy(huge[offs[0][0]:], i32(big))
	for name, e := range map[string]encOp{
		"element":    {id: 1, subs: []encSub{{op: opHandle([]encState{st}, offs, inline(huge))}}},
		"file":       {id: 1, subs: []encSub{{op: opHandle([]encState{st}, offs, relFile("f", big))}}},
		"segment":    {id: 1, subs: []encSub{{op: opHandle([]encState{st}, offs, segment("f", big, big))}}},
		"enumerator": {id: 1, coord: coordinator(1, i32(big)), subs: []encSub{{op: opHandle([]encState{st}, offs, inline(data))}}},
	} {
		b := encMeta(6, e)
		var s *Snapshot
		var err error
		got := allocated(func() { s, err = parseBytes(b, map[string][]byte{"f": data}) })
		if err != nil || len(s.OperatorErrors) != 1 {
			t.Errorf("%s: %v %v", name, s, err)
		}
		if got > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", name, got)
		}
	}
}

// FuzzParse feeds anything to the parser. Its seeds are small: the fuzzer spends its time on shrinking large ones.
func FuzzParse(f *testing.F) {
	st := readerState("t", 1, 2, -3)
	kg := code(12, i32(0), list(i64(1), i64(2)), inline([]byte("k")), utf("id"))
	changelog := code(14, i32(0), i32(64), i64(10), list(kg), list(code(10, i32(0), i32(64), list(cat(i64(5), relFile("c", 3))), i64(4), i64(4), utf("id"))), i64(1), i64(5), utf("id"))
	channel := cat(i32(0), i32(1), i32(2), list(i64(0)), i64(5), inline([]byte("bytes")))
	enum := coordinator(2, cat(list(cat(utf("t"), i32(3), i32(0)), cat(utf("t"), i32(4), i32(1))), []byte{1}))
	for version := 2; version <= 7; version++ {
		data, offs := encStream(equalSnappy, st)
		src := encOp{name: "n", uid: "u", id: 1, coord: enum, subs: []encSub{{op: opHandle([]encState{st}, offs, relFile("f", len(data)))}, {index: 1, finished: version > 2}}}
		busy := encOp{id: 2, subs: []encSub{{op: stateHandle(plainV6, encState{legacyStateName, [][]byte{legacyElement("orders", 1, 5)}}), keyed: kg, rawKeyed: changelog}}}
		if version >= 6 {
			busy.subs[0].in = [][]byte{code(1, channel)}
		} else {
			busy.subs[0].in = [][]byte{channel}
		}
		f.Add(encMeta(version, src, busy), data)
	}
	for _, dir := range []string{"f110/sp/savepoint-3a23c5-2bde860a5406", "f22-rocksdb/savepoints/savepoint-5b3596-9b0a71ce8c8d"} {
		b, err := os.ReadFile(filepath.Join("testdata", dir, MetadataName))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, meta, state []byte) {
		files := map[string][]byte{}
		s, err := Parse(bytes.NewReader(meta), int64(len(meta)), func(path string, _ bool) (*StateFile, error) {
			files[path] = state
			return &StateFile{ReaderAt: bytes.NewReader(state), Size: int64(len(state)), Name: path}, nil
		})
		if err != nil {
			if s != nil {
				t.Fatal("rows beside an error")
			}
			return
		}
		for _, src := range s.Sources {
			for _, p := range src.Partitions {
				if p.Next != nil && *p.Next < 0 || p.Next != nil && p.Marker != "" || p.Next != nil && p.Stored == nil {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}

// FuzzOperatorState feeds anything to the decoders of one source's state, behind a body that is whole.
func FuzzOperatorState(f *testing.F) {
	for _, l := range []layoutOf{plainV5, plainV6, chunked, chunkedSnappy, equalOffsets, equalSnappy} {
		for _, st := range []encState{readerState("t", 1, 2, -3), {legacyStateName, [][]byte{legacyElement("orders", 1, 5), legacyElement("t", 2, 6)}}} {
			data, offs := encStream(l, st)
			f.Add(data, uint16(offs[0][0]), uint16(offs[0][1]), st.name == legacyStateName, coordinator(1, i32(0)))
		}
	}
	enum := cat(list(cat(utf("t"), i32(3), i32(0)), cat(utf("t"), i32(4), i32(1))), []byte{1})
	f.Add([]byte{}, uint16(0), uint16(0), false, coordinator(2, enum))
	f.Fuzz(func(t *testing.T, data []byte, a, b uint16, legacy bool, coord []byte) {
		st := encState{name: readerStateName}
		if legacy {
			st.name = legacyStateName
		}
		h := opHandle([]encState{st}, [][]int64{{int64(a), int64(b)}}, inline(data))
		s, err := parseBytes(encMeta(6, encOp{id: 1, coord: coord, subs: []encSub{{op: h}}}, source(2, "ok", 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(rows(s), "ok:0@1") {
			t.Fatal("the other source was lost")
		}
	})
}
