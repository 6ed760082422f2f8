//go:build realkafka

package redis_test

import (
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/internal/storetest"
	"github.com/koffset/koffset/migrate/store/redis"
)

func TestRedis(t *testing.T) {
	server := kafkatest.StartRedis(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		l, err := store.Parse(server.URL + "?key=app:{group}:offsets")
		if err != nil {
			t.Fatal(err)
		}
		s, err := redis.Open(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
