//go:build realkafka

package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/internal/storetest"
	"github.com/koffset/koffset/migrate/store/postgres"
)

func TestPostgres(t *testing.T) {
	server := kafkatest.StartPostgres(t)
	sep := "?"
	if strings.Contains(server.URL, "?") {
		sep = "&"
	}
	at := func(params string) store.Location {
		l, err := store.Parse(server.URL + sep + params)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	missing, err := postgres.Open(t.Context(), at("table=offsets"))
	if err != nil {
		t.Fatal(err)
	}
	var me *store.MissingError
	if _, err := missing.Load(t.Context(), "g"); !errors.As(err, &me) {
		t.Errorf("a table that does not exist gives %v", err)
	}
	_ = missing.Close()
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := postgres.Open(t.Context(), at("table=offsets&create=true"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
	wrong := at("table=offsets")
	wrong.URL.Host = "127.0.0.1:1"
	if s, err := postgres.Open(t.Context(), wrong); err == nil {
		t.Error("nothing listens there")
		_ = s.Close()
	} else if strings.Contains(err.Error(), kafkatest.DatabasePassword) {
		t.Errorf("the error shows the password: %v", err)
	}
}
