package state

import (
	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/internal/render"
)

func snapshotCell(s *checkpointfile.Snapshot) render.Cell {
	if s.Own != nil {
		return render.Object(render.F("engine", render.String(string(s.Engine))), render.F("path", render.String(s.Path)),
			render.F("kind", render.String(string(flink.Checkpoint))), render.F("format", render.None()), render.F("type", render.Text(s.Own.Final)),
			render.F("checkpoint_id", render.Int(s.Own.ID)), render.F("metadata_version", render.Int(int64(s.Header.SchemaVersion))),
			render.F("job_id", render.String(s.Own.Job)), render.F("group", render.Text(s.Own.Group)), render.F("written_at", render.Time(s.Header.CreatedAt)),
			render.F("in_flight", render.Bool(false)), render.F("warnings", render.List()))
	}
	f := s.Flink
	var warnings []render.Cell
	for _, w := range f.Warnings {
		warnings = append(warnings, render.Object(render.F("code", render.String(string(w.Code))), render.F("operator_id", render.Text(w.OperatorID)),
			render.F("topic", render.Text(w.Topic)), render.F("count", render.Int(w.Count)), render.F("message", render.String(w.Message))))
	}
	return render.Object(render.F("engine", render.String(string(s.Engine))), render.F("path", render.String(s.Path)),
		render.F("kind", render.String(string(f.Kind))), render.F("format", render.Text(string(f.Format))), render.F("type", render.Text(f.TypeName)),
		render.F("checkpoint_id", render.Int(f.CheckpointID)), render.F("metadata_version", render.Int(int64(f.MetadataVersion))),
		render.F("job_id", render.Text(f.JobID)), render.F("group", render.None()), render.F("written_at", render.None()),
		render.F("in_flight", render.Bool(f.InFlight)), render.F("warnings", render.List(warnings...)))
}

func operatorErrors(s *checkpointfile.Snapshot) render.Cell {
	var out []render.Cell
	if s.Flink != nil {
		for _, e := range s.Flink.OperatorErrors {
			out = append(out, render.Object(render.F("operator_id", render.String(e.OperatorID)), render.F("uid", render.Text(e.UID)),
				render.F("name", render.Text(e.Name)), render.F("error", render.String(e.Err.Error()))))
		}
	}
	return render.List(out...)
}
