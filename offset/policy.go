package offset

import (
	"slices"
	"strings"
)

// OutOfRange decides what happens to a number outside [log start, log end].
type OutOfRange string

// The values of --out-of-range; the empty value is fail.
const (
	OutOfRangeFail  OutOfRange = "fail"
	OutOfRangeClamp OutOfRange = "clamp"
	OutOfRangeSkip  OutOfRange = "skip"
)

// IfNone decides what happens where no record is at or after a time.
type IfNone string

// The values of --if-none; the empty value is latest, and it is said.
const (
	IfNoneLatest   IfNone = "latest"
	IfNoneEarliest IfNone = "earliest"
	IfNoneSkip     IfNone = "skip"
	IfNoneFail     IfNone = "fail"
)

// IfExpired decides what happens where retention removed what was asked for.
type IfExpired string

// The values of --if-expired. The empty value is earliest for a time, and fail for a commit or a restored offset.
const (
	IfExpiredEarliest IfExpired = "earliest"
	IfExpiredLatest   IfExpired = "latest" // only an explicit auto.offset.reset=latest of a consumer sets it
	IfExpiredFail     IfExpired = "fail"
)

// IfNoCommit decides what happens where the group, file or map has nothing for a partition.
type IfNoCommit string

// The values of --if-no-commit; the empty value is fail.
const (
	IfNoCommitFail     IfNoCommit = "fail"
	IfNoCommitSkip     IfNoCommit = "skip"
	IfNoCommitEarliest IfNoCommit = "earliest"
	IfNoCommitLatest   IfNoCommit = "latest"
)

// IfUnknown decides what happens where it is not known what a group had committed at an instant of the past.
type IfUnknown string

// The values of --if-unknown; the empty value is fail.
const (
	IfUnknownFail     IfUnknown = "fail"
	IfUnknownSkip     IfUnknown = "skip"
	IfUnknownOldest   IfUnknown = "oldest-commit" // the first commit after the instant that is known
	IfUnknownEarliest IfUnknown = "earliest"
	IfUnknownLatest   IfUnknown = "latest"
)

// Marked decides what a marker of another system (see [Marker]) becomes.
type Marked string

// The values of --marker; the empty value is fail.
const (
	MarkedFail      Marked = "fail"
	MarkedEarliest  Marked = "earliest"
	MarkedLatest    Marked = "latest"
	MarkedCommitted Marked = "committed"
	MarkedAsWritten Marked = "as-written" // what the marker itself says
)

// Rules are the inputs of Resolve beside the position and the facts: which end counts, and what to do where the plain
// answer does not exist. The zero value refuses everything that is not exact, but takes the end where no record is after
// a time and the first record left where retention removed the time; both say so in the target's reason.
type Rules struct {
	Isolation  Isolation
	OutOfRange OutOfRange
	IfNone     IfNone
	IfExpired  IfExpired
	IfNoCommit IfNoCommit
	IfUnknown  IfUnknown
	Marked     Marked
}

// ParsePolicy reads one of the allowed words of a policy flag. The error is a *SyntaxError that names the flag.
func ParsePolicy[T ~string](flag, s string, allowed ...T) (T, error) {
	if i := slices.Index(allowed, T(s)); i >= 0 {
		return allowed[i], nil
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	var none T
	return none, syntaxf(s, "use "+strings.Join(words, ", "), "%s: %q is not one of its values", flag, s)
}
