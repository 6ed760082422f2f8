package migrate_test

import (
	"fmt"

	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// Parts hold every offset once, so that each can be replayed by a process of its own.
func ExampleSplitInto() {
	spans := []migrate.Span{
		{Partition: offset.Partition{Topic: "orders", Partition: 0}, From: 0, To: 300},
		{Partition: offset.Partition{Topic: "orders", Partition: 1}, From: 50, To: 150},
	}
	for i, part := range migrate.SplitInto(spans, 2, false) {
		for _, s := range part {
			fmt.Printf("part %d: %s from %d to %d\n", i+1, s.Partition, s.From, s.To)
		}
	}
	// Output:
	// part 1: orders:0 from 0 to 200
	// part 2: orders:0 from 200 to 300
	// part 2: orders:1 from 50 to 150
}
