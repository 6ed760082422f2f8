package act

// How a command that writes ends: its exit status, and the audit log.

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// kindOf is what groups have in common that were all left out.
func kindOf(failed []*reset.GroupError) offset.ErrorKind {
	var kinds []offset.ErrorKind
	for _, g := range failed {
		kind, _ := cli.Classify(g.Err)
		kinds = append(kinds, kind)
	}
	return common(kinds)
}

// rowsKind is what the failures have in common where every row that was sent failed.
func rowsKind(rows []reset.Row) offset.ErrorKind {
	var kinds []offset.ErrorKind
	for _, r := range rows {
		if r.Err == nil || good(r.Outcome) {
			continue
		}
		kind, _ := cli.Classify(r.Err)
		if errors.Is(r.Err, kerr.UnknownTopicOrPartition) || errors.Is(r.Err, kerr.GroupIDNotFound) {
			kind = offset.KindNotFound
		}
		kinds = append(kinds, kind)
	}
	return common(kinds)
}

// common is the kind that all have; failed where they differ, or there is none.
func common(kinds []offset.ErrorKind) offset.ErrorKind {
	if k := slices.Compact(kinds); len(k) == 1 {
		return k[0]
	}
	return offset.KindFailed
}

func (w *Run) auditFiles() []string {
	g := w.S.Settings.Guards(w.S.Cluster.ID)
	var out []string
	for _, l := range g.AuditLogs {
		out = append(out, l.Path)
	}
	if len(out) > 0 {
		return out
	}
	return []string{checkpointfile.AuditFile(w.S.Settings.StateDir)}
}

// auditReady refuses to change anything that could not be written down.
func (w *Run) auditReady() error {
	if w.S.Settings.StateDir == "" {
		return cli.Faultf(offset.KindRefused, "name a folder with --state-dir; nothing was changed", "the undo journal has no folder")
	}
	for _, path := range w.auditFiles() {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			var f *os.File
			if f, err = wholefile.OpenAppend(path); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			return cli.Faultf(offset.KindRefused, "choose another folder with --state-dir, or another audit_log; nothing was changed", "the audit log cannot be written: %w", err)
		}
	}
	return nil
}

// NotPlanned writes down that a command that was to be executed came to no plan, and returns err. groups are those that it
// was asked for, as far as it names them.
func (w *Flags) NotPlanned(a *cli.App, s *cli.Session, verb string, groups []string, err error) error {
	if err == nil {
		return nil
	}
	p := &reset.Plan{Verb: verb}
	for _, g := range groups {
		p.Groups = append(p.Groups, checkpointfile.PlanGroup{Name: g})
	}
	r := &Run{App: a, S: s, Flags: w, Built: &reset.Built{Plan: p}}
	r.Refused(err)
	return err
}

// audit appends a line to the audit logs. Failing to do so after the fact is said, and changes nothing about what was done.
func (w *Run) audit(res *reset.Result, outcome string, err error) {
	w.audited = true
	p := w.Built.Plan
	a := checkpointfile.Audit{Time: w.App.Now(), User: UserName(w.App), Host: HostName(), Version: w.App.Version, Command: w.App.CommandLine(),
		Verb: p.Verb, ClusterID: w.S.Cluster.ID, Profile: w.S.Settings.Profile, Groups: w.auditNames(), PlanDigest: p.Digest, Outcome: outcome}
	if res != nil {
		a.UndoID, a.Changed, a.Unknown = res.UndoID, res.Count(reset.OutcomeChanged), res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified)
		a.Failed = res.Bad() - a.Unknown
		for _, g := range res.Groups {
			switch {
			case g.Outcome == reset.OutcomeDeleted:
				a.Deleted = append(a.Deleted, g.Name)
			case g.Outcome == reset.OutcomeUnknown, g.Outcome == reset.OutcomeUnverified:
				a.Unknown++
			case g.Bad():
				a.Failed++
			}
		}
	}
	if err != nil {
		a.Error = offset.Mask(err.Error())
	}
	if w.S.Settings.StateDir == "" && len(w.S.Settings.Guards(w.S.Cluster.ID).AuditLogs) == 0 {
		return
	}
	for _, path := range w.auditFiles() {
		if err := checkpointfile.AppendAudit(path, a); err != nil {
			w.App.Streams.Warn("%v", err)
		}
	}
}

func auditWord(code offset.ErrorKind, res *reset.Result) string {
	switch {
	case code == offset.KindNone:
		return "done"
	case code == offset.KindPartial && (res.Count(reset.OutcomeChanged) > 0 || len(badGroups(res)) < len(res.Groups)):
		return "partial"
	case res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified) > 0:
		return "unknown"
	}
	return "failed"
}

// auditNames are the groups that a command was about, also those that it could not make a plan for.
func (w *Run) auditNames() []string {
	names := w.groupNames()
	for _, g := range w.Built.Failed {
		if !slices.Contains(names, g.Group) {
			names = append(names, g.Group)
		}
	}
	return names
}
