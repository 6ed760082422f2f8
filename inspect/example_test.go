package inspect_test

import (
	"fmt"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// A commit past the log end has no lag: it is not 0.
func ExampleJudge() {
	log := &offset.Bounds{Start: 40, End: 900, LastStable: 900}
	for _, at := range []int64{500, 900, 1000, 10} {
		v := inspect.Judge(&offset.Committed{Offset: at}, false, log, offset.ReadUncommitted)
		lag := "no lag"
		if v.Lag != nil {
			lag = fmt.Sprint("lag ", *v.Lag)
		}
		fmt.Println(at, v.Status, lag)
	}
	// Output:
	// 500 ok lag 400
	// 900 ok lag 0
	// 1000 past-log-end no lag
	// 10 below-log-start lag 860
}
