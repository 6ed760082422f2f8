//go:build realkafka

package mysql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/internal/storetest"
	"github.com/koffset/koffset/migrate/store/mysql"
)

func TestMariaDB(t *testing.T) {
	server := kafkatest.StartMariaDB(t)
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
	missing, err := mysql.Open(t.Context(), at("table=offsets"))
	if err != nil {
		t.Fatal(err)
	}
	var me *store.MissingError
	if _, err := missing.Load(t.Context(), "g"); !errors.As(err, &me) {
		t.Errorf("a table that does not exist gives %v", err)
	}
	_ = missing.Close()
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := mysql.Open(t.Context(), at("table=offsets&create=true"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
	wrong := at("table=offsets")
	wrong.URL.Host = "127.0.0.1:1"
	if s, err := mysql.Open(t.Context(), wrong); err == nil {
		t.Error("nothing listens there")
		_ = s.Close()
	} else if strings.Contains(err.Error(), kafkatest.DatabasePassword) {
		t.Errorf("the error shows the password: %v", err)
	}
}
