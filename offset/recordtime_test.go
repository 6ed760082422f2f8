package offset

import (
	"testing"
	"time"
)

func TestRecordTime(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		at   time.Time
		kind RecordTime
		age  time.Duration
	}{
		{"absent", time.Time{}, TimeAbsent, 0},
		{"an hour ago", now.Add(-time.Hour), TimePlausible, time.Hour},
		{"1970", time.UnixMilli(0), TimePlausible, now.Sub(time.UnixMilli(0))},
		{"a clock that is 30 s ahead", now.Add(30 * time.Second), TimePlausible, 0},
		{"a year ahead", now.AddDate(1, 0, 0), TimeInFuture, 0},
	} {
		r := Record{Offset: 7, Time: tc.at}
		age, ok := r.Age(now)
		if r.TimeKind(now) != tc.kind || age != tc.age || ok != (tc.kind == TimePlausible) {
			t.Errorf("%s: kind %d, age %s %v; want %d, %s", tc.name, r.TimeKind(now), age, ok, tc.kind, tc.age)
		}
	}
}

// franz-go makes a time of milliseconds as time.Unix(0, ms*1e6), which overflows in 2262.
func TestTimeOf(t *testing.T) {
	for _, ms := range []int64{0, 1_700_000_000_000, 9_223_372_036_854, 9_223_372_036_855, 9_999_999_999_999, 13_000_000_000_000} {
		if got := TimeOf(time.Unix(0, ms*1e6)); got.UnixMilli() != ms {
			t.Errorf("%d came back as %d (%s)", ms, got.UnixMilli(), got)
		}
	}
	if !TimeOf(time.Unix(0, -1e6)).IsZero() || !TimeOf(time.Time{}).IsZero() {
		t.Error("the marker for no time is a time")
	}
}
