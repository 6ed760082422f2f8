package offset

import (
	"strconv"
	"time"
)

// LeaderEpoch is the epoch of the leader that wrote a record. The zero value means unknown, because the wire's zero is a
// real epoch: committing it by mistake makes the next consumer run truncation detection and jump backwards (measured:
// a commit of 8 with epoch 0 on a log whose epoch 0 ended at 4 restarts at 5).
type LeaderEpoch struct {
	known bool
	n     int32
}

// EpochOf is the epoch as the wire has it: a negative number is unknown.
func EpochOf(n int32) LeaderEpoch {
	if n < 0 {
		return LeaderEpoch{}
	}
	return LeaderEpoch{known: true, n: n}
}

// Get returns the epoch and whether it is known.
func (e LeaderEpoch) Get() (int32, bool) { return e.n, e.known }

// Wire returns the number that Kafka's protocol uses: the epoch, or -1 for unknown. Only the I/O edge calls it.
func (e LeaderEpoch) Wire() int32 {
	if !e.known {
		return -1
	}
	return e.n
}

// String is the number, or "-".
func (e LeaderEpoch) String() string {
	if !e.known {
		return "-"
	}
	return strconv.Itoa(int(e.n))
}

// MarshalJSON writes the number or null.
func (e LeaderEpoch) MarshalJSON() ([]byte, error) {
	if !e.known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(e.n), 10), nil
}

// UnmarshalJSON reads what MarshalJSON wrote; a negative number is unknown.
func (e *LeaderEpoch) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*e = LeaderEpoch{}
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil {
		return syntaxf(string(b), "", "leader epoch %q is not a number", b)
	}
	*e = EpochOf(int32(n))
	return nil
}

// Isolation says which end of the log a reader sees.
type Isolation uint8

const (
	// ReadUncommitted ends at the high watermark: Kafka's default for consumers, and for offsets.
	ReadUncommitted Isolation = iota
	// ReadCommitted ends at the last stable offset: the first record of the oldest open transaction.
	ReadCommitted
)

func (i Isolation) String() string {
	if i == ReadCommitted {
		return "read_committed"
	}
	return "read_uncommitted"
}

// MarshalText writes Kafka's word, so that files say which end their numbers were held to.
func (i Isolation) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (i *Isolation) UnmarshalText(b []byte) (err error) {
	*i, err = ParseIsolation(string(b))
	return err
}

// ParseIsolation reads Kafka's two words, with or without the read_ prefix, and with a hyphen. The error is a *SyntaxError.
func ParseIsolation(s string) (Isolation, error) {
	switch s {
	case "read_committed", "read-committed", "committed":
		return ReadCommitted, nil
	case "read_uncommitted", "read-uncommitted", "uncommitted":
		return ReadUncommitted, nil
	}
	return 0, syntaxf(s, "use read_committed or read_uncommitted", "%q is not an isolation level", s)
}

// Bounds are one partition's ends, in offsets. All three ends are exclusive but Start.
type Bounds struct {
	Start      int64 // the first offset that can be read
	End        int64 // the high watermark
	LastStable int64 // the last stable offset; equal to End where no transaction is open
}

// EndFor is the end that a reader with that isolation sees.
func (b Bounds) EndFor(i Isolation) int64 {
	if i == ReadCommitted {
		return b.LastStable
	}
	return b.End
}

// Empty says that a reader with that isolation finds nothing.
func (b Bounds) Empty(i Isolation) bool { return b.Start >= b.EndFor(i) }

// Committed is what a group has stored for one partition. Offset may be negative or outside the log, since the broker
// stores any number (measured: -5 is accepted); it is the next offset to read, not the last one read.
type Committed struct {
	Offset      int64
	LeaderEpoch LeaderEpoch
	Metadata    string
}

// Record is a record that was found: its offset, its own time (zero where the record has none), its leader epoch.
type Record struct {
	Offset      int64
	Time        time.Time
	LeaderEpoch LeaderEpoch
}

// Marker is a position that another system stored as a word instead of a number: a Flink source that has not read yet.
type Marker string

// The markers of Flink's KafkaSource and FlinkKafkaConsumer.
const (
	MarkerEarliest  Marker = "earliest"
	MarkerLatest    Marker = "latest"
	MarkerCommitted Marker = "committed"
)

// Foreign is what a group:, file:, checkpoint: or store: position says about a partition: a commit to copy, or a marker.
type Foreign struct {
	Committed
	Marker Marker // when not empty, Committed says nothing
	// Provisional says that a transaction was open which may still change or take back the value; NoValue that nothing was
	// committed before it, so that there is no value but the one that is not final.
	Provisional, NoValue bool
	// Then is when the value was committed, where it is what a group had at an instant of the past; zero elsewhere.
	Then time.Time
	// Unknown says that what the group had at that instant is not known; nil where it is. Committed says nothing then.
	Unknown *Unknown
}

// Unknown is why it is not known what a group had committed at an instant.
type Unknown struct {
	Why string
	// Oldest is the first commit after the instant that is known, and OldestAt its time; nil where there is none.
	Oldest   *Committed
	OldestAt time.Time
}

// Facts is what is known about one partition when a position is resolved. Whatever was not asked for, or does not exist,
// is nil.
type Facts struct {
	Bounds    *Bounds
	Committed *Committed
	// Found is the first record at or after the instant that the position names; nil where there is none.
	Found *Record
	// Max is the record with the largest timestamp; nil in an empty partition.
	Max *Record
	// LocalStart and TieredEnd are known only with tiered storage.
	LocalStart, TieredEnd *int64
	// Foreign is nil where the other group, file, checkpoint or store has nothing for this partition.
	Foreign *Foreign
	// From is the resolved start of the same partition, for an end that counts from it (+N).
	From *int64
	// StartEpoch and EndEpoch are the leader epochs at the bounds, where the broker told them.
	StartEpoch, EndEpoch LeaderEpoch
	// Err is why this partition could not be read; Resolve refuses with it.
	Err error
}
