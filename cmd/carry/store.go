package carry

import (
	"context"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

// saveTo stores the positions of one group.
func saveTo(ctx context.Context, s store.Store, w store.Write) error {
	return cli.StoreFault(s.Save(ctx, w))
}

// storePositions are commits as a store takes them.
func storePositions(at map[offset.Partition]offset.Committed, ids map[string]string) []store.Position {
	out := make([]store.Position, 0, len(at))
	for p, c := range at {
		out = append(out, store.Position{Partition: p, Committed: c, TopicID: ids[p.Topic]})
	}
	store.Sort(out)
	return out
}
