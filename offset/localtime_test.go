package offset

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine without time zones is no excuse
)

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// A time that the clocks skip, or show twice, is refused with both readings; each of them is then a time that works.
func TestLocalTimesThatAreNotOne(t *testing.T) {
	for _, tc := range []struct {
		zone, text, says string
		candidates       []string
	}{
		{"America/New_York", "2024-03-10T02:30", "does not exist", []string{"2024-03-10T06:30:00Z", "2024-03-10T07:30:00Z"}},
		{"America/New_York", "2024-11-03T01:30", "comes twice", []string{"2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"}},
		{"Europe/Berlin", "2026-10-25T02:00:00.500", "comes twice", []string{"2026-10-25T00:00:00.500Z", "2026-10-25T01:00:00.500Z"}},
		{"Australia/Lord_Howe", "2024-10-06T02:15", "does not exist", []string{"2024-10-05T15:15:00Z", "2024-10-05T15:45:00Z"}},
	} {
		zone := zoneOf(t, tc.zone)
		_, err := ParseTime(tc.text, Clock{Zone: zone})
		var bad *SyntaxError
		if !errors.As(err, &bad) || !strings.Contains(bad.Error(), tc.says) || !strings.Contains(bad.Error(), tc.zone) {
			t.Errorf("%s in %s: %v", tc.text, tc.zone, err)
			continue
		}
		for _, want := range tc.candidates {
			if !strings.Contains(bad.Hint, "("+want+")") {
				t.Errorf("%s: the hint %q lacks %s", tc.text, bad.Hint, want)
			}
		}
		words := strings.Fields(bad.Hint)
		for i, w := range words {
			if strings.HasPrefix(w, "(") {
				if got, err := ParseTime(words[i-1], Clock{Zone: zone}); err != nil || "("+FormatTime(got.Time)+")" != w {
					t.Errorf("%s is %s, %v; the hint says %s", words[i-1], FormatTime(got.Time), err, w)
				}
			}
		}
	}
	if got, err := ParseTime("2024-11-03T00:59", Clock{Zone: zoneOf(t, "America/New_York")}); err != nil || FormatTime(got.Time) != "2024-11-03T04:59:00Z" {
		t.Errorf("before the change: %v %v", got, err)
	}
}

// Days are those of the calendar: across a change of the clocks one has 23 hours, one 25, and one may begin at 01:00.
func TestCalendarDays(t *testing.T) {
	at := func(s string) time.Time {
		u, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, tc := range []struct{ zone, now, word, want string }{
		{"America/New_York", "2024-03-11T04:30:00Z", "-1d/d", "2024-03-10T05:00:00Z"}, // 00:30 of the 11th; the 10th had 23 hours
		{"America/New_York", "2024-11-04T04:30:00Z", "-1d/d", "2024-11-02T04:00:00Z"}, // 23:30 of the 3rd, which had 25
		{"America/New_York", "2024-11-04T05:30:00Z", "-P1D/d", "2024-11-03T04:00:00Z"},
		{"America/New_York", "2024-03-11T04:30:00Z", "-24h/d", "2024-03-09T05:00:00Z"}, // hours are hours
		{"America/Sao_Paulo", "2018-11-04T12:00:00Z", "now/d", "2018-11-04T03:00:00Z"}, // midnight was skipped
		{"America/Sao_Paulo", "2018-11-05T12:00:00Z", "-1d/d", "2018-11-04T03:00:00Z"},
		{"UTC", "2026-11-29T12:00:00Z", "-7d/d", "2026-11-22T00:00:00Z"},
		{"Europe/Berlin", "2026-10-25T01:40:00Z", "now/h", "2026-10-25T01:00:00Z"}, // the second 02:40
		{"Europe/Berlin", "2026-10-25T00:40:30Z", "now/m", "2026-10-25T00:40:00Z"},
	} {
		got, err := parseAt(tc.word, Clock{Now: at(tc.now), Zone: zoneOf(t, tc.zone)})
		if err != nil || FormatTime(got.Time) != tc.want {
			t.Errorf("@%s at %s in %s is %s, %v; want %s", tc.word, tc.now, tc.zone, FormatTime(got.Time), err, tc.want)
		}
	}
	if got, err := ParseTime("2018-11-04", Clock{Zone: zoneOf(t, "America/Sao_Paulo")}); err != nil || FormatTime(got.Time) != "2018-11-04T03:00:00Z" {
		t.Errorf("a date whose midnight is skipped: %v %v", got, err)
	}
}

// The pieces that counts by time have: an hour that comes twice is two, and a day whose midnight is skipped begins after it.
func TestHoursAndDaysOfAZone(t *testing.T) {
	t.Parallel()
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	at := func(s string) time.Time {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	berlin, saoPaulo := zone("Europe/Berlin"), zone("America/Sao_Paulo")
	for _, c := range []struct{ got, want time.Time }{
		{HourStart(at("2026-10-25T00:40:10.5Z"), berlin), at("2026-10-25T00:00:00Z")},
		{HourStart(at("2026-10-25T01:40:10.5Z"), berlin), at("2026-10-25T01:00:00Z")},
		{DayStart(at("2026-10-25T12:00:00Z"), 0, berlin), at("2026-10-24T22:00:00Z")},
		{DayStart(at("2026-10-25T12:00:00Z"), 1, berlin), at("2026-10-25T23:00:00Z")},
		{DayStart(at("2018-11-03T12:00:00Z"), 1, saoPaulo), at("2018-11-04T03:00:00Z")},
		{DayStart(at("2018-10-31T12:00:00Z"), 1, saoPaulo), at("2018-11-01T03:00:00Z")},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
