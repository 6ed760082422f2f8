package history_test

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/offset"
)

// Where a group stood at a moment, from the records of the offsets topic. [history.Read] brings them from a cluster.
func ExampleThen() {
	morning := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	then := &history.Then{At: morning.Add(90 * time.Minute)}
	replay := history.NewReplay(history.Options{}, then.Add)
	key := kmsg.OffsetCommitKey{Version: 1, Group: "billing", Topic: "orders", Partition: 3}
	for i, committed := range []int64{100, 250, 90} {
		value := kmsg.OffsetCommitValue{Version: 3, Offset: committed, LeaderEpoch: -1}
		replay.Record(&history.Raw{Offset: int64(i), Time: morning.Add(time.Duration(i) * time.Hour), Key: key.AppendTo(nil), Value: value.AppendTo(nil)})
	}
	replay.Finish(3)
	a := then.Of("billing", offset.Partition{Topic: "orders", Partition: 3}, replay.Coverage())
	fmt.Println(a.Known, a.Commit.Offset, "of", a.At.Format(time.TimeOnly))
	a = then.Of("billing", offset.Partition{Topic: "orders", Partition: 4}, replay.Coverage())
	fmt.Println(a.Known, a.Commit)
	// Output:
	// true 250 of 09:00:00
	// true <nil>
}
