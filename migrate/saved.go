package migrate

// Offsets in a file of any form that is read, with where they come from.

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/offset"
)

// ReadSaved reads an export, a plan (the offsets that it would store), or a list of another tool, and says where the
// offsets come from. An empty form is guessed. incomplete says that the file says so of itself. The error is a
// *checkpointfile.FileError.
func ReadSaved(name string, form Format, data []byte) (by *offset.SavedBy, incomplete bool, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors and shells write one
	if form == "" {
		form = formOf(data)
	}
	switch form {
	case FormatExport:
		x, err := ReadExport(name, bytes.NewReader(data))
		if err != nil {
			return nil, false, err
		}
		return x.saved(name), x.Incomplete, nil
	case FormatPlan:
		by, err = readPlan(name, data)
	default:
		by, err = readList(name, form, data)
	}
	return by, false, err
}

// formOf guesses the form from the whole file: what begins as JSON is a plan unless it says that it is an export.
func formOf(data []byte) Format {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		var head struct {
			Kind checkpointfile.Kind `json:"kind"`
		}
		if err := json.NewDecoder(bytes.NewReader(trimmed)).Decode(&head); err == nil && head.Kind == checkpointfile.KindExport {
			return FormatExport
		}
		return FormatPlan
	}
	if f, ok := GuessFormat(data); ok && f != FormatExport && f != FormatPlan {
		return f
	}
	return FormatKafkaCSV // whose reader says what is wrong with it
}

func (x *Export) saved(name string) *offset.SavedBy {
	by, o := &offset.SavedBy{}, x.Origin(name)
	for _, g := range x.Groups {
		group := &g.Name
		if g.Any {
			group = nil
		}
		for _, r := range g.Rows {
			switch {
			case r.Committed != nil:
				by.Put(o, group, r.Partition, offset.Foreign{Committed: *r.Committed, Provisional: r.Provisional})
			case r.Marker != "":
				by.Put(o, group, r.Partition, offset.Foreign{Marker: r.Marker})
			case r.Provisional:
				by.Put(o, group, r.Partition, offset.Foreign{Provisional: true, NoValue: true})
			}
		}
	}
	return by
}

func readPlan(name string, data []byte) (*offset.SavedBy, error) {
	p, _, err := checkpointfile.DecodePlan(name, data)
	if err != nil {
		return nil, err
	}
	by, o := &offset.SavedBy{}, p.Origin()
	for _, c := range p.Changes {
		if c.To != nil {
			by.Put(o, &c.Group, c.Partition, offset.Foreign{Committed: offset.Committed{Offset: c.To.Offset, LeaderEpoch: c.To.LeaderEpoch, Metadata: c.To.Metadata}})
		}
	}
	return by, nil
}

// readList reads a list of another tool, which knows nothing but numbers.
func readList(name string, form Format, data []byte) (*offset.SavedBy, error) {
	rows, err := ReadOffsets(name, form, data)
	if err != nil {
		return nil, err
	}
	by, o := &offset.SavedBy{}, offset.Origin{From: name}
	for _, r := range rows {
		group := &r.Group
		if !r.Grouped {
			group = nil
		}
		by.Put(o, group, r.Partition, offset.Foreign{Committed: offset.Committed{Offset: r.Offset}})
	}
	return by, nil
}

// ExportOf makes an export of offsets in another form, so that they are carried as an export is: with what they know about
// where they come from, and no records around them.
func ExportOf(name string, from map[string]offset.Saved) *Export {
	x := &Export{Header: Header{Source: name}}
	ids := map[string]string{}
	for _, group := range slices.Sorted(maps.Keys(from)) {
		one := from[group]
		x.ClusterID, x.CreatedAt, x.Digest, x.Unsealed = one.Origin.ClusterID, one.Origin.At, one.Origin.Digest, one.Origin.Unsealed
		maps.Copy(ids, one.Origin.TopicIDs)
		g := Group{Name: group}
		for _, p := range slices.SortedFunc(maps.Keys(one.Offsets), offset.Partition.Compare) {
			f := one.Offsets[p]
			row := Row{Group: group, Partition: p, Marker: f.Marker, Provisional: f.Provisional}
			if f.Marker == "" && !f.NoValue {
				row.Committed = &f.Committed
			}
			g.Rows = append(g.Rows, row)
		}
		x.Groups = append(x.Groups, g)
	}
	for _, t := range slices.Sorted(maps.Keys(ids)) {
		x.Topics = append(x.Topics, Topic{Name: t, ID: ids[t]})
	}
	return x
}
