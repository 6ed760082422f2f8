package inspect

import (
	"fmt"
	"math"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetsTopic is the topic that holds the groups: the leader of a partition coordinates the groups that hash to it.
const OffsetsTopic = "__consumer_offsets"

// offsetsTopic is who leads which partition of the offsets topic.
type offsetsTopic struct {
	// known is false where the topic does not exist, which is so until a group first commits, or may not be described.
	known   bool
	leaders map[int32]leader
}

type leader struct {
	node  int32 // -1 for none
	epoch int32
}

// newOffsetsTopic reads an answer about that topic.
func newOffsetsTopic(resp *kmsg.MetadataResponse) offsetsTopic {
	o := offsetsTopic{leaders: map[int32]leader{}}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != OffsetsTopic || t.ErrorCode != 0 {
			continue
		}
		o.known = true
		for _, p := range t.Partitions {
			one := leader{p.Leader, p.LeaderEpoch}
			if p.ErrorCode != 0 && p.ErrorCode != kerr.ReplicaNotAvailable.Code {
				one.node = -1
			}
			o.leaders[p.Partition] = one
		}
	}
	return o
}

func (o offsetsTopic) leads(node int32) bool {
	for _, l := range o.leaders {
		if l.node == node {
			return true
		}
	}
	return false
}

// OffsetsPartition is the partition of the offsets topic that a group hashes to: the absolute value of the name's Java hash code,
// modulo the partitions (GroupCoordinatorService.partitionFor).
func OffsetsPartition(group string, partitions int32) int32 {
	var h int32
	for _, c := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(c)
	}
	if h == math.MinInt32 {
		return 0
	}
	return max(h, -h) % partitions
}

// probeName is a group name on a partition that nobody has.
func probeName(n, partitions int32) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("koffset-asks-whether-you-coordinate-%d", i); OffsetsPartition(name, partitions) == n {
			return name
		}
	}
}
