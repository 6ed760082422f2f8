package history_test

// Records as Kafka writes them: by kmsg where it has the types, by hand for the others.

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

func commitKey(group string, p offset.Partition) []byte {
	k := kmsg.OffsetCommitKey{Version: 1, Group: group, Topic: p.Topic, Partition: p.Partition}
	return k.AppendTo(nil)
}

func commitValue(version int16, c offset.Committed, id [16]byte) []byte {
	v := kmsg.OffsetCommitValue{Version: version, Offset: c.Offset, LeaderEpoch: c.LeaderEpoch.Wire(), Metadata: c.Metadata, CommitTimestamp: 1, TopicID: id, ExpireTimestamp: -1}
	return v.AppendTo(nil)
}

func classicKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: 2, Group: group}
	return k.AppendTo(nil)
}

func classicValue(generation int32, members ...string) []byte {
	v := kmsg.NewGroupMetadataValue()
	v.Version, v.ProtocolType, v.Generation = 3, "consumer", generation
	for _, m := range members {
		one := kmsg.NewGroupMetadataValueMember()
		one.MemberID, one.ClientID, one.ClientHost = m, m, "/10.0.0.7"
		v.Members = append(v.Members, one)
	}
	return v.AppendTo(nil)
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendCompact(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s)+1)), s...)
}

// key is a key of any type: its number, then strings.
func key(typ int16, names ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(typ))
	for _, n := range names {
		b = appendString(b, n)
	}
	return b
}

func epochValue(epoch int32) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(epoch)), 0)
}

// memberValue is a member of KIP-848's groups: instance, rack, client, host, then fields that do not matter.
func memberValue(instance, client, host string) []byte {
	b := []byte{0, 0}
	if instance == "" {
		b = append(b, 0)
	} else {
		b = appendCompact(b, instance)
	}
	b = append(b, 0)
	b = appendCompact(appendCompact(b, client), host)
	return append(b, 1, 0, 0, 0, 0, 9, 0, 0)
}

func shareMemberValue(client, host string) []byte {
	b := []byte{0, 0, 0}
	return append(appendCompact(appendCompact(b, client), host), 1, 0)
}
