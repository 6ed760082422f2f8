package consume

// Where a run ends: a word, a number of records, or ranges.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/koffset/koffset/offset"
)

// End is where a run ends. The zero value is never.
type End struct {
	// Until is resolved once, at the start, to a number for each partition, and never lies past the log end of that
	// moment, so that a run with an end ends.
	Until *offset.Position
	// MaxRecords ends this run after exactly so many records over all partitions; 0 is no bound. A job with checkpoints keeps
	// them, since it is not at its own end.
	MaxRecords int64
	// JobRecords ends the job after exactly so many records over all partitions and over all its runs, which its checkpoints
	// count; 0 is no bound.
	JobRecords int64
	// Ranges are what is read, and nothing else; RangesFrom is where a file's come from, nil for ranges that were typed.
	Ranges     []Range
	RangesFrom *offset.Origin
	// Part says where the ranges came from, such as "part 2 of 4 of work.ranges"; for checkpoints and messages.
	Part string
}

func (e End) bounded() bool { return e.Until != nil || len(e.Ranges) > 0 }

// Range is a piece of one partition.
type Range struct {
	offset.Partition
	From int64 // inclusive
	// To is exclusive; it counts where Count is 0.
	To int64
	// Count, when not 0, is exactly so many records from From on, however many offsets they take.
	Count int64
}

// String is the form that ParseRange reads.
func (r Range) String() string {
	if r.Count > 0 {
		return fmt.Sprintf("%s=%d+%d", r.Partition, r.From, r.Count)
	}
	return fmt.Sprintf("%s=%d:%d", r.Partition, r.From, r.To)
}

// ParseRange reads orders:0=1000:2000 (half-open) or orders:0=1000+500 (exactly 500 records). The error is an *Error of
// kind Usage.
func ParseRange(s string) (Range, error) {
	const form = "write TOPIC:PARTITION=FROM:TO (TO not included), or TOPIC:PARTITION=FROM+COUNT"
	bad := func(why string) (Range, error) { return Range{}, usagef(form, "range %q: %s", s, why) }
	left, right, ok := strings.Cut(s, "=")
	if !ok {
		return bad("there is no =")
	}
	part, err := offset.ParsePartition(left)
	if err != nil {
		return bad(err.Error())
	}
	r := Range{Partition: part}
	number := func(t string) (int64, bool) {
		n, err := strconv.ParseUint(t, 10, 63)
		return int64(n), err == nil
	}
	var a, b string
	counted := false
	if a, b, ok = strings.Cut(right, ":"); !ok {
		if a, b, ok = strings.Cut(right, "+"); !ok {
			return bad("it has one number")
		}
		counted = true
	}
	if r.From, ok = number(a); !ok {
		return bad(fmt.Sprintf("%q is not an offset", a))
	}
	n, ok := number(b)
	switch {
	case !ok:
		return bad(fmt.Sprintf("%q is not a number", b))
	case counted && n == 0:
		return bad("it holds no records")
	case counted:
		r.Count = n
	case n < r.From:
		return bad("it ends before it begins")
	default:
		r.To = n
	}
	return r, nil
}

func checkRanges(rs []Range) error {
	seen := map[offset.Partition]Range{}
	for _, r := range rs {
		if o, twice := seen[r.Partition]; twice {
			return usagef("one run reads one range of a partition", "ranges %s and %s name the same partition", o, r)
		}
		seen[r.Partition] = r
	}
	return nil
}
