package flink

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"github.com/koffset/koffset/internal/text"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A rewrite is a copy of a snapshot in which some partitions are at other offsets. The plan is made of edits to byte ranges
// that the reader noted, each with the bytes it expects to find; everything else is copied as it is.

// Change asks for one partition of one source to be at NewNext, the next offset to read.
type Change struct {
	Source    string // operator id, 32 hex digits
	Cluster   string // only where a dynamic Kafka source reads the topic on several clusters
	Topic     string
	Partition int32
	NewNext   int64
}

// RewriteRow is one change as it will be made.
type RewriteRow struct {
	Source, Name, UID string
	Cluster, Topic    string
	Partition         int32
	// From is the next offset the snapshot has, FromMarker what stands in its place; both unset for an unassigned
	// partition whose start Flink does not know yet.
	From       *int64
	FromMarker Marker
	To         int64
	State      State
}

// Rewrite is a planned copy. Nothing was written yet.
type Rewrite struct {
	Snapshot *Snapshot
	Rows     []RewriteRow // sorted by source, cluster, topic, partition
	// Shared are the absolute paths of state files that the copy goes on naming where they are, unless it is written
	// self-contained: deleting the original's files, or a job that claims it, breaks the copy.
	Shared []string
	// Inlined are the absolute paths of files whose Kafka state the copy holds in its _metadata, since what is changed
	// must not be shared with the original.
	Inlined  []string
	Warnings []Warning

	meta     []edit            // of _metadata, sorted
	files    map[string][]edit // of relative state files
	relative []string          // state files that the copy takes along
	siblings []string          // files beside _metadata that it names by absolute path: taken along too
	replaced []extent          // operator handles that the edits replace as a whole, sorted
}

type extent struct{ start, end int64 }

// ChangeError is a change that a snapshot cannot take.
type ChangeError struct {
	Change Change
	Reason string
}

func (e *ChangeError) Error() string {
	return fmt.Sprintf("%s, partition %d of source %s: %s", e.Change.Topic, e.Change.Partition, e.Change.Source, e.Reason)
}

// maxInline bounds state that is moved into _metadata. Flink itself puts up to 1 MiB there; one partition takes about 50
// bytes, so this is more than a million of them in one subtask.
const maxInline = 64 << 20

// PlanRewrite plans a copy of s, which Open read, with the changes made. It reads the snapshot's files and writes nothing.
//
// Every change that is refused is a ChangeError, and one refuses the plan: a source or partition that the snapshot does
// not hold, one without a stored position (finished, or left to the start mode), a negative offset, two changes of one
// partition. A state file of any operator that the copy would have to take along and that is missing is a
// MissingFileError.
func PlanRewrite(s *Snapshot, changes []Change) (*Rewrite, error) {
	if s.resolver == nil {
		return nil, errors.New("the snapshot was parsed from bytes: open it from its directory to copy it")
	}
	rw := &Rewrite{Snapshot: s, files: map[string][]edit{}}
	patches, err := rw.rows(changes)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.Metadata)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return nil, err
	} else if st.Size() != s.size {
		return nil, fmt.Errorf("%s has changed since it was read: it has %d bytes, and had %d", s.Metadata, st.Size(), s.size)
	}
	l := &layouter{rw: rw, f: f}
	if err := l.plan(patches); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Metadata, err)
	}
	if err := rw.inventory(f, l.lengthened); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Metadata, err)
	}
	sortEdits(rw.meta)
	rw.warnings()
	return rw, nil
}

// patch is one stored number to write.
type patch struct {
	span  Span
	value [8]byte
}

func (rw *Rewrite) rows(changes []Change) ([]patch, error) {
	var errs []error
	var patches []patch
	seen := map[string]bool{}
	for _, c := range changes {
		src, p, err := rw.Snapshot.find(c)
		if err == nil {
			key := fmt.Sprintf("%s/%s/%s/%d", c.Source, p.Cluster, p.Topic, p.Partition)
			if seen[key] {
				err = &ChangeError{c, "it is changed twice"}
			}
			seen[key] = true
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rw.Rows = append(rw.Rows, RewriteRow{
			Source: src.OperatorID, Name: src.Name, UID: src.UID, Cluster: p.Cluster, Topic: p.Topic, Partition: p.Partition,
			From: p.Next, FromMarker: p.Marker, To: c.NewNext, State: p.State,
		})
		if p.Stopping != nil && c.NewNext >= *p.Stopping {
			rw.Warnings = append(rw.Warnings, Warning{Code: WarnStops, OperatorID: src.OperatorID, Topic: p.Topic, Count: 1, Message: fmt.Sprintf(
				"partition %d of %s would start at %d, at or after its stopping offset %d: it is finished at once", p.Partition, p.Topic, c.NewNext, *p.Stopping)})
		}
		if p.Next != nil && *p.Next == c.NewNext {
			continue
		}
		for _, span := range p.Spans {
			pt := patch{span: span}
			binary.BigEndian.PutUint64(pt.value[:], uint64(c.NewNext-span.Minus))
			patches = append(patches, pt)
		}
	}
	slices.SortFunc(rw.Rows, func(a, b RewriteRow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic),
			cmp.Compare(a.Partition, b.Partition))
	})
	return patches, errors.Join(errs...)
}

// find returns the source and row that a change means.
func (s *Snapshot) find(c Change) (*Source, *Partition, error) {
	refuse := func(format string, args ...any) (*Source, *Partition, error) {
		return nil, nil, &ChangeError{c, fmt.Sprintf(format, args...)}
	}
	if c.NewNext < 0 {
		return refuse("offset %d is negative", c.NewNext)
	}
	i := slices.IndexFunc(s.Sources, func(src Source) bool { return src.OperatorID == c.Source })
	if i < 0 {
		for j := range s.OperatorErrors {
			if e := &s.OperatorErrors[j]; e.OperatorID == c.Source {
				return refuse("its state could not be read: %v", e.Err)
			}
		}
		return refuse("the snapshot has no Kafka source of this id, but %d others", len(s.Sources))
	}
	src := &s.Sources[i]
	var found *Partition
	for j := range src.Partitions {
		p := &src.Partitions[j]
		if p.Topic != c.Topic || p.Partition != c.Partition || c.Cluster != "" && p.Cluster != c.Cluster {
			continue
		}
		if found != nil {
			return refuse("it is read on the clusters %s and %s: say which", found.Cluster, p.Cluster)
		}
		found = p
	}
	switch {
	case found == nil:
		return refuse("the snapshot does not hold this partition")
	case found.State == FinishedOrLost:
		return refuse("no reader holds it (finished, or lost), so there is no position to change")
	case len(found.Spans) == 0:
		return refuse("no reader has it yet, and the enumerator stores no offset for it: the job's start mode decides where it starts")
	}
	return src, found, nil
}

// Warnings of a rewrite, beside those of its snapshot.
const (
	WarnStops   WarningCode = "starts-past-stopping-offset"
	WarnInlined WarningCode = "state-moved-into-metadata"
)

func (rw *Rewrite) warnings() {
	for _, w := range rw.Snapshot.Warnings {
		switch w.Code {
		case WarnInFlight:
			w.Message = fmt.Sprintf("the snapshot holds in-flight records (%d channel states): they are processed after a restore, wherever its sources start, so a source that is moved back reads them a second time", w.Count)
			rw.Warnings = append(rw.Warnings, w)
		case WarnPendingTransactions:
			rw.Warnings = append(rw.Warnings, w)
		case WarnEqualOffsets:
			if slices.ContainsFunc(rw.Rows, func(r RewriteRow) bool { return r.Source == w.OperatorID }) {
				rw.Warnings = append(rw.Warnings, w)
			}
		}
	}
	if n := int64(len(rw.Shared)); n > 0 {
		rw.Warnings = append(rw.Warnings, Warning{Code: WarnStateOutside, Count: n, Message: fmt.Sprintf(
			"the copy shares %d state files with the original, like %s: they must stay where they are, and a job that restores it must not claim it", n, rw.Shared[0])})
	}
	if n := int64(len(rw.Inlined)); n > 0 {
		rw.Warnings = append(rw.Warnings, Warning{Code: WarnInlined, Count: n, Message: fmt.Sprintf(
			"the changed state of %s outside the snapshot's directory is moved into the copy's %s", text.Plural(n, "file"), MetadataName)})
	}
}

// inventory notes every state file the snapshot names: those the copy takes along, and those it shares.
func (rw *Rewrite) inventory(f *os.File, lengthened map[string]bool) error {
	s := rw.Snapshot
	own := filepath.Base(s.Path)
	relative, shared, siblings := map[string]int{}, map[string]bool{}, map[string]bool{}
	var failed error
	p := &metaParser{c: newCursor(f, 0, s.size), d: s.dialect}
	p.onFile = func(h streamHandle, name []byte) {
		switch {
		case failed != nil || rw.isReplaced(h.pos):
		case h.code == streamRelative:
			relative[string(name)]++
			if relative[string(name)] > 1 {
				return
			}
			local, err := s.resolver.locate(string(name), true)
			var st os.FileInfo
			if err == nil {
				st, err = os.Stat(local)
			}
			if err == nil && st.Size() != h.size {
				err = fmt.Errorf("%s has %d bytes, and %d were written: the file is damaged", local, st.Size(), h.size)
			}
			failed = err
		default:
			shared[string(name)] = true
			if path.Base(path.Dir(string(name))) == own {
				siblings[path.Base(string(name))] = true
			}
		}
	}
	if _, err := p.parse(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	for name, n := range relative {
		if n > 1 && lengthened[name] {
			return fmt.Errorf("state file %s is named by %d handles and would change its length", name, n)
		}
		rw.relative = append(rw.relative, name)
	}
	for name := range siblings {
		if st, err := os.Stat(filepath.Join(s.Path, name)); err == nil && st.Mode().IsRegular() && relative[name] == 0 && filepath.IsLocal(name) {
			rw.siblings = append(rw.siblings, name)
		}
	}
	for name := range shared {
		rw.Shared = append(rw.Shared, name)
	}
	slices.Sort(rw.relative)
	slices.Sort(rw.siblings)
	slices.Sort(rw.Shared)
	return nil
}

func (rw *Rewrite) isReplaced(pos int64) bool {
	// Asked for every file of a snapshot that may name a million.
	i, found := slices.BinarySearchFunc(rw.replaced, pos, func(e extent, pos int64) int { return cmp.Compare(e.start, pos) })
	return found || i > 0 && pos < rw.replaced[i-1].end
}

// String says what a row changes, in one line.
func (r RewriteRow) String() string {
	from := string(r.FromMarker)
	if r.From != nil {
		from = fmt.Sprint(*r.From)
	}
	if from == "" {
		from = "-"
	}
	name := r.Topic
	if r.Cluster != "" {
		name = strings.Join([]string{r.Cluster, r.Topic}, "/")
	}
	return fmt.Sprintf("%s %s:%d %s -> %d", r.Source, name, r.Partition, from, r.To)
}
