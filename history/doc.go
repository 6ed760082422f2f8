// Package history reads what Kafka itself keeps of consumer groups: every commit is a record of the topic __consumer_offsets, with
// its time, until compaction removes it. The records tell who moved a group's offsets and when, where the group stood at any
// moment that survived, and what it had before its commits expired.
//
// Decoding and replaying are pure: [Replay] is told records and makes events of them, and [Then] is told events and says where
// groups stood at a moment, or that it is not known. [Read] brings the records from a cluster.
//
// What compaction leaves decides what is known. The cleaner keeps the newest record of each key in what it has cleaned, and all
// of what it has not. So the records that are left of a key are always the last ones of its history, with none missing among
// them: a moment after the first of them is known exactly. What was before it is known only where no offset is missing from the
// log up to that moment.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package history

import "github.com/koffset/koffset/inspect"

// Topic is where Kafka keeps the commits.
const Topic = inspect.OffsetsTopic

// PartitionOf is the partition of [Topic] that has a group's records.
func PartitionOf(group string, partitions int32) int32 {
	if partitions <= 0 {
		return 0
	}
	return inspect.OffsetsPartition(group, partitions)
}
