package offset_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// Durations at the edges of what they take and of how they are written.
func TestDurationEdges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0s": 0, "0ms": 0, "1w5s": 7*24*time.Hour + 5*time.Second, "1d1s": 24*time.Hour + time.Second,
		"9007199254740993ns":      9007199254740993, // a float would round it
		"0d4611686018427387904ns": 1 << 62, "PT0S": 0, "PT4611686018.427387904S": 1 << 62, "P1DT1S": 24*time.Hour + time.Second,
	} {
		if got, err := offset.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"100000d", "P100000D", "53376d", "P53376D"} {
		if got, err := offset.ParseDuration(text); err == nil {
			t.Errorf("%s is %s, and longer than can be counted", text, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0ms", time.Millisecond: "1ms", time.Second - 1: "999ms", time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 24 * time.Hour: "1d",
		61 * time.Second: "1m1s", 61 * time.Minute: "1h1m", 25 * time.Hour: "1d1h", 24*time.Hour + 59*time.Minute: "1d", -25 * time.Hour: "-1d1h",
		math.MaxInt64: "106751d23h",
	} {
		if got := offset.FormatDuration(d); got != want {
			t.Errorf("%d ns is %s, want %s", d, got, want)
		}
	}
}

// Points in time at the edges of what they take: the first and last second, zone and year.
func TestTimeEdges(t *testing.T) {
	t.Parallel()
	clock := offset.Clock{Now: time.UnixMilli(2*3600_000 + 61_234).UTC()}
	for text, want := range map[string]string{
		"1970-01-01T00:00:00Z":      "1970-01-01T00:00:00Z",
		"2026-11-29T23:59:59Z":      "2026-11-29T23:59:59Z",
		"2026-11-29T12:00:00+18:00": "2026-11-28T18:00:00Z",
		"2026-11-29T12:00:00-05:59": "2026-11-29T17:59:00Z",
		"9223372036s":               "2262-04-11T23:47:16Z",
		"253402300799999ms":         "9999-12-31T23:59:59.999Z",
	} {
		if got, err := offset.ParseTime(text, clock); err != nil || offset.FormatTime(got.Time) != want {
			t.Errorf("%s is %s, %v; want %s", text, offset.FormatTime(got.Time), err, want)
		}
	}
	for _, text := range []string{"1969-12-31T23:59:59Z", "2026-11-29T24:00:00Z", "2026-11-29T23:60:00Z", "2026-11-29T23:59:60Z",
		"2026-11-29T12:00:00+19:00", "2026-11-29T12:00:00+05:60", "9223372037s", "253402300800000ms"} {
		if got, err := offset.ParseTime(text, clock); err == nil {
			t.Errorf("%s is taken for %s", text, offset.FormatTime(got.Time))
		}
	}
	for text, negative := range map[string]bool{"-0": true, "-5": true, "-9": true, "-": false, "-x": false, "-/": false, "-:": false} {
		if _, err := offset.ParseTime(text, clock); err == nil || strings.Contains(err.Error(), "it is negative") != negative {
			t.Errorf("%s: %v; negative is %t", text, err, negative)
		}
	}
	for word, want := range map[string]string{
		"@-2h1m1234ms": "1970-01-01T00:00:00Z", "@-0s/m": "1970-01-01T02:01:00Z", "@-0s/h": "1970-01-01T02:00:00Z", "@-0d/d": "1970-01-01T00:00:00Z", "@-2h/d": "1970-01-01T00:00:00Z",
	} {
		if got, err := offset.ParsePosition(word, offset.RoleStart, clock); err != nil || offset.FormatTime(got.At.Time) != want {
			t.Errorf("%s is %s, %v; want %s", word, offset.FormatTime(got.At.Time), err, want)
		}
	}
	for _, word := range []string{"@-2h1m1235ms", "@-3h", "@-1d/d"} {
		if got, err := offset.ParsePosition(word, offset.RoleStart, clock); err == nil {
			t.Errorf("%s is taken for %s, which is before 1970", word, offset.FormatTime(got.At.Time))
		}
	}
	if got := offset.FormatTimeIn(time.Unix(0, 999_999), time.UTC); got != "1970-01-01T00:00:00Z" {
		t.Errorf("less than a millisecond is written as %s", got)
	}
}

// Of an hour that comes twice both are offered, with one word between them.
func TestBothHoursAreOffered(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	_, err = offset.ParseTime("2026-10-25T02:30:00", offset.Clock{Now: time.Now(), Zone: berlin})
	var se *offset.SyntaxError
	if !errors.As(err, &se) {
		t.Fatal(err)
	}
	const want = "write the distance from UTC: 2026-10-25T02:30:00+02:00 (2026-10-25T00:30:00Z) or 2026-10-25T02:30:00+01:00 (2026-10-25T01:30:00Z)"
	if se.Hint != want {
		t.Errorf("the hint is %q, want %q", se.Hint, want)
	}
}

func TestEpochOfTheWire(t *testing.T) {
	t.Parallel()
	for n, known := range map[int32]bool{-2: false, -1: false, 0: true, 1: true} {
		if got, ok := offset.EpochOf(n).Get(); ok != known || known && got != n {
			t.Errorf("epoch %d is %d, %t", n, got, ok)
		}
	}
}
