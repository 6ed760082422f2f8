package cmd

// What Kafka keeps of groups, for the documentation's tests: the sandbox does not write it.

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
)

// writePast gives the sandbox a record of a group's life: members, commits, one that is removed, and one that cannot be read.
func (d *docShell) writePast(t *testing.T, group string) {
	cl := kafkatest.Client(t, []string{d.env["KOFFSET_BROKERS"]})
	kafkatest.CreateTopic(t, cl, history.Topic, 1)
	at := docsNow.Add(-time.Hour)
	write := func(key, value []byte) {
		at = at.Add(time.Minute)
		kafkatest.Produce(t, cl, &kgo.Record{Topic: history.Topic, Timestamp: at, Key: key, Value: value})
	}
	member := kmsg.NewGroupMetadataValueMember()
	member.MemberID, member.ClientID, member.ClientHost = "m-1", "m", "/10.0.0.7"
	life := kmsg.NewGroupMetadataValue()
	life.Version, life.ProtocolType, life.Members = 3, "consumer", append(life.Members, member)
	k := kmsg.GroupMetadataKey{Version: 2, Group: group}
	write(k.AppendTo(nil), life.AppendTo(nil))
	commit := func(p int32, n int64) {
		v := kmsg.OffsetCommitValue{Version: 3, Offset: n, Metadata: "m"}
		key := kmsg.OffsetCommitKey{Version: 1, Group: group, Topic: "orders", Partition: p}
		if n < 0 {
			write(key.AppendTo(nil), nil)
			return
		}
		write(key.AppendTo(nil), v.AppendTo(nil))
	}
	commit(0, 7)
	commit(0, 5)
	commit(1, 9)
	commit(1, -1)
	damaged := kmsg.OffsetCommitKey{Version: 1, Group: group, Topic: "orders", Partition: 2}
	write(damaged.AppendTo(nil), []byte{0, 9})
}
