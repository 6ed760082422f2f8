package migrate

// Fingerprints: what is the same about a record on every cluster it was copied to.

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/records"
)

// Hash is the first half of a SHA-256. The zero value means null: a record without a key, a tombstone's value.
type Hash [16]byte

func hashOf(b []byte) Hash {
	if b == nil {
		return Hash{}
	}
	sum := sha256.Sum256(b)
	return Hash(sum[:16])
}

// hashHeaders covers names, values and their order. A record without headers has the zero hash.
func hashHeaders(hs []kgo.RecordHeader) Hash {
	if len(hs) == 0 {
		return Hash{}
	}
	h := sha256.New()
	var n [8]byte
	put := func(b []byte) {
		size := int64(len(b))
		if b == nil {
			size = -1
		}
		binary.BigEndian.PutUint64(n[:], uint64(size))
		h.Write(n[:])
		h.Write(b)
	}
	for _, x := range hs {
		put([]byte(x.Key))
		put(x.Value)
	}
	return Hash(h.Sum(nil)[:16])
}

// MarshalText writes 32 hexadecimal digits, or nothing for null.
func (h Hash) MarshalText() ([]byte, error) {
	if h == (Hash{}) {
		return []byte{}, nil
	}
	return hex.AppendEncode(nil, h[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*h = Hash{}
		return nil
	}
	if hex.DecodedLen(len(b)) != len(h) {
		return fmt.Errorf("fingerprint hash %q: it has %d digits, not 32", b, len(b))
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// Twins says where other records of the source with the same time, key and value were seen: look-alikes.
type Twins string

// The values of Twins, as seen from the position: read records lie before it, unread ones at or after it. An unread
// look-alike is the dangerous one: where the record itself is missing on the other cluster, the later one would be taken for
// it, and what lies between would be skipped.
const (
	TwinsNone   Twins = ""
	TwinsBefore Twins = "before"
	TwinsAfter  Twins = "after"
	TwinsBoth   Twins = "both"
)

func (t Twins) with(o Twins) Twins {
	switch {
	case t == o || o == TwinsNone:
		return t
	case t == TwinsNone:
		return o
	}
	return TwinsBoth
}

// Fingerprint identifies one record of one partition.
type Fingerprint struct {
	// Offset is where the record lies on the cluster that it was read from.
	Offset int64
	// Time is the record's own; zero where the record has none.
	Time    time.Time
	Key     Hash
	Value   Hash
	Headers Hash // breaks ties only: mirrors add headers of their own
	Twins   Twins
	// HeadersTell says that the headers of no twin are the same.
	HeadersTell bool
	// Aborted says that the record belongs to an aborted transaction: a mirror that reads committed records leaves it out.
	Aborted bool
}

func fingerprintOf(r records.Record) Fingerprint {
	return Fingerprint{Offset: r.Offset, Time: timeOf(r.Timestamp.UnixMilli()), Key: hashOf(r.Key), Value: hashOf(r.Value), Headers: hashHeaders(r.Headers), Aborted: r.Aborted}
}

// millis is the time as Kafka has it, -1 for none.
func (f Fingerprint) millis() int64 {
	if f.Time.IsZero() {
		return -1
	}
	return f.Time.UnixMilli()
}

// Same says that two fingerprints are of copies of one record, as far as can be told without headers.
func (f Fingerprint) Same(o Fingerprint) bool {
	return f.Time.Equal(o.Time) && f.Key == o.Key && f.Value == o.Value
}

// fingerprintJSON is the form in files. It is written by hand below: a file has hundreds of thousands of them.
type fingerprintJSON struct {
	Offset  int64  `json:"offset"`
	Millis  *int64 `json:"timestamp_ms"`
	Key     *Hash  `json:"key"`
	Value   *Hash  `json:"value"`
	Headers *Hash  `json:"headers"`
	Twins   Twins  `json:"twins"`
	Tell    bool   `json:"headers_tell"`
	Aborted bool   `json:"aborted"`
}

// MarshalJSON writes null for what is absent, and leaves out twins and aborted where there is nothing to say.
func (f Fingerprint) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

func (f Fingerprint) appendJSON(b []byte) []byte {
	b = append(b, `{"offset":`...)
	b = appendInt(b, f.Offset)
	b = append(b, `,"timestamp_ms":`...)
	if f.Time.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendInt(b, f.Time.UnixMilli())
	}
	for _, x := range []struct {
		name string
		h    Hash
	}{{`,"key":`, f.Key}, {`,"value":`, f.Value}, {`,"headers":`, f.Headers}} {
		b = append(b, x.name...)
		if x.h == (Hash{}) {
			b = append(b, "null"...)
			continue
		}
		b = append(b, '"')
		b = hex.AppendEncode(b, x.h[:])
		b = append(b, '"')
	}
	if f.Twins != TwinsNone {
		b = append(b, `,"twins":"`...)
		b = append(b, f.Twins...)
		b = append(b, '"')
	}
	if f.HeadersTell {
		b = append(b, `,"headers_tell":true`...)
	}
	if f.Aborted {
		b = append(b, `,"aborted":true`...)
	}
	return append(b, '}')
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Fingerprint) UnmarshalJSON(b []byte) error {
	var j fingerprintJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*f = Fingerprint{Offset: j.Offset, Twins: j.Twins, HeadersTell: j.Tell, Aborted: j.Aborted}
	if j.Millis != nil {
		f.Time = time.UnixMilli(*j.Millis).UTC()
	}
	for to, from := range map[*Hash]*Hash{&f.Key: j.Key, &f.Value: j.Value, &f.Headers: j.Headers} {
		if from != nil {
			*to = *from
		}
	}
	return nil
}

// Surroundings are the records around one position. Nearest first on both sides.
type Surroundings struct {
	// At are the next records that a reader at the position gets: the first one at or after it, and some more.
	At []Fingerprint
	// Before are the records before the position, the last one first. One that is not aborted is among them where there is
	// any, even if it is farther away.
	Before []Fingerprint
	// AtEnd says that no record at or after the position existed.
	AtEnd bool
	// AtStart says that no record before the position is left.
	AtStart bool
	// EarliestUnread is the smallest time among the unread records that were read, zero where there are none: times are
	// not always in order. UnreadTimes says that it is the smallest of all unread records.
	EarliestUnread time.Time
	UnreadTimes    bool
	// SearchedTo is the source offset up to which, exclusive, look-alikes of the records were sought; SearchedAll says that
	// the log ended there, and SearchedBack that none can lie before what was searched. Where a record has no Twins and these
	// are not set, whether it has look-alikes is not known.
	SearchedTo                int64
	SearchedAll, SearchedBack bool
	// Whole says that the source's log lacks no record that it ever had: it begins at 0, and its topic is Gapless. Where it
	// is not set, a record that is lost at the source may look the same and be on the target still.
	Whole bool
	// Gapless says that the topic is not compacted, and that nothing is missing in what was read of it: between two records of the
	// source lie only markers, and nothing that it lost. What was not read of a topic that was compacted once is not known.
	Gapless bool
}

// surelyRead says that no unread record looks like f, a record before the position: wherever it is on the target, nothing
// unread lies before it there.
func (a *Surroundings) surelyRead(f Fingerprint) bool {
	return a.SearchedAll && (f.Twins == TwinsNone || f.Twins == TwinsBefore || f.HeadersTell)
}

// sure says that no other record looks like f.
func (a *Surroundings) sure(f Fingerprint) bool {
	return a.SearchedAll && a.SearchedBack && (f.Twins == TwinsNone || f.HeadersTell)
}
