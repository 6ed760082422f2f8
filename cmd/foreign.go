package cmd

// Positions that lie somewhere else: another group, a file, a checkpoint.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// foreignOffsets are offsets by group; the entry "" is for every group.
type foreignOffsets = map[string]map[offset.Partition]offset.Foreign

// loadForeign reads what the position names; nil where it names nothing.
func (o *resetOptions) loadForeign(ctx context.Context, s *session) (foreignOffsets, error) {
	switch o.position.Kind {
	case offset.OfGroup:
		return o.foreignGroup(ctx, s)
	case offset.OfFile:
		return o.app.foreignFile(o.position.Ref)
	case offset.OfCheckpoint:
		return o.foreignCheckpoint()
	case offset.ByPartition:
		for p, one := range o.position.Map {
			if one.Needs().Foreign {
				return nil, usagef("give "+one.String()+" for all partitions, with --topic for some", "%s=%s: a map takes offsets, words and times", p, one)
			}
		}
	}
	return nil, nil
}

func (o *resetOptions) foreignGroup(ctx context.Context, s *session) (foreignOffsets, error) {
	c, err := inspect.ReadCommitsOf(ctx, s.client, o.position.Ref)
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", o.position.Ref, err)
	}
	out := map[offset.Partition]offset.Foreign{}
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			if m := r.Committed(); m != nil {
				out[offset.Partition{Topic: t.Topic, Partition: r.Partition}] = offset.Foreign{Committed: *m}
			}
		}
	}
	if len(out) == 0 {
		return nil, faultf(exitNotFound, "koffset inspect "+o.position.Ref, "group %q has no commits to take", o.position.Ref)
	}
	return foreignOffsets{"": out}, nil
}

// foreignFile reads Kafka's CSV, or a plan of koffset's: the offsets that it would store.
func (a *App) foreignFile(name string) (foreignOffsets, error) {
	data, err := a.readFile(name)
	if err != nil {
		return nil, usagef("", "%w", err)
	}
	out := foreignOffsets{}
	put := func(group string, p offset.Partition, f offset.Foreign) {
		if out[group] == nil {
			out[group] = map[offset.Partition]offset.Foreign{}
		}
		out[group][p] = f
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		p, _, err := checkpointfile.DecodePlan(name, data)
		if err != nil {
			return nil, fileFault(err)
		}
		for _, c := range p.Changes {
			if c.To != nil {
				put(c.Group, c.Partition, offset.Foreign{Committed: offset.Committed{Offset: c.To.Offset, LeaderEpoch: c.To.LeaderEpoch, Metadata: c.To.Metadata}})
			}
		}
		return out, nil
	}
	rows, err := checkpointfile.ReadKafkaCSV(name, bytes.NewReader(data))
	if err != nil {
		return nil, fileFault(err)
	}
	for _, r := range rows {
		put(r.Group, r.Partition, offset.Foreign{Committed: offset.Committed{Offset: r.Offset}})
	}
	return out, nil
}

// readFile reads a whole file that the command line names; - is standard input.
func (a *App) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.Streams.In)
	}
	return os.ReadFile(a.path(name))
}

// fileFault is a file that cannot be used: the command line named it, so it is a usage error.
func fileFault(err error) error {
	var fe *checkpointfile.FileError
	if errors.As(err, &fe) {
		return &fault{code: exitUsage, err: err, hint: fe.Hint}
	}
	return err
}

// foreignCheckpoint reads a checkpoint of koffset's or a checkpoint or savepoint of Flink's.
func (o *resetOptions) foreignCheckpoint() (foreignOffsets, error) {
	dir, err := checkpointfile.ParseCheckpointDir(o.position.Ref)
	if err != nil {
		return nil, fileFault(err)
	}
	dir = o.app.path(dir)
	own, _, err := checkpointfile.ReadCheckpoint(dir)
	if err == nil {
		out := map[offset.Partition]offset.Foreign{}
		for _, p := range own.Partitions {
			if !p.Skipped {
				out[p.At()] = offset.Foreign{Committed: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}}
			}
		}
		return foreignOffsets{"": out}, nil
	}
	snap, ferr := flink.Open(dir, flink.Options{})
	if ferr != nil {
		if errors.Is(ferr, flink.ErrNotSnapshot) {
			return nil, fileFault(err)
		}
		return nil, usagef("", "%w", ferr)
	}
	return o.foreignFlink(snap)
}

func (o *resetOptions) foreignFlink(snap *flink.Snapshot) (foreignOffsets, error) {
	if len(snap.OperatorErrors) > 0 {
		return nil, usagef("", "%w", &snap.OperatorErrors[0])
	}
	src, err := o.flinkSource(snap)
	if err != nil {
		return nil, err
	}
	if snap.InFlight {
		o.app.Streams.Warn("the checkpoint holds records between operators: its sources stand behind records that the job has not processed, and a reader that starts there skips them")
	}
	out := map[offset.Partition]offset.Foreign{}
	for _, p := range src.Partitions {
		key := offset.Partition{Topic: p.Topic, Partition: p.Partition}
		switch {
		case p.Next != nil:
			out[key] = offset.Foreign{Committed: offset.Committed{Offset: *p.Next}}
		case p.Marker != "":
			out[key] = offset.Foreign{Marker: offset.Marker(p.Marker)}
		}
	}
	return foreignOffsets{"": out}, nil
}

// flinkSource is the source that --source names, or the only one.
func (o *resetOptions) flinkSource(snap *flink.Snapshot) (*flink.Source, error) {
	var ids []string
	for _, s := range snap.Sources {
		id := s.OperatorID
		if s.UID != "" {
			id = s.UID
		}
		ids = append(ids, id)
	}
	switch {
	case o.sourceID != "":
		if s := snap.SourceByUID(o.sourceID); s != nil {
			return s, nil
		}
		if s := snap.SourceByID(o.sourceID); s != nil {
			return s, nil
		}
		return nil, usagef("its sources are "+strings.Join(ids, ", "), "the checkpoint has no Kafka source %q", o.sourceID)
	case len(snap.Sources) == 1:
		return &snap.Sources[0], nil
	case len(snap.Sources) == 0:
		return nil, usagef("", "%s: the checkpoint has no Kafka source", filepath.Base(o.position.Ref))
	}
	return nil, usagef("add --source with one of "+strings.Join(ids, ", "), "the checkpoint has %d Kafka sources", len(snap.Sources))
}
