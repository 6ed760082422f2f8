package cli

// Positions that lie somewhere else: another group, a file, a checkpoint.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// ForeignOffsets are offsets by group; the entry "" is for every group.
type ForeignOffsets = map[string]map[offset.Partition]offset.Foreign

// LoadForeign reads what a position names; nil where it names nothing. flags choose the source of a checkpoint.
func (s *Session) LoadForeign(ctx context.Context, pos offset.Position, flags *SnapshotFlags) (ForeignOffsets, error) {
	switch pos.Kind {
	case offset.OfGroup:
		return s.foreignGroup(ctx, pos)
	case offset.OfFile:
		return s.App.ForeignFile(pos.Ref)
	case offset.OfCheckpoint:
		found, err := s.App.PositionsOf(pos.Ref, flags)
		if err != nil {
			return nil, err
		}
		return ForeignOffsets{"": found}, nil
	case offset.OfStore:
		return s.App.ForeignStore(ctx, pos.Ref, s.Cluster.ID, nil)
	case offset.ByPartition:
		for p, one := range pos.Map {
			if one.Needs().Foreign {
				return nil, Usagef("give "+one.String()+" for all partitions, with --topic for some", "%s=%s: a map takes offsets, words and times", p, one)
			}
		}
	}
	return nil, nil
}

func (s *Session) foreignGroup(ctx context.Context, pos offset.Position) (ForeignOffsets, error) {
	c, err := inspect.ReadCommitsOf(ctx, s.Client, pos.Ref)
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", pos.Ref, err)
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
		return nil, Faultf(offset.KindNotFound, "koffset inspect "+pos.Ref, "group %q has no commits to take", pos.Ref)
	}
	return ForeignOffsets{"": out}, nil
}

// ForeignFile reads Kafka's CSV, rpk's text, kcl's JSON, an export of koffset's, or a plan: the offsets that it would store.
func (a *App) ForeignFile(name string) (ForeignOffsets, error) {
	data, err := a.ReadFile(name)
	if err != nil {
		return nil, Usagef("", "%w", err)
	}
	out := ForeignOffsets{}
	put := func(group string, p offset.Partition, f offset.Foreign) {
		if out[group] == nil {
			out[group] = map[offset.Partition]offset.Foreign{}
		}
		out[group][p] = f
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		if isExport(trimmed) {
			x, err := migrate.ReadExport(name, bytes.NewReader(data))
			if err != nil {
				return nil, FileFault(err)
			}
			for _, g := range x.Groups {
				for _, r := range g.Rows {
					switch {
					case r.Committed != nil:
						put(g.Name, r.Partition, offset.Foreign{Committed: *r.Committed})
					case r.Marker != "":
						put(g.Name, r.Partition, offset.Foreign{Marker: r.Marker})
					}
				}
			}
			return out, nil
		}
		p, _, err := checkpointfile.DecodePlan(name, data)
		if err != nil {
			return nil, FileFault(err)
		}
		for _, c := range p.Changes {
			if c.To != nil {
				put(c.Group, c.Partition, offset.Foreign{Committed: offset.Committed{Offset: c.To.Offset, LeaderEpoch: c.To.LeaderEpoch, Metadata: c.To.Metadata}})
			}
		}
		return out, nil
	}
	format, ok := migrate.GuessFormat(data)
	if !ok || format == migrate.FormatExport || format == migrate.FormatPlan {
		format = migrate.FormatKafkaCSV // whose reader says what is wrong with it
	}
	rows, err := migrate.ReadOffsets(name, format, data)
	if err != nil {
		return nil, FileFault(err)
	}
	for _, r := range rows {
		put(r.Group, r.Partition, offset.Foreign{Committed: offset.Committed{Offset: r.Offset}})
	}
	return out, nil
}

// isExport looks at the first value of a file of several.
func isExport(data []byte) bool {
	var head struct {
		Kind checkpointfile.Kind `json:"kind"`
	}
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&head)
	return err == nil && head.Kind == checkpointfile.KindExport
}
