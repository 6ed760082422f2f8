// Numbers, sizes and times as sentences have them.

package render

import (
	"fmt"
	"strconv"
	"time"
)

// Count writes n with a comma every three digits: 1,234,567. For sentences and
// progress; cells stay bare, since scripts read them.
func Count[T ~int | ~int32 | ~int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	out := make([]byte, 0, len(digits)+len(digits)/3)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, digits[i])
	}
	return sign + string(out)
}

// Plural is Count with a noun: "1 record", "2,000 records". The plural is the
// noun with an s.
func Plural[T ~int | ~int32 | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Bytes writes a size in powers of 1024: "512 B", "1.5 KiB", "20 MiB".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n)/1024, 0
	for (f >= 1023.95 || f <= -1023.95) && unit < 5 {
		f, unit = f/1024, unit+1
	}
	if f >= 10 || f <= -10 {
		return fmt.Sprintf("%.0f %ciB", f, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[unit])
}

// Duration writes a length of time with its two largest units: "850ms", "12.3s",
// "5m10s", "2h5m", "3d4h".
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
