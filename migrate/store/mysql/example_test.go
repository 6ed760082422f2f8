package mysql_test

import (
	"context"
	"fmt"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/mysql"
)

func ExampleOpen() {
	ctx := context.Background()
	place, err := store.Parse("mysql://user@127.0.0.1/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := mysql.Open(ctx, place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	saved, err := s.Load(ctx, "billing")
	fmt.Println(len(saved.Positions), err)
}
