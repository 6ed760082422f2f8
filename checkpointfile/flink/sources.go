package flink

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/koffset/koffset/internal/text"
)

// From the states that the pass over _metadata noted to sources with their partitions.

// Span is one place where a position is stored.
type Span struct {
	File string
	// Pos is the position in File of the eight bytes of the stored number, or, where In is InChunk, of the header of the
	// snappy chunk from which Disp plain bytes are counted to them.
	Pos  int64
	Disp int64
	In   Container
	// Minus is what the stored number is less than the next offset: 1 for FlinkKafkaConsumer, 0 otherwise.
	Minus int64

	handle int64 // the operator handle's position in _metadata, 0 in the enumerator
	at     int64 // Pos, counted from the start of the handle's stream
}

// Container says what a stored number lies in.
type Container string

// Containers.
const (
	InMetadata   Container = "metadata"   // inline in _metadata
	InFile       Container = "state-file" // plain in a state file
	InChunk      Container = "snappy-chunk"
	InEnumerator Container = "enumerator" // the source coordinator's bytes in _metadata
)

type partitionKey struct {
	cluster, topic string
	partition      int32
}

type builder struct {
	s     *Snapshot
	r     io.ReaderAt
	file  string
	open  OpenFunc
	elems *elements
	enum  enumParser
	names names

	held     *StateFile // the last state file: merged files hold the state of several subtasks
	heldPath string
}

func newBuilder(s *Snapshot, r io.ReaderAt, size int64, file string, open OpenFunc) *builder {
	n := names{}
	return &builder{
		s: s, r: r, file: file, open: open, elems: newElements(r, size), names: n,
		enum: enumParser{c: newCursor(r, 0, size), names: n},
	}
}

// reading is what the readers' states of one operator hold.
type reading struct {
	kind       Kind
	parts      []Partition
	index      map[partitionKey]int
	foreign    int // elements that are not Kafka's
	equal      bool
	duplicates int64
}

func (b *builder) operator(op *operator) {
	src := Source{OperatorID: op.hex(), Name: op.name, UID: op.uid, Subtasks: int(op.parallelism)}
	rd := &reading{index: map[partitionKey]int{}}
	warnings := len(b.s.Warnings)
	err := b.read(op, rd)
	if err == nil {
		err = b.enumerator(op, &src, rd)
	}
	if err != nil {
		b.s.Warnings = b.s.Warnings[:warnings]
		b.s.OperatorErrors = append(b.s.OperatorErrors, OperatorError{OperatorID: src.OperatorID, Name: src.Name, UID: src.UID, Err: err})
		return
	}
	if rd.kind == "" && op.hasLegacy {
		rd.kind = FlinkKafkaConsumer // without offsets: see WarnStoppedLegacy
	}
	if rd.kind == "" {
		if op.hasReader {
			b.s.OtherSources = append(b.s.OtherSources, OtherSource{
				OperatorID: src.OperatorID, Name: src.Name, UID: src.UID, Subtasks: src.Subtasks, Splits: rd.foreign})
		}
		return
	}
	src.Kind, src.Partitions = rd.kind, rd.parts
	slices.SortFunc(src.Partitions, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	b.s.Sources = append(b.s.Sources, src)
	b.sourceWarnings(&src, rd)
}

// read decodes the list states of all subtasks.
func (b *builder) read(op *operator, rd *reading) error {
	defer b.release()
	for i := range op.refs {
		ref := &op.refs[i]
		r, name, start, end, err := b.stream(ref)
		if err == nil {
			err = b.elems.each(ref, r, start, end, func(data []byte, p place) (int, error) {
				return b.element(rd, ref, name, start, data, p)
			})
			if err != nil && ref.stream.code != streamInline {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		if err != nil {
			return fmt.Errorf("subtask %d: %w", ref.subtask, err)
		}
		rd.equal = rd.equal || b.elems.sameOff
	}
	if rd.kind != "" && rd.kind != HybridSource && rd.foreign > 0 {
		return fmt.Errorf("%d of %d splits are not those of a Kafka source: the state is damaged, or of a newer connector",
			rd.foreign, rd.foreign+len(rd.parts))
	}
	return nil
}

// stream finds the bytes that hold ref's elements.
func (b *builder) stream(ref *stateRef) (r io.ReaderAt, name string, start, end int64, err error) {
	h := ref.stream
	switch h.code {
	case streamInline:
		return b.r, b.file, h.dataPos, h.dataPos + h.dataLen, nil
	case streamFile, streamRelative, streamSegment:
	default:
		return nil, "", 0, 0, fmt.Errorf("%d elements, and no stream that holds them (handle code %d)", ref.n, h.code)
	}
	b.elems.meta.err = nil
	b.elems.meta.seek(h.pathPos)
	path := b.elems.meta.utf()
	if err := b.elems.meta.err; err != nil {
		return nil, "", 0, 0, err
	}
	if b.held == nil || b.heldPath != path || h.code == streamRelative {
		b.release()
		f, err := b.open(path, h.code == streamRelative)
		if err != nil {
			return nil, "", 0, 0, err
		}
		b.held, b.heldPath = f, path
	}
	f := b.held
	if h.code == streamSegment {
		if h.start > f.Size || h.size > f.Size-h.start {
			return nil, "", 0, 0, fmt.Errorf("%s: %w: %d bytes from %d on belong to the state, and it has %d", f.Name, errTruncated, h.size, h.start, f.Size)
		}
		return f, f.Name, h.start, h.start + h.size, nil
	}
	if f.Size != h.size {
		return nil, "", 0, 0, fmt.Errorf("%s: it has %d bytes, and %d were written: the file is damaged, or another one", f.Name, f.Size, h.size)
	}
	return f, f.Name, 0, h.size, nil
}

func (b *builder) release() {
	if b.held != nil && b.held.Closer != nil {
		b.held.Close()
	}
	b.held = nil
}

// element decodes one element into a row.
func (b *builder) element(rd *reading, ref *stateRef, file string, start int64, data []byte, p place) (int, error) {
	var s split
	var used int
	var err error
	if ref.legacy {
		s, used, err = b.names.legacy(data)
	} else {
		var e []byte
		if e, err = lengthPrefixed(data); err == nil {
			used = 4 + len(e)
			s, err = b.names.versioned(e)
			s.startAt += 4
		}
		if errors.Is(err, errNotKafka) {
			rd.foreign++
			return used, nil
		}
	}
	if err != nil {
		return 0, err
	}
	if rd.kind == "" {
		rd.kind = s.kind
	} else if rd.kind != s.kind {
		return 0, fmt.Errorf("splits of a %s and of a %s in one operator", rd.kind, s.kind)
	}
	span := Span{File: file, handle: ref.handlePos, at: p.pos, Pos: start + p.pos, In: InMetadata}
	switch {
	case p.compressed:
		span.In, span.Disp = InChunk, p.disp+int64(s.startAt)
	default:
		span.at += int64(s.startAt)
		span.Pos += int64(s.startAt)
		if ref.stream.code != streamInline {
			span.In = InFile
		}
	}
	if ref.legacy {
		span.Minus = 1
	}
	subtask := ref.subtask
	row := rowOf(s, Assigned)
	row.Subtask, row.Spans = &subtask, []Span{span}
	k := partitionKey{s.cluster, s.topic, s.partition}
	if i, ok := rd.index[k]; ok {
		// Flink 1.18's bug repeats splits when such a state is restored, so the same split twice is not damage.
		old := &rd.parts[i]
		if *old.Stored != s.start {
			return 0, fmt.Errorf("partition %d of %s is in the state twice, at %d (subtask %d) and at %d (subtask %d)",
				s.partition, s.topic, *old.Stored, *old.Subtask, s.start, subtask)
		}
		old.Spans = append(old.Spans, span)
		rd.duplicates++
		return used, nil
	}
	rd.index[k] = len(rd.parts)
	rd.parts = append(rd.parts, row)
	return used, nil
}

// rowOf gives stored numbers their meaning, which differs between the sources.
func rowOf(s split, state State) Partition {
	p := Partition{Cluster: s.cluster, Topic: s.topic, Partition: s.partition, State: state}
	stored := s.start
	p.Stored = &stored
	next := func(v int64) { p.Next = &v }
	if s.kind == FlinkKafkaConsumer {
		switch s.start {
		case legacyEarliest:
			p.Marker = Earliest
		case legacyLatest:
			p.Marker = Latest
		case legacyGroup:
			p.Marker = Committed
		case legacyUnset:
		default:
			next(s.start + 1)
		}
		return p
	}
	switch s.start {
	case -2:
		p.Marker = Earliest
	case -1:
		p.Marker = Latest
	case -3:
		p.Marker = Committed
	case noOffset:
	default:
		next(s.start)
	}
	switch s.stop {
	case -1:
		p.StoppingMarker = Latest
	case -3:
		p.StoppingMarker = Committed
	case noOffset:
	default:
		stop := s.stop
		p.Stopping = &stop
	}
	return p
}

// enumerator adds what only the enumerator knows.
func (b *builder) enumerator(op *operator, src *Source, rd *reading) error {
	if op.coordLen == 0 || rd.kind == FlinkKafkaConsumer {
		return nil
	}
	b.enum.c.err = nil
	st, err := b.enum.coordinator(op.coordPos, op.coordLen, rd.kind)
	switch {
	case errors.Is(err, errNotKafka):
		return nil
	case errors.Is(err, errEnumVersion) && rd.kind != "":
		b.s.warn(Warning{Code: WarnEnumerator, OperatorID: src.OperatorID, Message: fmt.Sprintf(
			"source %s: %v: partitions that no reader has yet are not shown", src.OperatorID, err)})
		return nil
	case err != nil && rd.kind == "":
		return nil // some other operator's coordinator
	case err != nil:
		return fmt.Errorf("the enumerator's state: %w", err)
	case rd.kind == "" && rd.foreign > 0:
		return fmt.Errorf("the enumerator's state is that of a %s, and %d splits of the readers are not: the state is damaged", st.kind, rd.foreign)
	}
	rd.kind = st.kind
	for _, k := range st.parts {
		key := partitionKey{k.cluster, k.topic, k.partition}
		if _, ok := rd.index[key]; ok {
			continue
		}
		rd.index[key] = len(rd.parts)
		k.kind = st.kind
		row := rowOf(k.split, FinishedOrLost)
		switch {
		case k.unassigned:
			row.State = Unassigned
			if k.hasSplit {
				row.Spans = []Span{{File: b.file, Pos: k.startPos, In: InEnumerator, at: k.startPos}}
			}
		default:
			// The stored start is the one it was first assigned with, which says nothing about how far it came.
			row.Next, row.Marker, row.Stored = nil, "", nil
		}
		if !k.hasSplit {
			row.Stored = nil
		}
		rd.parts = append(rd.parts, row)
	}
	return nil
}

func (b *builder) sourceWarnings(src *Source, rd *reading) {
	var unassigned, lost, latest int64
	for i := range src.Partitions {
		switch p := &src.Partitions[i]; {
		case p.State == Unassigned:
			unassigned++
		case p.State == FinishedOrLost:
			lost++
		case p.Marker == Latest && src.Kind != FlinkKafkaConsumer:
			latest++
		}
	}
	add := func(code WarningCode, n int64, format string, args ...any) {
		if n > 0 {
			msg := fmt.Sprintf("source %s: ", src.OperatorID) + fmt.Sprintf(format, args...)
			b.s.warn(Warning{Code: code, OperatorID: src.OperatorID, Count: n, Message: msg})
		}
	}
	add(WarnEnumeratorOnly, unassigned, "%s only in the enumerator, not yet in a reader", text.Plural(unassigned, "partition"))
	add(WarnFinishedOrLost, lost, "%s assigned, but in no reader: finished, or lost by a bug of the connector", text.Plural(lost, "partition"))
	add(WarnLatestMarker, latest, "%s at latest without a number: records that arrive before a restore are skipped", text.Plural(latest, "partition"))
	add(WarnDuplicate, rd.duplicates, "%s more than once in the readers' state, at the same offset", text.Plural(rd.duplicates, "partition"))
	if stopped := b.s.TypeName == "Suspend Savepoint" || b.s.TypeName == "Terminate Savepoint"; stopped && src.Kind == FlinkKafkaConsumer {
		held := "its offsets are those of the checkpoint before"
		if len(src.Partitions) == 0 {
			held = "it holds no offsets, as there was no checkpoint before"
		}
		add(WarnStoppedLegacy, 1, "FlinkKafkaConsumer does not store its positions in a savepoint that stops the job: %s, and the rest of the state is newer; take a savepoint and cancel instead", held)
	}
	if rd.foreign > 0 {
		add(WarnOtherSplits, int64(rd.foreign), "%d splits belong to sources other than Kafka and are not shown", rd.foreign)
	}
	if rd.equal {
		add(WarnEqualOffsets, 1, "its compressed state has one position for several elements (Flink 1.18.0 and 1.18.1): each partition is shown once, and Flink itself restores the first one several times")
	}
}

// finish sorts the sources and looks for topics that two of them read.
func (b *builder) finish() {
	s := b.s
	slices.SortStableFunc(s.Sources, func(a, b Source) int { return cmp.Compare(a.OperatorID, b.OperatorID) })
	type topic struct{ cluster, name string }
	readers := map[topic][]string{}
	for i := range s.Sources {
		src := &s.Sources[i]
		for _, p := range src.Partitions {
			t := topic{p.Cluster, p.Topic}
			if ids := readers[t]; len(ids) == 0 || ids[len(ids)-1] != src.OperatorID {
				readers[t] = append(ids, src.OperatorID)
			}
		}
	}
	var shared []Warning
	for t, ids := range readers {
		if len(ids) > 1 {
			shared = append(shared, Warning{Code: WarnSharedTopic, Topic: t.name, Count: int64(len(ids)), Message: fmt.Sprintf(
				"topic %s is read by %s of the job, %s: choose one before its offsets are committed", t.name, text.Plural(len(ids), "source"), joinIDs(ids))})
		}
	}
	slices.SortFunc(shared, func(a, b Warning) int { return cmp.Compare(a.Message, b.Message) })
	s.Warnings = append(s.Warnings, shared...)
}

func joinIDs(ids []string) string { return text.Some(ids, 4) }
