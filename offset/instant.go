package offset

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Instant is a point in time that was asked for, and what a reader of the output should know about how it was read.
type Instant struct {
	Time time.Time
	// ZoneAssumed says that the text named no zone, and the clock's zone was used.
	ZoneAssumed bool
	// Zone is the zone that was used then; nil where the text named its own, or needs none.
	Zone *time.Location
	// Relative says that the text was a distance from the present, such as -2h.
	Relative bool
}

// Millis is the instant as Kafka's protocol asks for it: milliseconds since 1970. It is never negative: a negative number
// would be a command (-1 is the log end), not a time.
func (i Instant) Millis() int64 { return i.Time.UnixMilli() }

// Warning is what looks wrong about the instant: before 2000 (seconds read as milliseconds?) or more than a day ahead
// (microseconds?). It is empty for an ordinary one.
func (i Instant) Warning(now time.Time) string {
	switch {
	case i.Time.Before(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)):
		return FormatTime(i.Time) + " is before the year 2000: was the unit right?"
	case i.Time.After(now.Add(24 * time.Hour)):
		return FormatTime(i.Time) + " is more than a day ahead: was the unit right?"
	}
	return ""
}

// FormatTime is how koffset prints an instant: RFC 3339 in UTC, with milliseconds only where there are any.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return FormatTimeIn(t, time.UTC)
}

// FormatTimeIn is FormatTime in another zone, with its distance from UTC at the end: what it prints, ParseTime reads as the
// same instant.
func FormatTimeIn(t time.Time, zone *time.Location) string {
	t = t.In(zone)
	if t.Nanosecond()/1e6 == 0 {
		return t.Format("2006-01-02T15:04:05Z07:00")
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}

var (
	epochForm = regexp.MustCompile(`^[0-9]+(?:s|ms|us|µs|ns)?$`)
	// stampForm splits a date and time. The fraction is read as a fraction: Kafka's own tool takes ".5" as 5 ms.
	stampForm = regexp.MustCompile(`^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?(Z|z|[+-]\d{2}(?::?\d{2})?)?$`)
	roundForm = regexp.MustCompile(`^(.*)/([a-z]+)$`)
)

const timeForms = "write 2026-11-29T10:00:00Z, 2026-11-29, an epoch with its unit such as 1764410400s, or 13 digits of milliseconds"

// ParseTime reads a point in time: RFC 3339 with the seconds optional, the same without a zone (the clock's zone is used,
// and ZoneAssumed says so), a date, or an epoch with its unit (s, ms, us, ns). A bare integer must have 13 digits and is
// milliseconds, since seconds read as milliseconds are a day in January 1970. The error is a *SyntaxError.
func ParseTime(s string, clock Clock) (Instant, error) {
	if strings.HasPrefix(s, "-") && len(s) > 1 && s[1] >= '0' && s[1] <= '9' {
		return Instant{}, syntaxf(s, timeForms+"; a time before now is @-2h", "%q is not a point in time: it is negative", s)
	}
	if epochForm.MatchString(s) {
		return parseEpoch(s)
	}
	if isDayWord(s) {
		return dayWord(s, clock), nil
	}
	m := stampForm.FindStringSubmatch(s)
	if m == nil {
		return Instant{}, syntaxf(s, meantClock("", s, clock, timeForms), "%q is not a point in time", s)
	}
	num := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
	zone, assumed := clock.zone(), true
	switch z := m[8]; {
	case z == "Z" || z == "z":
		zone, assumed = time.UTC, false
	case z != "":
		d := strings.ReplaceAll(z[1:], ":", "")
		h, _ := strconv.Atoi(d[:2])
		mm := 0
		if len(d) == 4 {
			mm, _ = strconv.Atoi(d[2:])
		}
		if h > 18 || mm > 59 {
			return Instant{}, syntaxf(s, timeForms, "%q: %s is not a zone", s, z)
		}
		sec := h*3600 + mm*60
		if z[0] == '-' {
			sec = -sec
		}
		zone, assumed = time.FixedZone(z, sec), false
	}
	nanos := 0
	if f := m[7]; f != "" {
		nanos, _ = strconv.Atoi((f + "000000000")[:9])
	}
	t := time.Date(num(1), time.Month(num(2)), num(3), num(4), num(5), num(6), nanos, time.UTC)
	// time.Date carries 31 February over into March; a date that does not exist is a typing error.
	if y, mo, d := t.Date(); y != num(1) || int(mo) != num(2) || d != num(3) || num(4) > 23 || num(5) > 59 || num(6) > 59 {
		return Instant{}, syntaxf(s, timeForms, "%q is not a date and time that exists", s)
	}
	var err error
	if m[4] == "" && assumed {
		t = dayStart(t.Year(), t.Month(), t.Day(), zone) // a date alone is a day, and each day has a beginning
	} else if t, err = localTime(s, t, zone); err != nil {
		return Instant{}, err
	}
	if t.UnixMilli() < 0 {
		return Instant{}, syntaxf(s, "", "%q is before 1970: Kafka reads such a number as a command", s)
	}
	i := Instant{Time: t.UTC().Truncate(time.Millisecond), ZoneAssumed: assumed}
	if assumed {
		i.Zone = zone
	}
	return i, nil
}

func isDayWord(s string) bool { return s == "now" || s == "today" || s == "yesterday" }

// dayWord is the present, or the beginning of this day or of the one before in the clock's zone.
func dayWord(s string, clock Clock) Instant {
	if s == "now" {
		return Instant{Time: clock.Now.UTC().Truncate(time.Millisecond), Relative: true}
	}
	zone := clock.zone()
	year, month, day := clock.Now.In(zone).Date()
	if s == "yesterday" {
		day--
	}
	return Instant{Time: dayStart(year, month, day, zone).UTC(), Relative: true, Zone: zone, ZoneAssumed: true}
}

func parseEpoch(s string) (Instant, error) {
	digits := strings.TrimRight(s, "smuµn")
	unit := s[len(digits):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return Instant{}, syntaxf(s, timeForms, "%q is too large for a time", s)
	}
	var per int64 // units in a millisecond
	switch unit {
	case "":
		if len(digits) != 13 {
			return Instant{}, syntaxf(s, "write the unit: "+digits+"s, "+digits+"ms, "+digits+"us", "%q has no unit, and %d digits: only 13 digits are taken as milliseconds", s, len(digits))
		}
		per = 1
	case "s":
		if n > math.MaxInt64/1_000_000_000 {
			return Instant{}, syntaxf(s, timeForms, "%q is too large for a time in seconds", s)
		}
		return checkYear(s, time.Unix(n, 0))
	case "ms":
		per = 1
	case "us", "µs":
		per = 1000
	case "ns":
		per = 1_000_000
	}
	// Rounding down keeps "first record at or after" from passing over the record of that very millisecond.
	return checkYear(s, time.UnixMilli(n/per))
}

func checkYear(s string, t time.Time) (Instant, error) {
	if t.UTC().Year() > 9999 {
		return Instant{}, syntaxf(s, timeForms, "%q is after the year 9999", s)
	}
	return Instant{Time: t.UTC()}, nil
}

// parseAt reads what follows the @ of a position word: a time, or a distance from now, rounded down by /h or /d.
func parseAt(s string, clock Clock) (Instant, error) {
	body, unit := s, ""
	if m := roundForm.FindStringSubmatch(s); m != nil {
		body, unit = m[1], m[2]
	}
	zone := clock.zone()
	var i Instant
	switch days, whole := calendarDays(strings.TrimLeft(body, "+-")); {
	case unit == "d" && whole && (strings.HasPrefix(body, "-") || strings.HasPrefix(body, "+")):
		if body[0] == '-' {
			days = -days
		}
		l := clock.Now.In(zone)
		i = Instant{Time: dayStart(l.Year(), l.Month(), l.Day()+days, zone), Relative: true}
	case strings.HasPrefix(body, "-") || strings.HasPrefix(body, "+"):
		d, err := ParseDuration(body[1:])
		if err != nil {
			return Instant{}, syntaxf("@"+s, "write @-2h, @-7d or @-PT30M", "@%s: %v", s, err)
		}
		if body[0] == '-' {
			d = -d
		}
		t := clock.Now.Add(d).UTC()
		if t.UnixMilli() < 0 {
			return Instant{}, syntaxf("@"+s, "", "@%s is before 1970", s)
		}
		i = Instant{Time: t, Relative: true}
	default:
		t, err := ParseTime(body, clock)
		if err != nil {
			return Instant{}, err
		}
		i = t
	}
	l := i.Time.In(zone)
	switch unit {
	case "":
	case "m":
		l = l.Add(-time.Duration(l.Second())*time.Second - time.Duration(l.Nanosecond()))
	case "h":
		l = HourStart(l, zone)
	case "d":
		l = DayStart(l, 0, zone)
	default:
		return Instant{}, syntaxf("@"+s, "use /m, /h or /d", "@%s: cannot round to %q", s, unit)
	}
	if l.UnixMilli() < 0 {
		return Instant{}, syntaxf("@"+s, "", "@%s is before 1970", s)
	}
	// Kafka counts milliseconds: what is printed is then exactly what is asked.
	i.Time = l.UTC().Truncate(time.Millisecond)
	return i, nil
}
