package history_test

import (
	"fmt"
	"testing"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/offset"
)

// BenchmarkReplay is the work for one commit of one of 1,000 groups of 20 partitions.
func BenchmarkReplay(b *testing.B) {
	const groups, partitions = 1000, 20
	keys := make([][]byte, 0, groups*partitions)
	for p := range int32(partitions) {
		for g := range groups {
			keys = append(keys, commitKey(fmt.Sprintf("group-%04d", g), offset.Partition{Topic: "work", Partition: p}))
		}
	}
	values := make([][]byte, 64)
	for i := range values {
		values[i] = val(int64(i))
	}
	events := 0
	r := history.NewReplay(history.Options{}, func(*history.Event) { events++ })
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Record(&history.Raw{Offset: int64(i), Time: at(0), Key: keys[i%len(keys)], Value: values[i%len(values)], Producer: -1})
	}
	if events == 0 {
		b.Fatal("no event")
	}
}
