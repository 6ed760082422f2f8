package history

import (
	"strings"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Raw is a record of [Topic] as its log has it.
type Raw struct {
	Offset int64
	Time   time.Time
	Key    []byte
	Value  []byte // nil is a tombstone: what was there is removed
	// Transaction says that the record is part of a transaction of Producer.
	Transaction bool
	Producer    int64
}

// Marker is the end of a producer's transaction.
type Marker struct {
	Offset   int64
	Time     time.Time
	Producer int64
	Commit   bool // false is an abort
}

// Kind is what an event is. Its text is stable: it is shown in tables and JSON.
type Kind string

// The kinds. The last two are about a group, the others about one partition of one.
const (
	Commit        Kind = "commit"
	Transactional Kind = "transactional" // a commit of a transaction, final
	Pending       Kind = "pending"       // of a transaction that is not over: it may still be taken back
	Aborted       Kind = "aborted"       // of a transaction that was aborted: it never counted
	Superseded    Kind = "superseded"    // of a transaction, final after a later commit: it never counted
	Deleted       Kind = "deleted"       // the commit was removed
	Unreadable    Kind = "unreadable"    // a commit whose value cannot be read
	Members       Kind = "members"       // who is in the group
	GroupDeleted  Kind = "group-deleted"
)

// Moves says that an event changes what the group has for the partition, or makes it not known.
func (k Kind) Moves() bool {
	return k == Commit || k == Transactional || k == Deleted || k == Unreadable
}

// OfCommit says that an event has a committed offset.
func (k Kind) OfCommit() bool {
	switch k {
	case Commit, Transactional, Pending, Aborted, Superseded:
		return true
	}
	return false
}

// Mark is what is odd about a commit.
type Mark string

// The marks.
const (
	NoMark   Mark = ""
	Rewind   Mark = "rewind"    // the offset is lower than before
	Skip     Mark = "skip"      // the offset is higher than before, and the group had no member that could have read the records
	NewTopic Mark = "new-topic" // the topic was made again: the offset is of another log than before
)

// Cause is why a commit was removed, as far as it can be told.
type Cause string

// The causes.
const (
	CauseUnknown Cause = ""
	TooYoung     Cause = "not-expired" // it was too young to expire: a request removed it, or the deletion of its topic
	MayExpire    Cause = "old-enough"  // it was old enough to expire; a request may have removed it as well
)

// Member is a member of a group.
type Member struct {
	ID, InstanceID, ClientID, Host string
}

// String is the client id with the host, as messages name a member.
func (m Member) String() string {
	name := m.ClientID
	if m.InstanceID != "" {
		name = m.InstanceID
	}
	if name == "" {
		name = m.ID
	}
	if host := strings.TrimPrefix(m.Host, "/"); host != "" {
		return name + "@" + host
	}
	return name
}

// Life is a group at a moment, as its own records tell.
type Life struct {
	Type string // classic, consumer, share or streams
	// Generation is the generation of a classic group, and the epoch of the others.
	Generation int32
	Protocol   string // of a classic group: consumer, connect, …
	Members    []Member
	// AtLeast says that there may have been more members: compaction removes the records of those that left.
	AtLeast bool
}

// Empty says that it is known that nobody was in the group.
func (l *Life) Empty() bool { return l != nil && len(l.Members) == 0 && !l.AtLeast }

// Event is something that happened to a group. It is valid during the call that tells it.
type Event struct {
	Kind  Kind
	Group string
	offset.Partition
	// At is when it took effect: the record's time, and for a transaction's commit that of the marker that ended it.
	At time.Time
	// Written is the record's own time, and Record its offset in its partition of [Topic].
	Written time.Time
	Record  int64
	// Commit is what was committed, for the kinds that have an offset; of Deleted, what there was before where that is known.
	Commit *offset.Committed
	// Topic's id, where Kafka wrote it down: since 4.1.
	ID [16]byte
	// Delta is how far the offset moved; nil where what was before is not known, or is of another log.
	Delta *int64
	// Since is the time of the commit before; zero where it is not known.
	Since time.Time
	Mark  Mark
	Cause Cause
	// Life is who was in the group; nil where that is not known.
	Life *Life
	Err  error // of Unreadable
}

// TopicID is the topic's id as Kafka prints it, empty where it is not known.
func (e *Event) TopicID() string { return inspect.TopicIDText(e.ID) }
