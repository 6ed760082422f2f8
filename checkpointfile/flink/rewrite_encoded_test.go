package flink

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// Rewrites of what no real snapshot at hand holds.

func openEncoded(t testing.TB, name string, meta []byte, files map[string][]byte, opts Options) *Snapshot {
	t.Helper()
	s, err := Open(writeSnapshot(t, name, meta, files), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.OperatorErrors {
		t.Fatal(e.Error())
	}
	return s
}

// TestRewriteLayouts changes splits in every layout of the stream and every kind of handle on it, to short and to long
// numbers, with other states before and behind that must still be found where the metadata says.
func TestRewriteLayouts(t *testing.T) {
	starts := make([]int64, 3000)
	for i := range starts {
		starts[i] = int64(i) * 3
	}
	st := readerState("a-topic-of-some-length", starts...)
	before := encState{legacyStateName + "-not", [][]byte{[]byte("x"), []byte("yy")}}
	after := encState{"after", [][]byte{[]byte("first"), []byte("second")}}
	states := []encState{before, st, after}
	for _, l := range []layoutOf{plainV5, plainV6, chunked, chunkedSnappy, equalOffsets, equalSnappy} {
		data, offs := encStream(l, states...)
		outside := filepath.Join(t.TempDir(), "merged")
		if err := os.WriteFile(outside, cat([]byte("another's state"), data, []byte("and another's")), 0o644); err != nil {
			t.Fatal(err)
		}
		alone := filepath.Join(t.TempDir(), "alone")
		if err := os.WriteFile(alone, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for name, h := range map[string][]byte{
			"inline":   opHandle(states, offs, inline(data)),
			"relative": opHandle(states, offs, relFile("file", len(data))),
			"absolute": opHandle(states, offs, inFile("file:"+alone, len(data))),
			"segment":  code(17, opStates(states, offs), utf("owned"), utf("shared"), []byte{0}, segment("file:"+outside, 15, len(data))),
		} {
			for version := 2; version <= 7; version++ {
				if version != 6 && (l != chunkedSnappy || name == "segment") {
					continue // the versions differ around the handle only
				}
				meta := encMeta(version, encOp{id: 1, subs: []encSub{{op: h}}}, source(2, "behind", 7))
				s := openEncoded(t, "savepoint-abcdef-0", meta, map[string][]byte{"file": data}, Options{})
				src := s.Sources[0].OperatorID
				var changes []Change
				for i := 0; i < len(starts); i += 7 {
					changes = append(changes, Change{Source: src, Topic: "a-topic-of-some-length", Partition: int32(i), NewNext: rand.Int64N(1<<(8*(i%7)+8)-1) + 1})
				}
				got := rewritten(t, s, changes...)
				for i, p := range got.Sources[0].Partitions {
					want := starts[i]
					if i%7 == 0 {
						want = changes[i/7].NewNext
					}
					if *p.Next != want {
						t.Fatalf("layout %d, %s, version %d: partition %d at %d, want %d", l, name, version, i, *p.Next, want)
					}
				}
				checkStates(t, got, map[string][][]byte{before.name: before.elems, "after": after.elems}, l)
			}
		}
	}
}

// checkStates reads the elements of other states from where a rewritten snapshot says they are.
func checkStates(t *testing.T, s *Snapshot, want map[string][][]byte, l layoutOf) {
	t.Helper()
	b, err := os.ReadFile(s.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(b)
	m, _, err := parseMetadata(r, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	ref := m.ops[0].refs[0]
	f, err := os.Open(s.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := (&layouter{rw: &Rewrite{Snapshot: s}, f: f}).read(ref.handlePos)
	if err != nil {
		t.Fatal(err)
	}
	data, start, end := f, h.stream.dataPos, h.stream.dataPos+h.stream.dataLen
	if h.stream.code == streamRelative {
		if data, err = os.Open(filepath.Join(s.Path, h.path)); err != nil {
			t.Fatal(err)
		}
		defer data.Close()
		start, end = 0, h.stream.size
		if st, err := data.Stat(); err != nil || st.Size() != h.stream.size {
			t.Fatalf("the handle says %d bytes, and the file has %d", h.stream.size, st.Size())
		}
	}
	names := []string{legacyStateName + "-not", "", "after"}
	for i, st := range h.states {
		elems := want[names[i]]
		if names[i] == "" {
			continue
		}
		k := 0
		e := newElements(f, s.size)
		e.meta.reset(f, 0, int64(len(b)))
		err := e.each(&stateRef{n: st.n, offsets: st.pos}, data, start, end, func(got []byte, _ place) (int, error) {
			if len(got) < len(elems[k]) {
				return 0, errShort
			}
			if !bytes.HasPrefix(got, elems[k]) {
				t.Fatalf("layout %d: element %d of %s is %q", l, k, names[i], got)
			}
			k++
			return len(elems[k-1]), nil
		})
		if err != nil || k != len(elems) {
			t.Fatalf("layout %d: %d elements of %s, %v", l, k, names[i], err)
		}
	}
}

func TestRewriteMarkersAndEnumerator(t *testing.T) {
	lp := func(p int, start, stop int64) []byte {
		b := kafkaPayload("t", p, start, stop)
		return cat(i32(len(b)), b)
	}
	enum := cat(i32(4), i32(0), cat(lp(0, -2, noOffset), i32(0)), cat(lp(3, -2, noOffset), i32(1)), cat(lp(4, noOffset, 50), i32(1)), cat(lp(5, 9, noOffset), i32(0)), []byte{1})
	op := encOp{id: 1, coord: coordinator(3, enum), subs: []encSub{{op: stateHandle(plainV6, readerState("t", -2, -1, -3))}}}
	s := openEncoded(t, "savepoint-abcdef-0", encMeta(6, op), nil, Options{})
	if got := rows(s); got != "t:0@earliest t:1@latest t:2@committed t:3@earliest(unassigned) t:4@-50(unassigned) t:5@(finished-or-lost)" {
		t.Fatal(got)
	}
	src := s.Sources[0].OperatorID
	var changes []Change
	for i := range 5 {
		changes = append(changes, Change{Source: src, Topic: "t", Partition: int32(i), NewNext: int64(i) * 20})
	}
	rw, err := PlanRewrite(s, changes)
	if err != nil {
		t.Fatal(err)
	}
	if len(rw.Warnings) != 1 || rw.Warnings[0].Code != WarnStops {
		t.Errorf("warnings %v", rw.Warnings)
	}
	if got := rows(rewritten(t, s, changes...)); got != "t:0@0 t:1@20 t:2@40 t:3@60(unassigned) t:4@80-50(unassigned) t:5@(finished-or-lost)" {
		t.Error(got)
	}
	if _, err := PlanRewrite(s, []Change{{Source: src, Topic: "t", Partition: 5}}); err == nil || !strings.Contains(err.Error(), "finished, or lost") {
		t.Error(err)
	}
	// Up to connector 4.0 the enumerator holds no offsets, so there is nothing that a change could be written to.
	op.coord = coordinator(2, cat(list(cat(utf("t"), i32(3), i32(1))), []byte{1}))
	s = openEncoded(t, "savepoint-abcdef-0", encMeta(6, op), nil, Options{})
	if _, err := PlanRewrite(s, []Change{{Source: src, Topic: "t", Partition: 3}}); err == nil || !strings.Contains(err.Error(), "start mode") {
		t.Error(err)
	}
}

func TestRewriteLegacyToZero(t *testing.T) {
	st := encState{legacyStateName, [][]byte{legacyElement("t", 0, 5), legacyElement("t", 1, legacyEarliest)}}
	s := openEncoded(t, "savepoint-abcdef-0", encMeta(2, encOp{id: 1, subs: []encSub{{op: stateHandle(plainV5, st)}}}), nil, Options{})
	src := s.Sources[0].OperatorID
	got := rewritten(t, s, Change{Source: src, Topic: "t", NewNext: 0}, Change{Source: src, Topic: "t", Partition: 1, NewNext: 8})
	p := got.Sources[0].Partitions
	if *p[0].Stored != -1 || *p[0].Next != 0 || *p[1].Stored != 7 || *p[1].Next != 8 {
		t.Errorf("%s, stored %d and %d", rows(got), *p[0].Stored, *p[1].Stored)
	}
}

func TestRewriteDynamic(t *testing.T) {
	k := kafkaPayload("t", 3, 70, noOffset)
	st := encState{readerStateName, [][]byte{element(2, cat(utf("c"), []byte{0}, i32(0), k)), element(2, cat(utf("d"), []byte{1}, i64(5), i32(0), k))}}
	s := openEncoded(t, "savepoint-abcdef-0", encMeta(7, encOp{id: 1, subs: []encSub{{op: stateHandle(chunked, st), in: [][]byte{code(1, i32(0), i32(0), i32(0), list(), i64(1), inline(nil))}}}}), nil, Options{})
	c := Change{Source: s.Sources[0].OperatorID, Topic: "t", Partition: 3, NewNext: 4}
	if _, err := PlanRewrite(s, []Change{c}); err == nil || !strings.Contains(err.Error(), "say which") {
		t.Error(err)
	}
	c.Cluster = "d"
	rw, err := PlanRewrite(s, []Change{c})
	if err != nil || len(rw.Warnings) != 1 || rw.Warnings[0].Code != WarnInFlight {
		t.Errorf("%v %v", rw, err)
	}
	if got := rows(rewritten(t, s, c)); got != "c/t:3@70 d/t:3@4" {
		t.Error(got)
	}
}

// TestRewriteAbsolute copies a snapshot of a Flink that names its own files by absolute path, as 1.10 does: left as they
// are, and self-contained; where it was, and moved.
func TestRewriteAbsolute(t *testing.T) {
	st := readerState("t", 5)
	data, offs := encStream(plainV5, st)
	keyed := []byte("keyed state")
	for _, version := range []int{2, 3} {
		for _, moved := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "savepoint-abcdef-0")
			at := "file:" + dir
			if moved {
				at = "file:/gone/savepoint-abcdef-0"
			}
			meta := encMeta(version, encOp{id: 1, subs: []encSub{{
				op:    opHandle([]encState{st}, offs, inFile(at+"/source", len(data))),
				keyed: code(3, i32(0), i32(0), inFile(at+"/keyed", len(keyed))),
			}}})
			from := writeSnapshot(t, "x", meta, map[string][]byte{"source": data, "keyed": keyed, "unrelated": nil})
			if err := os.Rename(from, dir); err != nil {
				t.Fatal(err)
			}
			s, err := Open(dir, Options{})
			if err != nil || codes(s) != string(WarnAbsolutePaths) || rows(s) != "t:0@5" {
				t.Fatalf("%v, %s", err, codes(s))
			}
			rw, err := PlanRewrite(s, []Change{{Source: s.Sources[0].OperatorID, Topic: "t", NewNext: 9}})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(rw.Inlined, []string{at + "/source"}) || !slices.Equal(rw.Shared, []string{at + "/keyed"}) {
				t.Errorf("inlined %v, shared %v", rw.Inlined, rw.Shared)
			}
			plain := filepath.Join(t.TempDir(), "plain")
			if w, err := rw.Write(plain, WriteOptions{}); err != nil || rows(w.Snapshot) != "t:0@9" {
				t.Fatal(err)
			}
			if b := tree(t, plain); !bytes.Equal(b["keyed"], keyed) || b["unrelated"] != nil {
				t.Errorf("files %v", b)
			}
			full := filepath.Join(t.TempDir(), "full")
			w, err := rw.Write(full, WriteOptions{SelfContained: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			again, err := Open(full, Options{})
			if err != nil || rows(again) != "t:0@9" || len(w.Copied) != 1 || len(w.Shared) != 0 {
				t.Errorf("%v, %s, copied %v, shared %v", err, rows(again), w.Copied, w.Shared)
			}
			if rw, err := PlanRewrite(again, nil); err != nil {
				t.Error(err)
			} else if version == 2 && !slices.Equal(rw.Shared, []string{"file:" + full + "/keyed"}) || version == 3 && !slices.Equal(rw.relative, []string{"keyed"}) {
				t.Errorf("version %d names %v %v", version, rw.Shared, rw.relative)
			}
		}
	}
}

func TestEncodeExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	table := crc32.MakeTable(crc32.Castagnoli)
	hits := 0
	for n := range 500 {
		data := make([]byte, 20+rnd.IntN(200))
		if n%10 == 0 {
			data = make([]byte, 5000+rnd.IntN(60000))
		}
		for i := range data {
			if data[i] = byte(rnd.IntN(256)); i > 8 && rnd.IntN(4) > 0 {
				data[i] = data[i-1-rnd.IntN(8)]
			}
		}
		best := len(s2.EncodeSnappyBest(nil, data))
		for _, extra := range []int{0, 1, 2, 7, 30} {
			b := encodeExact(data, best+extra)
			if b == nil {
				continue
			}
			hits++
			if back, err := s2.Decode(nil, b); len(b) != best+extra || err != nil || !bytes.Equal(back, data) {
				t.Fatalf("%d bytes for %d, %v", len(b), best+extra, err)
			}
		}
		if encodeExact(data, best-1) != nil {
			t.Fatal("shorter than the shortest")
		}
		old := chunk{kind: chunkSnappy, body: make([]byte, 4+best+3)}
		c := newCursor(bytes.NewReader(encodeChunk(table, old, data)), 0, 1<<20)
		c.end = int64(len(encodeChunk(table, old, data)))
		ch, err := nextChunk(c)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ch.plain(table, nil); err != nil || !bytes.Equal(back, data) {
			t.Fatal(err)
		}
	}
	if hits < 1800 {
		t.Errorf("only %d of 2500 lengths were met", hits)
	}
}

// TestRewriteSharedRelative refuses to lengthen a file that two handles name: only one of them would be corrected.
func TestRewriteSharedRelative(t *testing.T) {
	st := readerState(strings.Repeat("a", 200), 0, 0, 0)
	data, offs := encStream(equalSnappy, st)
	h := opHandle([]encState{st}, offs, relFile("f", len(data)))
	s := openEncoded(t, "savepoint-abcdef-0", encMeta(6, encOp{id: 1, subs: []encSub{{op: h}}},
		encOp{id: 2, subs: []encSub{{keyed: code(3, i32(0), list(), relFile("f", len(data)))}}}), map[string][]byte{"f": data}, Options{})
	c := Change{Source: s.Sources[0].OperatorID, Topic: strings.Repeat("a", 200), NewNext: 0x0102030405060708}
	if _, err := PlanRewrite(s, []Change{c}); err == nil || !strings.Contains(err.Error(), "2 handles") {
		t.Error(err)
	}
}
