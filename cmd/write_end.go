package cmd

// How a command that writes ends: its exit status, and the audit log.

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/reset"
)

// codeOf is the status of groups that were all left out: the one they have in common, or 1.
func (w *write) codeOf(failed []*reset.GroupError) int {
	code := -1
	for _, g := range failed {
		var missing *reset.NotFoundError
		var drift *reset.DriftError
		one := exitFailed
		switch {
		case errors.As(g.Err, &missing), errors.Is(g.Err, reset.ErrNothingInScope):
			one = exitNotFound
		case denied(g.Err):
			one = exitDenied
		case errors.As(g.Err, &drift), errors.Is(g.Err, reset.ErrBecameActive):
			one = exitRefused
		default:
			one, _ = classify(g.Err)
		}
		if code >= 0 && code != one {
			return exitFailed
		}
		code = one
	}
	return code
}

// rowsCode is the status where every row that was sent failed.
func rowsCode(res *reset.Result) int {
	code := -1
	for _, r := range res.Rows {
		if r.Err == nil || good(r.Outcome) {
			continue
		}
		one := exitFailed
		switch {
		case errors.Is(r.Err, reset.ErrBecameActive):
			one = exitRefused
		case denied(r.Err):
			one = exitDenied
		case errors.Is(r.Err, kerr.UnknownTopicOrPartition), errors.Is(r.Err, kerr.GroupIDNotFound):
			one = exitNotFound
		default:
			one, _ = classify(r.Err)
		}
		if code >= 0 && code != one {
			return exitFailed
		}
		code = one
	}
	if code < 0 {
		return exitFailed
	}
	return code
}

func (w *write) auditFiles() []string {
	g := w.s.settings.Guards(w.s.cluster.ID)
	var out []string
	for _, l := range g.AuditLogs {
		out = append(out, l.Path)
	}
	if len(out) > 0 {
		return out
	}
	return []string{checkpointfile.AuditFile(w.s.settings.StateDir)}
}

// auditReady refuses to change anything that could not be written down.
func (w *write) auditReady() error {
	if w.s.settings.StateDir == "" {
		return faultf(exitRefused, "name a folder with --state-dir; nothing was changed", "there is no place for the undo journal")
	}
	for _, path := range w.auditFiles() {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			return faultf(exitRefused, "choose another folder with --state-dir, or another audit_log; nothing was changed", "the audit log cannot be written: %w", err)
		}
	}
	return nil
}

// audit appends a line to the audit logs. Failing to do so after the fact is said, and changes nothing about what was done.
func (w *write) audit(res *reset.Result, outcome string, err error) {
	p := w.built.Plan
	a := checkpointfile.Audit{Time: w.app.Now(), User: w.app.userName(), Host: hostName(), Version: w.app.Version, Command: w.app.commandLine(),
		Verb: p.Verb, ClusterID: w.s.cluster.ID, Profile: w.s.settings.Profile, Groups: w.groupNames(), PlanDigest: p.Digest, Outcome: outcome}
	if res != nil {
		a.UndoID, a.Changed, a.Unknown = res.UndoID, res.Count(reset.OutcomeChanged), res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified)
		a.Failed = res.Bad() - a.Unknown
	}
	if err != nil {
		a.Error = err.Error()
	}
	if w.s.settings.StateDir == "" && len(w.s.settings.Guards(w.s.cluster.ID).AuditLogs) == 0 {
		return
	}
	for _, path := range w.auditFiles() {
		if err := checkpointfile.AppendAudit(path, a); err != nil {
			w.app.Streams.Warn("%v", err)
		}
	}
}

func auditWord(code int, res *reset.Result) string {
	switch {
	case code == exitDone:
		return "done"
	case code == exitPartial && res.Count(reset.OutcomeChanged) > 0:
		return "partial"
	case res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified) > 0:
		return "unknown"
	}
	return "failed"
}
