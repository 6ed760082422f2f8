package flink

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Kind is what kind of Kafka source an operator is.
type Kind string

// The kinds of sources whose state is read.
const (
	KafkaSource        Kind = "kafka-source"
	FlinkKafkaConsumer Kind = "flink-kafka-consumer"
	DynamicKafkaSource Kind = "dynamic-kafka-source"
	HybridSource       Kind = "hybrid-source"
)

// SnapshotKind says what Flink wrote a snapshot as.
type SnapshotKind string

// A snapshot whose kind neither its properties (Flink 1.16 and later) nor its directory's name tells is UnknownKind.
const (
	Checkpoint  SnapshotKind = "checkpoint"
	Savepoint   SnapshotKind = "savepoint"
	UnknownKind SnapshotKind = "unknown"
)

// Format is a savepoint's binary format.
type Format string

// Savepoints before Flink 1.16 do not say their format; a checkpoint has none.
const (
	Canonical     Format = "canonical"
	Native        Format = "native"
	UnknownFormat Format = "unknown"
)

// Marker is a position that is not a number: nothing was read from the partition yet, and Flink decides at the start.
type Marker string

// The markers, in the words of Flink's start modes.
const (
	Earliest  Marker = "earliest"
	Latest    Marker = "latest"
	Committed Marker = "committed"
)

// State says who holds a partition.
type State string

const (
	// Assigned partitions are in a reader's state: Next is where it stood.
	Assigned State = "assigned"
	// Unassigned partitions are known to the enumerator and no reader has them yet. Next and Marker are where the
	// reader will start; both are unset where the state holds no offset, and Flink then asks the job's start mode.
	Unassigned State = "unassigned"
	// FinishedOrLost partitions were assigned, but no reader has them: they reached their stopping offset, or a known
	// bug of some connectors lost them. The snapshot holds no position for them.
	FinishedOrLost State = "finished-or-lost"
)

// Snapshot is a checkpoint or a savepoint.
type Snapshot struct {
	// Path is the directory of _metadata, Metadata the file itself. Both are empty after Parse.
	Path     string
	Metadata string
	Kind     SnapshotKind
	Format   Format
	// TypeName is Flink's own name of the snapshot's type, like "Suspend Savepoint"; empty before Flink 1.16.
	TypeName        string
	CheckpointID    int64
	MetadataVersion int
	// JobID has 32 hex digits where the directory tells it, the first six where it is a savepoint's, or is empty.
	JobID     string
	Operators int // of any kind
	// InFlight is set where the snapshot holds records that are between operators (an unaligned checkpoint): its sources
	// stand behind records that the job has not processed, and another reader that starts there skips them.
	InFlight bool
	// Sources are sorted by operator id, their partitions by cluster, topic and number.
	Sources []Source
	// OtherSources have a source's state that is not Kafka's, or no splits by which that could be told.
	OtherSources []OtherSource
	// Sinks hold transactions that wait for their commit, sorted as in the file.
	Sinks    []Sink
	Warnings []Warning
	// OperatorErrors are operators whose state could not be read. They are not in Sources.
	OperatorErrors []OperatorError

	size     int64
	dialect  dialect
	resolver *resolver
}

// Source is an operator that reads from Kafka.
type Source struct {
	OperatorID string // 32 hex digits
	Name, UID  string // empty before Flink 2.0, and UID where the job set none
	Kind       Kind
	Subtasks   int
	Partitions []Partition
}

// Partition is where a source stands on one partition.
type Partition struct {
	Cluster   string // of a dynamic Kafka source; empty otherwise
	Topic     string
	Partition int32
	// Subtask is the reader that holds the partition; nil where only the enumerator knows it.
	Subtask *int32
	// Next is the next offset to read; nil where Marker, or nothing, stands in its place.
	Next   *int64
	Marker Marker
	// Stored is the number as it lies in the file: the next offset, the last offset for FlinkKafkaConsumer, or a
	// marker's number. nil where the snapshot holds no position.
	Stored *int64
	// Stopping is the exclusive end of a bounded source, or StoppingMarker stands for it; both unset: no end.
	Stopping       *int64
	StoppingMarker Marker
	State          State
	// Spans are the places to change if the partition is to stand elsewhere: usually one, none where no position is held.
	Spans []Span
}

// OtherSource is a source that is not known to be Kafka's.
type OtherSource struct {
	OperatorID, Name, UID string
	Subtasks              int
	Splits                int
}

// WarningCode names a kind of warning.
type WarningCode string

// The warnings. Each is about the whole snapshot or about one source.
const (
	WarnInFlight       WarningCode = "in-flight-records"
	WarnStateOutside   WarningCode = "state-outside-snapshot"
	WarnAbsolutePaths  WarningCode = "absolute-paths"
	WarnSharedTopic    WarningCode = "two-sources-on-one-topic"
	WarnEnumeratorOnly WarningCode = "enumerator-only"
	WarnFinishedOrLost WarningCode = "finished-or-lost"
	WarnEnumerator     WarningCode = "enumerator-not-read"
	WarnEqualOffsets   WarningCode = "equal-offsets"
	WarnDuplicate      WarningCode = "duplicate-partition"
	WarnLatestMarker   WarningCode = "latest-not-started"
	WarnOtherSplits    WarningCode = "other-splits"
	WarnProperties     WarningCode = "properties-not-read"
	// WarnStoppedLegacy: a savepoint of stop-with-savepoint and a FlinkKafkaConsumer, which is closed by then and leaves the
	// offsets of the checkpoint before in its state, or none. Measured on Flink 1.20.4 with connector 3.4.0.
	WarnStoppedLegacy WarningCode = "offsets-before-the-stop"
	// WarnPendingTransactions is about a sink, whichever sources are chosen.
	WarnPendingTransactions WarningCode = "pending-transactions"
)

// Warning is something that a person should know before using the positions.
type Warning struct {
	Code       WarningCode
	OperatorID string // empty: the whole snapshot
	Topic      string // where it is about one
	Count      int64
	Message    string
}

// OperatorError is an operator whose state could not be read.
type OperatorError struct {
	OperatorID, Name, UID string
	Err                   error
}

func (e *OperatorError) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("operator %s (%s): %v", e.OperatorID, e.Name, e.Err)
	}
	return fmt.Sprintf("operator %s: %v", e.OperatorID, e.Err)
}

func (e *OperatorError) Unwrap() error { return e.Err }

// Options say where state files are.
type Options struct {
	// PathMap replaces the beginning of absolute paths in the snapshot, the first match wins.
	PathMap []PathMapping
}

// PathMapping says that what the snapshot calls Old lies in the local directory New.
type PathMapping struct{ Old, New string }

// Open reads the snapshot in the directory or _metadata file at path.
//
// A file that is not one is ErrNotSnapshot, another metadata version ErrVersion, a cut file ErrTruncated, and any damage
// in the body is an error: nothing is reported then, since the rest cannot be located. Damage in
// one operator's own state is in Snapshot.OperatorErrors, with the other operators' positions beside it; so are state
// files that are not there (MissingFileError).
func Open(path string, opts Options) (*Snapshot, error) {
	file, err := metadataFile(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	res := &resolver{dir: dir, paths: opts.PathMap}
	s, err := parse(f, st.Size(), file, dir, res.open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.Path, s.Metadata, s.resolver = dir, filepath.Join(dir, filepath.Base(file)), res
	return s, nil
}

// OpenFunc opens a state file that a snapshot refers to. A relative path is below the directory of _metadata.
type OpenFunc func(path string, relative bool) (*StateFile, error)

// StateFile is an open state file.
type StateFile struct {
	io.ReaderAt
	io.Closer
	Size int64
	Name string // for messages and Spans
}

// Parse reads a snapshot from the size bytes of its _metadata. open finds its state files; nil makes every operator
// whose Kafka state is in a file an OperatorError. Errors are those of Open.
func Parse(metadata io.ReaderAt, size int64, open OpenFunc) (*Snapshot, error) {
	if open == nil {
		open = func(path string, _ bool) (*StateFile, error) {
			return nil, fmt.Errorf("its state is in the file %s, which was not given", path)
		}
	}
	return parse(metadata, size, "_metadata", "", open)
}

func parse(r io.ReaderAt, size int64, file, dir string, open OpenFunc) (*Snapshot, error) {
	m, d, err := parseMetadata(r, size)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{
		CheckpointID: m.checkpointID, MetadataVersion: m.version, Operators: m.numOperators,
		InFlight: m.channels > 0, TypeName: m.props.name, size: size, dialect: d,
	}
	s.identify(m, dir)
	if s.InFlight {
		s.warn(Warning{Code: WarnInFlight, Count: m.channels, Message: fmt.Sprintf(
			"the snapshot holds in-flight records (%d channel states of an unaligned checkpoint): its sources are past records that are not processed yet, and another reader that starts there skips them", m.channels)})
	}
	if m.propsErr != nil {
		s.warn(Warning{Code: WarnProperties, Message: fmt.Sprintf("the snapshot's kind is unknown: its properties: %v", m.propsErr)})
	}
	s.outside(m, dir)
	b := newBuilder(s, r, size, file, open)
	for _, op := range m.ops {
		b.operator(op)
		b.sink(op)
	}
	b.finish()
	return s, nil
}

// SourceByID returns the source with an operator id of 32 hex digits, or nil.
func (s *Snapshot) SourceByID(id string) *Source {
	for i := range s.Sources {
		if strings.EqualFold(s.Sources[i].OperatorID, id) {
			return &s.Sources[i]
		}
	}
	return nil
}

// SourceByUID returns the source that the job gave this uid, or nil: by the uid in the snapshot, which Flink 2.0 and
// later write, or by the operator id that a uid becomes.
func (s *Snapshot) SourceByUID(uid string) *Source {
	for i := range s.Sources {
		if uid != "" && s.Sources[i].UID == uid {
			return &s.Sources[i]
		}
	}
	return s.SourceByID(OperatorIDOf(uid))
}

func (s *Snapshot) warn(w Warning) { s.Warnings = append(s.Warnings, w) }

// identify fills in what the snapshot is, from its properties and, before Flink 1.16, from its directory's name.
func (s *Snapshot) identify(m *metadata, dir string) {
	base := filepath.Base(dir)
	savepointDir := strings.HasPrefix(base, "savepoint-")
	_, chk := checkpointNumber(base)
	switch {
	case m.props.isSavepoint || !m.props.isCheckpoint && (savepointDir || m.canonical):
		s.Kind, s.Format = Savepoint, UnknownFormat
	case m.props.isCheckpoint || chk:
		s.Kind = Checkpoint
	default:
		s.Kind = UnknownKind
	}
	switch {
	case s.Kind != Savepoint:
	case m.props.canonical || m.canonical:
		s.Format = Canonical
	case m.props.native:
		s.Format = Native
	}
	if parent := filepath.Base(filepath.Dir(dir)); chk && isHex(parent, 32) {
		s.JobID = parent
	} else if p, _, ok := strings.Cut(strings.TrimPrefix(base, "savepoint-"), "-"); ok && savepointDir && isHex(p, 6) {
		s.JobID = p
	}
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// outside warns of state that is not in the snapshot's directory, or is but by its absolute path.
func (s *Snapshot) outside(m *metadata, dir string) {
	var own, other int64
	var ownExample, example string
	for d, f := range m.files {
		if dir != "" && d[strings.LastIndexByte(d, '/')+1:] == filepath.Base(dir) {
			own += f.n
			ownExample = max(ownExample, f.example)
		} else {
			other += f.n
			example = max(example, f.example)
		}
	}
	if other > 0 {
		s.warn(Warning{Code: WarnStateOutside, Count: other, Message: fmt.Sprintf(
			"%d state handles are files outside the snapshot's directory, like %s: the snapshot is not complete without them", other, example)})
	}
	if own > 0 {
		s.warn(Warning{Code: WarnAbsolutePaths, Count: own, Message: fmt.Sprintf(
			"%d state files of the snapshot are named by absolute path, like %s: Flink does not find them in a moved copy", own, ownExample)})
	}
}
