package migrate_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
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

// wholeLog reads the data records of a partition.
func wholeLog(t *testing.T, cl *kgo.Client, topic string, p int32) []*kgo.Record {
	t.Helper()
	b := kafkatest.Bounds(t, cl, topic)[p]
	c, err := kgo.NewClient(append(cl.Opts(), kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out []*kgo.Record
	for next := b.Start; next < b.End; {
		fs := c.PollFetches(t.Context())
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}
