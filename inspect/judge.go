package inspect

import (
	"slices"

	"github.com/koffset/koffset/offset"
)

// Status is the state of one committed partition; the strings are stable.
type Status string

// The statuses of a partition, from the healthiest on.
const (
	StatusOK            Status = "ok"
	StatusNoCommit      Status = "no-commit"       // the group commits elsewhere on the topic, or is asked about it
	StatusUnstable      Status = "unstable"        // a transaction holds a commit that is not final
	StatusBelowLogStart Status = "below-log-start" // retention removed what the group would read next
	StatusPastLogEnd    Status = "past-log-end"    // the commit lies outside the log: it was truncated or recreated
	StatusInvalidCommit Status = "invalid-commit"  // a stored number that is no offset
	StatusUnknownTopic  Status = "unknown-topic"   // the topic or partition is gone
	StatusError         Status = "error"           // it could not be read
)

var bySeverity = []Status{StatusOK, StatusNoCommit, StatusUnstable, StatusBelowLogStart, StatusPastLogEnd, StatusInvalidCommit, StatusUnknownTopic, StatusError}

// Statuses are all statuses, from the healthiest on.
func Statuses() []Status { return slices.Clone(bySeverity) }

// Worse returns the worse of two statuses.
func Worse(a, b Status) Status {
	if slices.Index(bySeverity, a) >= slices.Index(bySeverity, b) {
		return a
	}
	return b
}

// Unhealthy says that a reader of this partition will fail, jump, or has lost records.
func (s Status) Unhealthy() bool {
	return s != StatusOK && s != StatusNoCommit && s != StatusUnstable && s != ""
}

// Verdict is what raw numbers say about a partition. Differences of offsets are at most that many records: gaps and
// transaction markers take offsets too.
type Verdict struct {
	Status Status
	// Lag is how many offsets lie between the commit, or the log start where the commit has expired, and the log end under
	// the isolation in force. nil where there is nothing to subtract: it is never 0 for a commit past the end.
	Lag *int64
	// ExpiredUnread is how many offsets retention removed before the group read them.
	ExpiredUnread int64
	// Ahead is how far a commit lies past the log end.
	Ahead int64
	// HeldBack is how many offsets lie behind an open transaction: log end less last stable offset.
	HeldBack int64
}

// Judge computes status and lag from raw numbers. It is pure. A nil commit is no commit; nil bounds are not known, and
// the caller says why by setting the status.
func Judge(c *offset.Committed, unstable bool, b *offset.Bounds, iso offset.Isolation) Verdict {
	return judge(c, unstable, b, iso, new(int64))
}

// judge is Judge with a place for the lag.
func judge(c *offset.Committed, unstable bool, b *offset.Bounds, iso offset.Isolation, lag *int64) Verdict {
	v := Verdict{Status: StatusOK}
	if b != nil {
		v.HeldBack = b.End - b.LastStable
	}
	switch {
	case c == nil && unstable:
		v.Status = StatusUnstable
		return v
	case c == nil:
		v.Status = StatusNoCommit
		return v
	case c.Offset < 0:
		v.Status = StatusInvalidCommit
		return v
	case b == nil:
		v.Status = StatusError
		return v
	case c.Offset > b.End:
		v.Status, v.Ahead = StatusPastLogEnd, c.Offset-b.End
		return v
	}
	if unstable {
		v.Status = StatusUnstable
	}
	if c.Offset < b.Start {
		v.Status, v.ExpiredUnread = StatusBelowLogStart, b.Start-c.Offset
	}
	*lag = max(0, b.EndFor(iso)-max(c.Offset, b.Start))
	v.Lag = lag
	return v
}
