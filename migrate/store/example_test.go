package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

// The number of a position means nothing on another cluster: a save for one is refused.
func ExampleOpenFile() {
	dir, err := os.MkdirTemp("", "koffset-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	s := store.OpenFile(filepath.Join(dir, "positions.json"), "example")
	defer s.Close()
	at := []store.Position{{Partition: offset.Partition{Topic: "orders"}, Committed: offset.Committed{Offset: 42}}}
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	fmt.Println(s.Save(ctx, store.Write{Group: "billing", ClusterID: "one", At: now, Positions: at}))
	saved, err := s.Load(ctx, "billing")
	fmt.Println(saved.ClusterID, saved.Positions[0].Partition, saved.Positions[0].Offset, err)
	fmt.Println(s.Save(ctx, store.Write{Group: "billing", ClusterID: "two", At: now, Positions: at}))
	// Output:
	// <nil>
	// one orders:0 42 <nil>
	// group billing: its stored positions belong to cluster one, not two
}
