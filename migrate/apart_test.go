package migrate_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// Two groups on two sides of the marker at the end of a transaction read the same record next: neither is ahead or behind. One
// record more is.
func TestVerifyAcrossMarkers(t *testing.T) {
	_, src := kafkatest.FakeClient(t)
	_, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	rs := kafkatest.Records("markers", 0, 12, 1_700_000_000_000, 1000)
	kafkatest.CreateTopic(t, src, "markers", 1)
	kafkatest.CreateTopic(t, dst, "markers", 1)
	for n, txn := range []*kafkatest.Txn{kafkatest.NewTxn(t, src, "a"), kafkatest.NewTxn(t, dst, "b")} {
		for from := 0; from < len(rs); from += 4 { // markers at 4, 9 and 14
			part := kafkatest.Records("markers", 0, 12, 1_700_000_000_000, 1000)[from : from+4]
			txn.Begin()
			txn.Produce(part...)
			txn.End(true)
		}
		if b := kafkatest.Bounds(t, []*kgo.Client{src, dst}[n], "markers"); b[0].End != 15 {
			t.Fatalf("the log is %+v", b)
		}
	}
	for _, c := range []struct {
		source, target int64
		want           migrate.Verdict
		by             int64
	}{{9, 10, migrate.VerdictSame, 0}, {10, 9, migrate.VerdictSame, 0}, {14, 15, migrate.VerdictSame, 0}, {15, 14, migrate.VerdictSame, 0},
		{9, 11, migrate.VerdictAhead, 1}, {10, 8, migrate.VerdictBehind, 1}, {3, 15, migrate.VerdictAhead, 9}, {15, 0, migrate.VerdictBehind, 12}} {
		kafkatest.Commit(t, src, "g", kafkatest.At("markers", 0, c.source))
		kafkatest.Commit(t, dst, "g", kafkatest.At("markers", 0, c.target))
		x := export(t, src, "g")
		got, err := migrate.Verify(t.Context(), dst, x, migrate.Mapping{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		by := int64(0)
		if got[0].By != nil {
			by = *got[0].By
		}
		if got[0].Verdict != c.want || by != c.by {
			t.Errorf("%d at the source, %d on the target: %s by %d (%s), want %s by %d", c.source, c.target, got[0].Verdict, by, got[0].Detail, c.want, c.by)
		}
	}
}
