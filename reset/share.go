package reset

// Share groups (KIP-932): their start offsets have calls of their own.

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
)

func (a *applier) readBackShare(ctx context.Context, groups []string, out standing) {
	for name, s := range inspect.ReadShareOffsets(ctx, a.cl, groups) {
		// A group that is gone has nothing stored.
		if s.Err != nil && !errors.Is(s.Err, kerr.GroupIDNotFound) {
			out.groups[name] = s.Err
		}
		for _, r := range s.Rows {
			if r.Err != nil {
				out.rows[Key{Group: name, Partition: r.Partition}] = r.Err
			}
			if r.Start != nil {
				out.stored[Key{Group: name, Partition: r.Partition}] = &Commit{Offset: *r.Start}
			}
		}
	}
}
