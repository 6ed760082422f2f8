package records

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// The timestamps that ListOffsets takes as commands.
const (
	askEnd        = -1
	askStart      = -2
	askLocalStart = -4
)

// outOfRange ends tasks whose offset the leader refused, with the bounds of their logs. The answer of a Fetch does not
// hold them: its log start is -1 beside an error.
func (r *run) outOfRange(node int32, tasks []*task) {
	if len(tasks) == 0 {
		return
	}
	var starts, ends map[offset.Partition]int64
	var both sync.WaitGroup
	both.Go(func() { starts = r.list(node, tasks, askStart) })
	both.Go(func() { ends = r.list(node, tasks, askEnd) })
	both.Wait()
	for _, t := range tasks {
		start, ok1 := starts[t.Partition]
		end, ok2 := ends[t.Partition]
		e := &OutOfRange{Partition: t.Partition, Offset: t.next, Start: start, End: end, Known: ok1 && ok2}
		switch {
		case e.Known && (t.next < start || t.next > end):
			t.done, t.err = true, e
		case r.expired(t):
			t.fail(e)
		default: // within the bounds by now, or they are not known: the leader may have moved
			t.err = e
		}
	}
}

// list asks for one bound of each log. What is not answered is not in the result.
func (r *run) list(node int32, tasks []*task, bound int64) map[offset.Partition]int64 {
	// Raw: kadm asks for whole topics; these are the partitions that were out of range.
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topics := map[string]int{}
	for _, t := range tasks {
		i, ok := topics[t.Topic]
		if !ok {
			i = len(req.Topics)
			topics[t.Topic] = i
			rt := kmsg.NewListOffsetsRequestTopic()
			rt.Topic = t.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = t.Partition.Partition, bound
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	out := map[offset.Partition]int64{}
	resp, err := call[*kmsg.ListOffsetsResponse](r, node, req)
	if err != nil {
		return out
	}
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			if kerr.ErrorForCode(rp.ErrorCode) == nil && rp.Offset >= 0 {
				out[offset.Partition{Topic: rt.Topic, Partition: rp.Partition}] = rp.Offset
			}
		}
	}
	return out
}
