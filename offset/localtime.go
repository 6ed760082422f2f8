package offset

import (
	"regexp"
	"strconv"
	"time"
)

// onWallClock are the instants at which a clock in that zone shows the date and time: none in the hour that is skipped when
// clocks go forward, two in the hour that comes twice when they go back, one otherwise. wall is the date and time as if in UTC.
func onWallClock(wall time.Time, zone *time.Location) []time.Time {
	var out []time.Time
	for _, offset := range offsetsAround(wall, zone) {
		t := wall.Add(-offset)
		if _, is := t.In(zone).Zone(); time.Duration(is)*time.Second == offset {
			out = append(out, t.UTC())
		}
	}
	return out
}

// offsetsAround are the zone's distances from UTC a day before and a day after, the larger first, so that the instants that
// they give ascend.
func offsetsAround(wall time.Time, zone *time.Location) []time.Duration {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	a, b := time.Duration(max(before, after))*time.Second, time.Duration(min(before, after))*time.Second
	if a == b {
		return []time.Duration{a}
	}
	return []time.Duration{a, b}
}

// localTime is the instant of a date and time in a zone. One that does not exist there, or exists twice, is refused with the
// two ways to write what may have been meant: a rewind by an hour too many or too few is nobody's wish.
func localTime(text string, wall time.Time, zone *time.Location) (time.Time, error) {
	at := onWallClock(wall, zone)
	if len(at) == 1 {
		return at[0], nil
	}
	hint := "write the distance from UTC: "
	for i, offset := range offsetsAround(wall, zone) {
		if i > 0 {
			hint += " or "
		}
		t := wall.Add(-offset)
		hint += wall.In(time.UTC).Format("2006-01-02T15:04:05.999") + t.In(time.FixedZone("", int(offset.Seconds()))).Format("Z07:00") + " (" + FormatTime(t) + ")"
	}
	if len(at) == 0 {
		return time.Time{}, syntaxf(text, hint, "%q does not exist in %s: clocks are put forward over it", text, zone)
	}
	return time.Time{}, syntaxf(text, hint, "%q comes twice in %s: clocks are put back then", text, zone)
}

// HourStart is the beginning of the hour of a time in a zone. It subtracts: on the night the clocks go back an hour exists twice.
func HourStart(t time.Time, zone *time.Location) time.Time {
	l := t.In(zone)
	return l.Add(-time.Duration(l.Minute())*time.Minute - time.Duration(l.Second())*time.Second - time.Duration(l.Nanosecond()))
}

// DayStart is the first instant of the calendar day that comes so many days after that of a time in a zone.
func DayStart(t time.Time, after int, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return dayStart(y, m, d+after, zone)
}

// dayStart is the first instant of a calendar day in a zone: midnight, or where midnight is skipped the first instant after
// it, or where it comes twice the first.
func dayStart(year int, month time.Month, day int, zone *time.Location) time.Time {
	wall := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if at := onWallClock(wall, zone); len(at) > 0 {
		return at[0]
	}
	// Skipped: the day begins where the zone changes.
	t := wall.Add(-offsetsAround(wall, zone)[1]).In(zone)
	if start, _ := t.ZoneBounds(); !start.IsZero() && start.In(zone).Day() == t.Day() {
		return start.UTC()
	}
	_, end := t.ZoneBounds()
	return end.UTC()
}

var wholeDays = regexp.MustCompile(`^(?:(\d{1,5})d|P(\d{1,5})D)$`)

// calendarDays reads a distance that is a number of days. Rounded down to the day, "-7d" is seven days of the calendar, of
// which one has 23 hours and one 25.
func calendarDays(text string) (int, bool) {
	m := wholeDays.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1] + m[2])
	return n, err == nil
}
