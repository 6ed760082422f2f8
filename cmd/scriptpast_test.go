package cmd_test

// Words of the scripts about what Kafka keeps of groups: kfake writes no __consumer_offsets, so the scripts do.
//
//	offsets [PARTITIONS]          make the topic
//	past GROUP AGE TOPIC:P=OFFSET[/EPOCH[/METADATA]]…    a record of a commit of so long ago; TOPIC:P=- for its removal
//	pastgroup GROUP AGE [CLIENT]… the record of a classic group with these members; - for its removal
//	damage GROUP AGE              a record of a commit that no Kafka writes

import (
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

const pastPartitions = 5

func pastWords() map[string]word {
	return map[string]word{"offsets": doOffsets, "past": doPast, "pastgroup": doPastGroup, "damage": doDamage}
}

func doOffsets(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, 0, "offsets")
	kafkatest.CreateTopic(worldOf(ts).t, cluster(ts).client, history.Topic, pastPartitions)
}

// writePast writes a record of a group, so long ago.
func writePast(ts *testscript.TestScript, group, age string, key, value []byte) {
	d, err := offset.ParseDuration(age)
	ts.Check(err)
	kafkatest.Produce(worldOf(ts).t, cluster(ts).client, &kgo.Record{Topic: history.Topic, Partition: history.PartitionOf(group, pastPartitions), Timestamp: time.Now().Add(-d), Key: key, Value: value})
}

func doPast(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, -1, "past GROUP AGE TOPIC:P=OFFSET…")
	for _, a := range args[2:] {
		if at, removed := strings.CutSuffix(a, "=-"); removed {
			topic, p := partition(ts, at)
			k := kmsg.OffsetCommitKey{Version: 1, Group: args[0], Topic: topic, Partition: p}
			writePast(ts, args[0], args[1], k.AppendTo(nil), nil)
			continue
		}
		c := committed(ts, a)
		k := kmsg.OffsetCommitKey{Version: 1, Group: args[0], Topic: c.Topic, Partition: c.Partition}
		v := kmsg.OffsetCommitValue{Version: 3, Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata, CommitTimestamp: 1}
		writePast(ts, args[0], args[1], k.AppendTo(nil), v.AppendTo(nil))
	}
}

func doPastGroup(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "pastgroup GROUP AGE [CLIENT]…")
	k := kmsg.GroupMetadataKey{Version: 2, Group: args[0]}
	if len(args) == 3 && args[2] == "-" {
		writePast(ts, args[0], args[1], k.AppendTo(nil), nil)
		return
	}
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation = 3, "consumer", int32(len(args))
	for _, id := range args[2:] {
		m := kmsg.NewGroupMetadataValueMember()
		m.MemberID, m.ClientID, m.ClientHost = id+"-1", id, "/10.0.0.7"
		v.Members = append(v.Members, m)
	}
	writePast(ts, args[0], args[1], k.AppendTo(nil), v.AppendTo(nil))
}

func doDamage(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "damage GROUP AGE")
	k := kmsg.OffsetCommitKey{Version: 1, Group: args[0], Topic: "orders.v1"}
	writePast(ts, args[0], args[1], k.AppendTo(nil), []byte{0, 9})
}
