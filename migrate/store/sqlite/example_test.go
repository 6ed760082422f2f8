package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/sqlite"
	"github.com/koffset/koffset/offset"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "koffset-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	place, err := store.Parse("sqlite:" + filepath.Join(dir, "positions.db") + "?create=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sqlite.Open(ctx, place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	at := []store.Position{{Partition: offset.Partition{Topic: "orders"}, Committed: offset.Committed{Offset: 42}}}
	if err := s.Save(ctx, store.Write{Group: "billing", ClusterID: "one", At: time.Unix(1_764_417_600, 0), Positions: at}); err != nil {
		fmt.Println(err)
		return
	}
	saved, err := s.Load(ctx, "billing")
	fmt.Println(saved.Positions[0].Partition, saved.Positions[0].Offset, err)
	// Output:
	// orders:0 42 <nil>
}
