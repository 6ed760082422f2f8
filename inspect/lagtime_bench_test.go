package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// BenchmarkReadLagTimes reads the exact lag in time of 2,000 partitions that each wait in the middle of a batch of 4 records of 1 KB.
func BenchmarkReadLagTimes(b *testing.B) {
	_, cl := kafkatest.FakeClient(b)
	const parts = 2000
	kafkatest.CreateTopic(b, cl, "wide", parts)
	var rs []*kgo.Record
	var commits []kafkatest.Committed
	for n := range int32(parts) {
		for i := range 4 {
			rs = append(rs, kafkatest.Record("wide", n, 1_700_000_000_000, fmt.Sprint(i, strings.Repeat("x", 1000))))
		}
		commits = append(commits, kafkatest.At("wide", n, 2))
	}
	kafkatest.Produce(b, cl, rs...)
	kafkatest.Commit(b, cl, "g", commits...)
	s, err := inspect.Read(b.Context(), cl, inspect.Query{Groups: []inspect.Group{{Name: "g"}}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		got := inspect.ReadLagTimes(b.Context(), cl, s)
		for p, l := range got {
			if l.Err != nil || l.Next == nil || l.Next.Offset != 2 {
				b.Fatalf("%v: %+v", p, l)
			}
		}
		if len(got) != parts {
			b.Fatal(len(got))
		}
	}
}
