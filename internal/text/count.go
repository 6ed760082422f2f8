// Package text puts numbers, sizes, times and near names into the words that people read. It knows nothing of Kafka, and every
// package may use it, so that a number has the same separators everywhere.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Count writes n with a comma every three digits: 1,234,567. For sentences and progress; cells stay bare, since scripts
// read them.
func Count[T ~int | ~int32 | ~int64](n T) string { return humanize.Comma(int64(n)) }

// Plural is Count with a noun: "1 record", "2,000 records". The plural is the noun with an s.
func Plural[T ~int | ~int32 | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// More is Plural for what a list leaves out: "1 more partition", "3 more partitions".
func More[T ~int | ~int32 | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 more " + noun
	}
	return Count(n) + " more " + noun + "s"
}

// Some lists the first few entries of a list and counts the rest: a, b, c and 1,204 more.
func Some[T any](list []T, most int) string {
	shown := make([]string, min(most, len(list)))
	for i := range shown {
		shown[i] = fmt.Sprint(list[i])
	}
	out := strings.Join(shown, ", ")
	if rest := len(list) - most; rest > 0 {
		out += " and " + Count(rest) + " more"
	}
	return out
}

// Bytes writes a size in powers of 1024: "512 B", "1.5 KiB", "20 MiB". A negative one has a sign.
func Bytes(n int64) string {
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-n)) // the smallest int64 is its own negative, and right as a uint64
	}
	return humanize.IBytes(uint64(n))
}

// Duration writes a length of time with its two largest units: "850ms", "12.3s", "5m10s", "2h5m", "3d4h". Libraries name one
// unit, or say "about"; an age beside a threshold needs both.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-max(d, -1<<63+1))
	}
	const day = 24 * time.Hour
	two := func(big, small time.Duration, b, s string) string {
		out := strconv.FormatInt(int64(d/big), 10) + b
		if rest := d % big / small; rest > 0 {
			out += strconv.FormatInt(int64(rest), 10) + s
		}
		return out
	}
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(float64(d.Milliseconds()/100)/10, 'f', -1, 64) + "s"
	case d < time.Hour:
		return two(time.Minute, time.Second, "m", "s")
	case d < day:
		return two(time.Hour, time.Minute, "h", "m")
	default:
		return two(day, time.Hour, "d", "h")
	}
}
