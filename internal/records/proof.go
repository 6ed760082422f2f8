package records

import (
	"fmt"

	"github.com/koffset/koffset/offset"
)

// Proof says that a stretch of a log is known: what was handed out with it is all that a reader of that isolation is given
// from From to Until, exclusive. Offsets in it without a record belong to transaction markers, aborted transactions or
// records that compaction removed. Only this package makes one that is not empty, so a position that moves by a Proof moved
// over what is known.
type Proof struct {
	partition   offset.Partition
	from, until int64
}

// Partition is the partition that the proof is about.
func (p Proof) Partition() offset.Partition { return p.partition }

// From is the first offset that is known.
func (p Proof) From() int64 { return p.from }

// Until is the first offset that is not known.
func (p Proof) Until() int64 { return p.until }

// Covers says that all offsets from from to until, exclusive, are known.
func (p Proof) Covers(from, until int64) bool {
	return from >= until || p.from <= from && until <= p.until
}

// Pass is where a reader at position may go: Until where position lies in the proof, and position itself where it does not.
func (p Proof) Pass(position int64) int64 {
	if p.from <= position && position < p.until {
		return p.until
	}
	return position
}

// String is for logs and tests.
func (p Proof) String() string { return fmt.Sprintf("%s from %d to %d", p.partition, p.from, p.until) }
