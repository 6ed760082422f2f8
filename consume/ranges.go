package consume

// Where a run ends: a word, a number of records, or ranges.

import (
	"bufio"
	"fmt"
	"io"
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
	// Ranges are what is read, and nothing else.
	Ranges []Range
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
			return usagef("one run reads one range of a partition", "ranges %s and %s are of the same partition", o, r)
		}
		seen[r.Partition] = r
	}
	return nil
}

// rangeFileHeader is the first line of a range file.
const rangeFileHeader = "# koffset ranges 1"

// RangeFile is a work list: ranges that together are read exactly once by the processes that take a part each.
type RangeFile struct {
	ClusterID string // empty where it is not known
	Parts     [][]Range
}

// Write writes the file that ReadRangeFile reads: a line a range, its part before it.
func (f RangeFile) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, rangeFileHeader)
	if f.ClusterID != "" {
		fmt.Fprintln(b, "# cluster "+f.ClusterID)
	}
	for i, rs := range f.Parts {
		for _, r := range rs {
			fmt.Fprintf(b, "%d %s\n", i+1, r)
		}
	}
	return b.Flush()
}

// ReadRangeFile reads a range file. Parts are numbered from 1 and may be empty. The error is an *Error of kind Usage.
func ReadRangeFile(r io.Reader, name string) (RangeFile, error) {
	var f RangeFile
	sc := bufio.NewScanner(r)
	line := 0
	for sc.Scan() {
		line++
		text := strings.TrimSpace(sc.Text())
		bad := func(format string, args ...any) (RangeFile, error) {
			return RangeFile{}, usagef("make the file with koffset split", "%s:%d: %s", name, line, fmt.Sprintf(format, args...))
		}
		switch {
		case line == 1 && text != rangeFileHeader:
			return bad("this is not a range file: its first line is not %q", rangeFileHeader)
		case strings.HasPrefix(text, "# cluster "):
			f.ClusterID = strings.TrimPrefix(text, "# cluster ")
		case text == "" || strings.HasPrefix(text, "#"):
		default:
			num, rest, _ := strings.Cut(text, " ")
			n, err := strconv.Atoi(num)
			if err != nil || n < 1 || n > 1_000_000 {
				return bad("%q is not a part", num)
			}
			rg, err := ParseRange(strings.TrimSpace(rest))
			if err != nil {
				return bad("%v", err)
			}
			for len(f.Parts) < n {
				f.Parts = append(f.Parts, nil)
			}
			f.Parts[n-1] = append(f.Parts[n-1], rg)
		}
	}
	if err := sc.Err(); err != nil {
		return RangeFile{}, usagef("", "%s: %w", name, err)
	}
	if line == 0 {
		return RangeFile{}, usagef("make the file with koffset split", "%s is empty", name)
	}
	return f, nil
}
