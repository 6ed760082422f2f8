package migrate_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/migrate"
)

// export exports groups through the file format, so that every test also tests that.
func export(t testing.TB, cl *kgo.Client, groups ...string) *migrate.Export {
	t.Helper()
	data := exportFile(t, cl, groups...)
	x, err := migrate.ReadExport("export", bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return x
}

func exportFile(t testing.TB, cl *kgo.Client, groups ...string) []byte {
	t.Helper()
	o := migrate.ExportOptions{Fingerprints: true, CreatedAt: time.Unix(1_700_000_000, 0), Version: "test"}
	for _, g := range groups {
		o.Groups = append(o.Groups, inspect.Group{Name: g})
	}
	var b bytes.Buffer
	var w *migrate.Writer
	incomplete, err := migrate.ReadGroups(t.Context(), cl, o, migrate.Sink{
		Begin: func(h migrate.Header) (err error) { w, err = migrate.NewWriter(&b, h); return err },
		Group: func(g migrate.Group) error { return w.Group(g) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(incomplete); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
