package offset

import "errors"

// ErrorKind is what sort of trouble an error is, for a program that branches on it. Nobody has to be shown one: the command line
// makes its exit statuses of them.
type ErrorKind uint8

// The kinds. There are no others.
const (
	KindNone        ErrorKind = iota // no trouble
	KindFailed                       // nothing that is more than "it failed" is known
	KindUsage                        // what was asked for cannot be: a word, a combination, a setting
	KindRefused                      // a safety check refused, or somebody declined; nothing was changed
	KindPartial                      // some was done or is known, and some not
	KindNotFound                     // no such group, topic or partition
	KindUnreachable                  // no broker answers, or not in time
	KindDenied                       // not authenticated, or a right is missing
	KindCheck                        // a check did not hold
	KindInterrupted                  // somebody ended it
)

// ErrorKinds are all of them.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{KindNone, KindFailed, KindUsage, KindRefused, KindPartial, KindNotFound, KindUnreachable, KindDenied, KindCheck, KindInterrupted}
}

// KindOf is the kind of the outermost error in the chain that says one, by a method ErrorKind; KindFailed where none does,
// and KindNone for nil.
func KindOf(err error) ErrorKind {
	if err == nil {
		return KindNone
	}
	var k interface {
		error
		ErrorKind() ErrorKind
	}
	if errors.As(err, &k) {
		return k.ErrorKind()
	}
	return KindFailed
}

// NewError is an error of a kind that says no more than its text, for the sentinels of packages.
func NewError(k ErrorKind, text string) error { return &kindError{k, text} }

type kindError struct {
	kind ErrorKind
	text string
}

func (e *kindError) Error() string { return e.text }

// ErrorKind is the kind that the error was made with.
func (e *kindError) ErrorKind() ErrorKind { return e.kind }
