package history

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// recordType is the first number of a record's key: what the record is about.
type recordType int16

// The types, as Kafka 4.3 numbers them. Those that say nothing of members, such as assignments, are only known not to be unknown.
const (
	oldCommitRecord   recordType = 0
	commitRecord      recordType = 1
	classicRecord     recordType = 2 // a classic group, with all its members
	consumerEpoch     recordType = 3
	consumerMember    recordType = 5
	shareMember       recordType = 10
	shareEpoch        recordType = 11
	streamsEpoch      recordType = 17
	streamsMember     recordType = 19
	newestKnownRecord recordType = 23
)

// known says that Kafka up to 4.3 writes records of the type; 9 and 18 were only in releases before their final ones.
func (t recordType) known() bool { return t >= 0 && t <= newestKnownRecord }

// newestCommitValue and newestGroupValue are the versions that can be read. Kafka adds tagged fields without a new version; a
// higher one means that the fields themselves are others.
const (
	newestCommitValue = 4
	newestGroupValue  = 4
)

// Why a record cannot be read.
var (
	errShort = errors.New("it ends too early")
	errNewer = errors.New("its version is newer than this koffset knows")
)

// typeOf reads the type of a record by its key.
func typeOf(key []byte) (recordType, error) {
	if len(key) < 2 {
		return 0, errShort
	}
	return recordType(int16(binary.BigEndian.Uint16(key))), nil
}

// groupOf reads the name of the group, which comes first in every key. It is part of the key's bytes.
func groupOf(key []byte) ([]byte, error) {
	name, _, err := cutString(key[2:])
	return name, err
}

// cutString takes a string with a length of two bytes off b.
func cutString(b []byte) (s, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, errShort
	}
	n := int(int16(binary.BigEndian.Uint16(b)))
	if b = b[2:]; n < 0 || n > len(b) {
		return nil, nil, errShort
	}
	return b[:n], b[n:], nil
}

// cutCompact takes a string of the flexible versions off b: its length and one more as a varint, 0 for none.
func cutCompact(b []byte) (s, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, errShort
	}
	b = b[size:]
	if n == 0 {
		return nil, b, nil
	}
	if n--; n > uint64(len(b)) {
		return nil, nil, errShort
	}
	return b[:n], b[n:], nil
}

// commitKey reads the topic and the partition of a commit's key. The topic is part of the key's bytes.
func commitKey(key []byte) (topic []byte, partition int32, err error) {
	_, rest, err := cutString(key[2:])
	if err != nil {
		return nil, 0, err
	}
	if topic, rest, err = cutString(rest); err != nil {
		return nil, 0, err
	}
	if len(rest) != 4 {
		return nil, 0, errShort
	}
	partition = int32(binary.BigEndian.Uint32(rest))
	if partition < 0 {
		return nil, 0, fmt.Errorf("partition %d", partition)
	}
	return topic, partition, nil
}

// memberKey reads the member of a member's key.
func memberKey(key []byte) ([]byte, error) {
	_, rest, err := cutString(key[2:])
	if err != nil {
		return nil, err
	}
	member, rest, err := cutString(rest)
	if err == nil && len(rest) != 0 {
		err = errShort
	}
	return member, err
}

// version reads the version that a value begins with.
func version(value []byte, newest int16) error {
	if len(value) < 2 {
		return errShort
	}
	switch v := int16(binary.BigEndian.Uint16(value)); {
	case v < 0:
		return fmt.Errorf("version %d", v)
	case v > newest:
		return fmt.Errorf("%w: %d", errNewer, v)
	}
	return nil
}

// commitValue reads the value of a commit into v, whose metadata is part of the value's bytes.
func commitValue(value []byte, v *kmsg.OffsetCommitValue) error {
	if err := version(value, newestCommitValue); err != nil {
		return err
	}
	*v = kmsg.OffsetCommitValue{LeaderEpoch: -1}
	if err := v.UnsafeReadFrom(value); err != nil {
		return errShort
	}
	if v.Version < 3 {
		v.LeaderEpoch = -1
	}
	return nil
}

// classicValue reads a classic group.
func classicValue(value []byte) (l Life, err error) {
	if err := version(value, newestGroupValue); err != nil {
		return l, err
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return l, errShort
	}
	l = Life{Type: "classic", Generation: v.Generation, Protocol: v.ProtocolType}
	for _, m := range v.Members {
		one := Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			one.InstanceID = *m.InstanceID
		}
		l.Members = append(l.Members, one)
	}
	return l, nil
}

// epochValue reads the epoch of a group of KIP-848's and later kinds: it is the first field, and later ones do not matter.
func epochValue(value []byte) (int32, error) {
	if err := version(value, 0); err != nil {
		return 0, err
	}
	if len(value) < 6 {
		return 0, errShort
	}
	return int32(binary.BigEndian.Uint32(value[2:])), nil
}

// memberValue reads who a member is: the first fields of its record. A member of a share group has no instance id.
func memberValue(t recordType, id, value []byte) (m Member, err error) {
	if err := version(value, 0); err != nil {
		return m, err
	}
	fields := []*string{&m.InstanceID, nil, &m.ClientID, &m.Host} // the rack in between does not matter
	if t == shareMember {
		fields = fields[1:]
	}
	m.ID = string(id)
	rest := value[2:]
	for _, f := range fields {
		var s []byte
		if s, rest, err = cutCompact(rest); err != nil {
			return Member{}, err
		}
		if f != nil {
			*f = string(s)
		}
	}
	return m, nil
}
