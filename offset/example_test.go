package offset_test

import (
	"fmt"
	"time"

	"github.com/koffset/koffset/offset"
)

// A word is read once, and means a number on each partition.
func ExampleResolve() {
	clock := offset.Clock{Now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	back, err := offset.ParsePosition("current-100", offset.RoleStart, clock)
	if err != nil {
		fmt.Println(err)
		return
	}
	part := offset.Partition{Topic: "orders", Partition: 3}
	facts := offset.Facts{Bounds: &offset.Bounds{Start: 40, End: 900, LastStable: 900}, Committed: &offset.Committed{Offset: 500}}
	target, err := offset.Resolve(part, back, facts, offset.Rules{})
	fmt.Println(target.Offset, target.Reason, err)

	facts.Committed.Offset = 90
	_, err = offset.Resolve(part, back, facts, offset.Rules{})
	fmt.Println(err)
	// Output:
	// 400 shifted <nil>
	// orders:3: commit 90-100 = -10 is outside the log: log start 40, log end 900
}
