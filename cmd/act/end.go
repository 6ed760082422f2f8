package act

// How a command that writes ends: its exit status, and the audit log.

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/wholefile"
	"github.com/koffset/koffset/reset"
)

// codeOf is the status of groups that were all left out: the one they have in common, or 1.
func (w *Run) codeOf(failed []*reset.GroupError) int {
	code := -1
	for _, g := range failed {
		var missing *reset.NotFoundError
		var drift *reset.DriftError
		one := cli.ExitFailed
		switch {
		case errors.As(g.Err, &missing), errors.Is(g.Err, reset.ErrNothingInScope):
			one = cli.ExitNotFound
		case cli.Denied(g.Err):
			one = cli.ExitDenied
		case errors.As(g.Err, &drift), errors.Is(g.Err, reset.ErrBecameActive):
			one = cli.ExitRefused
		default:
			one, _ = cli.Classify(g.Err)
		}
		if code >= 0 && code != one {
			return cli.ExitFailed
		}
		code = one
	}
	return code
}

// rowsCode is the status where every row that was sent failed.
func rowsCode(rows []reset.Row) int {
	code := -1
	for _, r := range rows {
		if r.Err == nil || good(r.Outcome) {
			continue
		}
		one := cli.ExitFailed
		switch {
		case errors.Is(r.Err, reset.ErrBecameActive):
			one = cli.ExitRefused
		case cli.Denied(r.Err):
			one = cli.ExitDenied
		case errors.Is(r.Err, kerr.UnknownTopicOrPartition), errors.Is(r.Err, kerr.GroupIDNotFound):
			one = cli.ExitNotFound
		default:
			one, _ = cli.Classify(r.Err)
		}
		if code >= 0 && code != one {
			return cli.ExitFailed
		}
		code = one
	}
	if code < 0 {
		return cli.ExitFailed
	}
	return code
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
		return cli.Faultf(cli.ExitRefused, "name a folder with --state-dir; nothing was changed", "there is no place for the undo journal")
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
			return cli.Faultf(cli.ExitRefused, "choose another folder with --state-dir, or another audit_log; nothing was changed", "the audit log cannot be written: %w", err)
		}
	}
	return nil
}

// audit appends a line to the audit logs. Failing to do so after the fact is said, and changes nothing about what was done.
func (w *Run) audit(res *reset.Result, outcome string, err error) {
	p := w.Built.Plan
	a := checkpointfile.Audit{Time: w.App.Now(), User: UserName(w.App), Host: HostName(), Version: w.App.Version, Command: w.App.CommandLine(),
		Verb: p.Verb, ClusterID: w.S.Cluster.ID, Profile: w.S.Settings.Profile, Groups: w.groupNames(), PlanDigest: p.Digest, Outcome: outcome}
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
		a.Error = err.Error()
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

func auditWord(code int, res *reset.Result) string {
	switch {
	case code == cli.ExitDone:
		return "done"
	case code == cli.ExitPartial && (res.Count(reset.OutcomeChanged) > 0 || len(badGroups(res)) < len(res.Groups)):
		return "partial"
	case res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified) > 0:
		return "unknown"
	}
	return "failed"
}
