package flink

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"slices"
)

// How a patch of one number becomes edits: in plain state it is eight bytes. In compressed state its chunk is encoded
// again with a new checksum, to the old length where that is possible. Where it is not, what is behind it moves, and so
// do the positions and lengths that refer to it. State that the snapshot shares with others is not changed in place: the
// copy gets its own, inline.

// edit replaces old by new at pos of a file, or of a stream while it is planned.
type edit struct {
	pos      int64
	old, new []byte
}

func (e edit) delta() int64 { return int64(len(e.new) - len(e.old)) }

func sortEdits(edits []edit) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.pos, b.pos) })
}

type layouter struct {
	rw         *Rewrite
	f          *os.File // _metadata
	lengthened map[string]bool
}

func (l *layouter) plan(patches []patch) error {
	l.lengthened = map[string]bool{}
	byHandle := map[int64][]patch{}
	var order []int64
	for _, p := range patches {
		if p.span.handle == 0 {
			if err := l.bytesAt(&l.rw.meta, l.f, p.span.Pos, p.value[:]); err != nil {
				return err
			}
			continue
		}
		if byHandle[p.span.handle] == nil {
			order = append(order, p.span.handle)
		}
		byHandle[p.span.handle] = append(byHandle[p.span.handle], p)
	}
	slices.Sort(order)
	for _, pos := range order {
		if err := l.handle(pos, byHandle[pos]); err != nil {
			return err
		}
	}
	return nil
}

// bytesAt adds an edit of len(value) bytes at pos of r.
func (l *layouter) bytesAt(to *[]edit, r io.ReaderAt, pos int64, value []byte) error {
	old := make([]byte, len(value))
	if _, err := r.ReadAt(old, pos); err != nil {
		return err
	}
	if !bytes.Equal(old, value) {
		*to = append(*to, edit{pos: pos, old: old, new: bytes.Clone(value)})
	}
	return nil
}

// stateOffsets is where the offsets of one state of a handle lie.
type stateOffsets struct {
	pos int64
	n   int
}

// handleLayout is one operator handle, in detail.
type handleLayout struct {
	extent
	states []stateOffsets
	stream streamHandle
	path   string
}

// read decodes the operator handle at pos.
func (l *layouter) read(pos int64) (*handleLayout, error) {
	s := l.rw.Snapshot
	out := &handleLayout{extent: extent{start: pos}}
	p := &metaParser{c: newCursor(l.f, 0, s.size), version: s.MetadataVersion, d: s.dialect, op: &operator{}, out: &metadata{files: map[string]*fileDir{}}}
	p.onState = func(offsets int64, n int) { out.states = append(out.states, stateOffsets{offsets, n}) }
	p.onOperatorHandle = func(_, end int64, _ byte, h streamHandle) { out.end, out.stream = end, h }
	p.onFile = func(_ streamHandle, path []byte) { out.path = string(path) }
	p.c.seek(pos)
	p.operatorHandle(0, false)
	return out, p.c.err
}

// handle plans the patches of one operator handle's stream.
func (l *layouter) handle(pos int64, patches []patch) error {
	h, err := l.read(pos)
	if err != nil {
		return err
	}
	switch h.stream.code {
	case streamInline:
		edits, err := l.streamEdits(io.NewSectionReader(l.f, h.stream.dataPos, h.stream.dataLen), h.stream.dataLen, patches)
		if err != nil {
			return err
		}
		if d := total(edits); d != 0 {
			length := binary.BigEndian.AppendUint32(nil, uint32(h.stream.dataLen+d))
			if err := l.moved(h, edits, h.stream.dataPos-4, length); err != nil {
				return err
			}
		}
		for _, e := range edits {
			e.pos += h.stream.dataPos
			l.rw.meta = append(l.rw.meta, e)
		}
		return nil
	case streamRelative:
		f, err := l.rw.Snapshot.resolver.open(h.path, true)
		if err != nil {
			return err
		}
		defer f.Close()
		edits, err := l.streamEdits(f, f.Size, patches)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if d := total(edits); d != 0 {
			l.lengthened[h.path] = true
			size := binary.BigEndian.AppendUint64(nil, uint64(h.stream.size+d))
			if err := l.moved(h, edits, h.stream.end-8, size); err != nil {
				return err
			}
		}
		l.rw.files[h.path] = append(l.rw.files[h.path], edits...)
		sortEdits(l.rw.files[h.path])
		return nil
	}
	return l.inline(h, patches)
}

func total(edits []edit) (d int64) {
	for _, e := range edits {
		d += e.delta()
	}
	return d
}

// moved corrects what refers to a stream whose length changes: its length, at lengthPos, and the positions of elements.
func (l *layouter) moved(h *handleLayout, edits []edit, lengthPos int64, length []byte) error {
	if err := l.bytesAt(&l.rw.meta, l.f, lengthPos, length); err != nil {
		return err
	}
	return l.eachOffset(h, func(pos, off int64) error {
		return l.bytesAt(&l.rw.meta, l.f, pos, binary.BigEndian.AppendUint64(nil, uint64(shifted(off, edits))))
	})
}

// shifted is where an element that was at off begins after the edits.
func shifted(off int64, edits []edit) int64 {
	to := off
	for _, e := range edits {
		if e.pos < off {
			to += e.delta()
		}
	}
	return to
}

func (l *layouter) eachOffset(h *handleLayout, do func(pos, off int64) error) error {
	c := newCursor(l.f, 0, l.rw.Snapshot.size)
	for _, st := range h.states {
		c.seek(st.pos)
		for i := range st.n {
			off := c.i64()
			if c.err != nil {
				return c.err
			}
			if err := do(st.pos+int64(i)*8, off); err != nil {
				return err
			}
		}
	}
	return nil
}

// inline replaces a handle on a file outside the snapshot by one that holds the changed bytes. A handle of file merging
// becomes a plain one, as only those may be inline.
func (l *layouter) inline(h *handleLayout, patches []patch) error {
	f, err := l.rw.Snapshot.resolver.open(h.path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	if h.stream.size > maxInline {
		return fmt.Errorf("%s: %d bytes of one subtask's source state are more than the %d that are copied into %s", f.Name, h.stream.size, maxInline, MetadataName)
	}
	data := make([]byte, h.stream.size)
	if _, err := f.ReadAt(data, h.stream.start); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	edits, err := l.streamEdits(bytes.NewReader(data), int64(len(data)), patches)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	old := make([]byte, h.end-h.start)
	if _, err := l.f.ReadAt(old, h.start); err != nil {
		return err
	}
	last := h.states[len(h.states)-1]
	states := bytes.Clone(old[1 : last.pos+8*int64(last.n)-h.start])
	err = l.eachOffset(h, func(pos, off int64) error {
		binary.BigEndian.PutUint64(states[pos-h.start-1:], uint64(shifted(off, edits)))
		return nil
	})
	if err != nil {
		return err
	}
	var changed bytes.Buffer
	if err := applyEdits(&changed, bytes.NewReader(data), int64(len(data)), edits); err != nil {
		return err
	}
	repl := append([]byte{opPlain}, states...)
	repl = append(repl, streamInline)
	repl = appendUTF(repl, path.Base(h.path))
	repl = binary.BigEndian.AppendUint32(repl, uint32(changed.Len()))
	repl = append(repl, changed.Bytes()...)
	l.rw.meta = append(l.rw.meta, edit{pos: h.start, old: old, new: repl})
	l.rw.replaced = append(l.rw.replaced, h.extent)
	if !slices.Contains(l.rw.Inlined, h.path) {
		l.rw.Inlined = append(l.rw.Inlined, h.path)
	}
	return nil
}

// streamEdits turns patches into edits of their stream, sorted.
func (l *layouter) streamEdits(r io.ReaderAt, size int64, patches []patch) ([]edit, error) {
	var edits []edit
	chunks := map[int64][]patch{}
	for _, p := range patches {
		if p.span.In == InChunk {
			chunks[p.span.at] = append(chunks[p.span.at], p)
			continue
		}
		if err := l.bytesAt(&edits, r, p.span.at, p.value[:]); err != nil {
			return nil, err
		}
	}
	for at, ps := range chunks {
		es, err := chunkEdits(r, size, at, ps)
		if err != nil {
			return nil, err
		}
		edits = append(edits, es...)
	}
	sortEdits(edits)
	return edits, nil
}

// chunkEdits encodes the chunks again that hold the patched bytes, which are counted from the chunk at start.
func chunkEdits(r io.ReaderAt, size, start int64, patches []patch) ([]edit, error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	slices.SortFunc(patches, func(a, b patch) int { return cmp.Compare(a.span.Disp, b.span.Disp) })
	need := patches[len(patches)-1].span.Disp + 8
	c := newCursor(r, 0, size)
	c.seek(start)
	var edits []edit
	var plain []byte
	for from := int64(0); from < need; {
		ch, err := nextChunk(c)
		if err != nil {
			return nil, err
		}
		if ch.kind == chunkIdentifier {
			return nil, at(ch.pos, errors.New("the compressed state ends before the element"))
		}
		if ch.body == nil {
			continue
		}
		ch.body = bytes.Clone(ch.body)
		if plain, err = ch.plain(table, plain[:0]); err != nil {
			return nil, err
		}
		changed := bytes.Clone(plain)
		for _, p := range patches {
			for i, b := range p.value {
				// The eight bytes may lie across two chunks.
				if at := p.span.Disp + int64(i) - from; at >= 0 && at < int64(len(changed)) {
					changed[at] = b
				}
			}
		}
		from += int64(len(plain))
		if bytes.Equal(plain, changed) {
			continue
		}
		old := []byte{ch.kind, byte(len(ch.body)), byte(len(ch.body) >> 8), byte(len(ch.body) >> 16)}
		edits = append(edits, edit{pos: ch.pos, old: append(old, ch.body...), new: encodeChunk(table, ch, changed)})
	}
	return edits, nil
}

// applyEdits copies size bytes of r to w with the sorted edits made, and fails where a byte range is not what it was when
// the edits were planned.
func applyEdits(w io.Writer, r io.ReaderAt, size int64, edits []edit) error {
	var pos int64
	for _, e := range edits {
		if e.pos < pos {
			return fmt.Errorf("two edits at byte %d", e.pos)
		}
		if _, err := io.Copy(w, io.NewSectionReader(r, pos, e.pos-pos)); err != nil {
			return err
		}
		old := make([]byte, len(e.old))
		if _, err := r.ReadAt(old, e.pos); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(old, e.old) {
			return fmt.Errorf("byte %d has changed since the copy was planned", e.pos)
		}
		if _, err := w.Write(e.new); err != nil {
			return err
		}
		pos = e.pos + int64(len(e.old))
	}
	n, err := io.Copy(w, io.NewSectionReader(r, pos, size-pos))
	if err == nil && n != size-pos {
		err = fmt.Errorf("%w: it shrank since the copy was planned", errTruncated)
	}
	return err
}
