package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// RefusedRows names the first few refusals: all of them are in the rows.
func RefusedRows(errs []error) error {
	shown := errs[:min(5, len(errs))]
	if n := len(errs) - len(shown); n > 0 {
		shown = append(slices.Clone(shown), fmt.Errorf("and %s, all in the rows", text.More(n, "partition")))
	}
	code := offset.KindRefused
	if !slices.ContainsFunc(errs, isRefusal) {
		code, _ = Classify(errs[0])
	}
	f := &Fault{Kind: code, Err: errors.Join(shown...), Hint: HintOf(errs[0])}
	if f.Hint == "" {
		return Saying(f, "nothing was written")
	}
	return f
}

// Saying ends the error of a fault with what became of it, such as "nothing was changed": that is no next step, and so no hint. Of
// several lines it ends the last.
func Saying(err error, what string) error {
	var f *Fault
	if !errors.As(err, &f) || f.Err == nil {
		return err
	}
	said := *f
	said.Err = fmt.Errorf("%w; %s", f.Err, what)
	if list, ok := f.Err.(interface{ Unwrap() []error }); ok && len(list.Unwrap()) > 0 {
		lines := slices.Clone(list.Unwrap())
		last := len(lines) - 1
		lines[last] = fmt.Errorf("%w; %s", lines[last], what)
		said.Err = errors.Join(lines...)
	}
	return &said
}

// isRefusal tells a rule that refused from a partition that could not be read.
func isRefusal(err error) bool {
	var r *offset.Refusal
	return !errors.As(err, &r) || r.Err == nil
}
