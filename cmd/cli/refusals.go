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
	hint := HintOf(errs[0])
	if hint == "" {
		hint = "nothing was written"
	}
	code := offset.KindRefused
	if !slices.ContainsFunc(errs, isRefusal) {
		code, _ = Classify(errs[0])
	}
	return &Fault{Kind: code, Err: errors.Join(shown...), Hint: hint}
}

// isRefusal tells a rule that refused from a partition that could not be read.
func isRefusal(err error) bool {
	var r *offset.Refusal
	return !errors.As(err, &r) || r.Err == nil
}
