package migrate_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// The source's topic is made anew after the commits were read, and before the records around them are: the records at those numbers
// are of another log, and say nothing about the positions.
func TestSourceTopicReplacedWhileExported(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	kafkatest.CreateTopic(t, dst, "replaced", 1)
	anew := func() {
		kafkatest.DeleteTopic(t, src, "replaced")
		kafkatest.CreateTopic(t, src, "replaced", 1)
		kafkatest.Produce(t, src, kafkatest.Records("replaced", 0, 60, 1_700_000_900_000, 1000)...)
	}
	kafkatest.CreateTopic(t, src, "replaced", 1)
	kafkatest.Produce(t, src, kafkatest.Records("replaced", 0, 50, 1_700_000_000_000, 1000)...)
	kafkatest.Produce(t, dst, kafkatest.Records("replaced", 0, 60, 1_700_000_900_000, 1000)...)
	kafkatest.Commit(t, src, "g", kafkatest.At("replaced", 0, 40))
	held := func(what string, h migrate.Header, rows []migrate.Row) {
		t.Helper()
		if len(rows) != 1 || rows[0].Around != nil || !strings.Contains(rows[0].Error, "deleted and created again meanwhile") {
			t.Errorf("%s: the rows are %+v", what, rows)
		}
		res, err := migrate.TranslateAll(t.Context(), dst, migrate.Query{Header: h, Rows: rows, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}})
		if err != nil {
			t.Fatal(err)
		}
		if i := res.Items[0]; i.Resolved() {
			t.Errorf("%s: %s %d (%s)", what, i.Label(), i.Offset, i.Proof)
		}
	}
	o := migrate.ExportOptions{Groups: []inspect.Group{{Name: "g"}}, Fingerprints: true}
	x, err := migrate.Collect(func(to migrate.Sink) (bool, error) {
		begin := to.Begin
		to.Begin = func(h migrate.Header) error { anew(); return begin(h) }
		return migrate.ReadGroups(t.Context(), src, o, to)
	})
	if err != nil || !x.Incomplete {
		t.Fatalf("the export is complete: %+v, %v", x, err)
	}
	held("export", x.Header, x.Groups[0].Rows)

	// A round of sync reads the records later than the commits, too.
	kafkatest.Commit(t, src, "g", kafkatest.At("replaced", 0, 40))
	o.Fingerprints = false
	if x, err = migrate.Collect(func(to migrate.Sink) (bool, error) { return migrate.ReadGroups(t.Context(), src, o, to) }); err != nil {
		t.Fatal(err)
	}
	anew()
	if err := migrate.PrintRows(t.Context(), src, x.Header, x.Groups[0].Rows, 0, nil); err != nil {
		t.Fatal(err)
	}
	held("sync", x.Header, x.Groups[0].Rows)
}
