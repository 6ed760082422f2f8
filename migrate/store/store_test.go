package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/internal/storetest"
	"github.com/koffset/koffset/offset"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offsets.json")
	f := store.OpenFile(path, "test")
	storetest.Run(t, func(*testing.T) store.Store { return f })
	again, err := store.OpenFile(path, "test").Load(t.Context(), "wide")
	if err != nil || len(again.Positions) != 1201 {
		t.Fatalf("opened again it has %d positions, %v", len(again.Positions), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"offset":7,`, `"offset":8,`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenFile(path, "test").Load(t.Context(), "wide"); !errors.Is(err, checkpointfile.ErrDamaged) {
		t.Errorf("a file that was edited gives %v", err)
	}
}

// Several processes save at once, each its own group: none loses another's.
func TestFileOfSeveral(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offsets.json")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for range 5 { // a store of its own has a mutex of its own
				w := store.Write{Group: fmt.Sprint("g", n), At: time.Unix(1, 0), Positions: []store.Position{{Partition: offset.Partition{Topic: "t"}, Committed: offset.Committed{Offset: 1}}}}
				if err := store.OpenFile(path, "test").Save(t.Context(), w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if groups, err := store.OpenFile(path, "test").Groups(t.Context()); err != nil || len(groups) != 8 {
		t.Errorf("%d of 8 groups are there: %v, %v", len(groups), groups, err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"file:a/b.json", "file:a/b.json"},
		{"file:///var/lib/x", "file:/var/lib/x"},
		{"sqlite:x.db?create=true&table=o", "sqlite:x.db"},
		{"postgres://u:secret@h:5/db?table=s.offsets&sslmode=disable", "postgres://u:***@h:5/db?sslmode=disable table s.offsets"},
		{"mariadb://u@h/db", "mariadb://u@h/db table koffset_offsets"},
		{"redis://h:1/2?key=app:{group}:pos", "redis://h:1/2 key app:{group}:pos"},
		{"redis://h/0", "redis://h/0 key koffset:{group}"},
	} {
		l, err := store.Parse(c.in)
		if err != nil || l.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", c.in, l.String(), err, c.want)
		}
	}
	for _, in := range []string{"offsets.json", "file:", "http://h/x", "postgres:///db", "postgres://u:secret@h/db?table=a;drop", "redis://:secret@h/0?key=koffset",
		"sqlite:x?tabel=o", "file:x?create=perhaps", "mysql://u:secret@h:port/db", "postgres://u:secret@"} {
		l, err := store.Parse(in)
		if err == nil {
			t.Errorf("%s: read as %s", in, l)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if l, _ := store.Parse("sqlite:x?create=true&group=g"); !l.Create || l.Group != "g" {
		t.Errorf("parameters were lost: %+v", l)
	}
}

// Whatever a driver says about a location, its passwords are not in it.
func TestHide(t *testing.T) {
	l, err := store.Parse("postgres://u:p%40ss@h/db?sslpassword=k3y&table=t&application_name=a")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New(`cannot parse "postgres://u:p%40ss@h/db": dial with p@ss and k3y`)
	got := l.Hide(cause)
	if text := got.Error(); strings.Contains(text, "ss@") || strings.Contains(text, "k3y") || strings.Contains(text, "p%40ss") || !errors.Is(got, cause) {
		t.Errorf("%v", got)
	}
	if plain := errors.New("no route to host"); l.Hide(plain) != plain || l.Hide(nil) != nil {
		t.Error("an error without a secret became another one")
	}
	if s := l.String(); strings.Contains(s, "k3y") || strings.Contains(s, "ss@") {
		t.Error(s)
	}
}
