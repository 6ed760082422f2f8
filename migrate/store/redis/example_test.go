package redis_test

import (
	"context"
	"fmt"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/redis"
)

func ExampleOpen() {
	ctx := context.Background()
	place, err := store.Parse("redis://127.0.0.1/0")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := redis.Open(ctx, place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	saved, err := s.Load(ctx, "billing")
	fmt.Println(len(saved.Positions), err)
}
