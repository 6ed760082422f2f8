package inspect

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/offset"
)

// LagBasis says how a lag in time was found.
type LagBasis string

// The bases of a lag in time.
const (
	LagExact        LagBasis = "exact"        // from the time of the record itself
	LagInterpolated LagBasis = "interpolated" // from when the log end was seen to pass the offset
	LagAtLeast      LagBasis = "at-least"     // it may be more: the log end had passed the offset before the first sample, or another partition's age is unknown
)

// AgeReason says why an age is unknown; the strings are stable.
type AgeReason string

// The reasons why an age is unknown.
const (
	AgeNoTimestamp AgeReason = "no-timestamp"     // the next record carries no time
	AgeFuture      AgeReason = "future-timestamp" // the next record's time lies ahead of now
	AgeNoCommit    AgeReason = "no-commit"        // nothing is committed, so which record is read next is unknown
	AgeDenied      AgeReason = "not-authorized"   // fetching the record needs READ on the topic
	AgeNotRead     AgeReason = "not-read"         // the record was not fetched yet
	AgeFailed      AgeReason = "error"            // the record could not be fetched
)

// LagTime is the age of the next record to read. It is either known, with the offset that it rests on, or unknown for a
// reason. Nothing left to read is a known age of zero that rests on no record.
type LagTime struct {
	D     time.Duration
	Known bool
	Basis LagBasis // empty where nothing is left to read
	// Record is the offset of the record whose age this is; meaningful where Known and Basis is not empty.
	Record int64
	// Unknown is why, where Known is false.
	Unknown AgeReason
}

// NothingLeft is the age where no record waits.
func NothingLeft() LagTime { return LagTime{Known: true} }

// UnknownAge is an age that is unknown for that reason.
func UnknownAge(why AgeReason) LagTime { return LagTime{Unknown: why} }

// AgeOf is the age of a record at a moment.
func AgeOf(r offset.Record, now time.Time) LagTime {
	switch d, ok := r.Age(now); {
	case ok:
		return LagTime{D: d, Known: true, Basis: LagExact, Record: r.Offset}
	case r.TimeKind(now) == offset.TimeAbsent:
		return UnknownAge(AgeNoTimestamp)
	}
	return UnknownAge(AgeFuture)
}

// ageReasonOf is why an age is unknown after a fetch that failed.
func ageReasonOf(err error) AgeReason {
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return AgeDenied
	}
	return AgeFailed
}

// AgeSum finds the oldest of several ages without forgetting the unknown ones.
type AgeSum struct {
	// Unknown is how many ages are unknown, Why the reason of the first of them.
	Unknown int
	Why     AgeReason

	oldest  LagTime
	atLeast bool
}

// Add takes one age in.
func (a *AgeSum) Add(t LagTime) {
	if !t.Known {
		if a.Unknown++; a.Unknown == 1 {
			a.Why = t.Unknown
		}
		return
	}
	a.atLeast = a.atLeast || t.Basis == LagAtLeast
	if !a.oldest.Known || t.D > a.oldest.D {
		a.oldest = t
	}
}

// Oldest is the largest of the ages. Where one of them is unknown or a minimum, so is the largest: the basis is at-least, and
// where nothing above zero is known the whole is unknown.
func (a *AgeSum) Oldest() LagTime {
	switch {
	case a.Unknown > 0 && a.oldest.D == 0:
		return UnknownAge(a.Why)
	case a.oldest.D > 0 && (a.atLeast || a.Unknown > 0):
		t := a.oldest
		t.Basis = LagAtLeast
		return t
	}
	return a.oldest
}
