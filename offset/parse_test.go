package offset

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 11, 29, 10, 37, 21, 123456789, time.UTC)

func testClock() Clock { return Clock{Now: testNow} }

func TestParsePosition(t *testing.T) {
	for _, tt := range []struct {
		word string
		role Role
		want string // canonical
	}{
		{"earliest", RoleTarget, "earliest"},
		{"start", RoleStart, "earliest"},
		{"earliest-offset", RoleStart, "earliest"},
		{"latest", RoleEnd, "latest"},
		{"end", RoleTarget, "latest"},
		{"current", RoleTarget, "current"},
		{"1234", RoleTarget, "1234"},
		{"0", RoleTarget, "0"},
		{"9223372036854775807", RoleTarget, "9223372036854775807"},
		{"start+10", RoleTarget, "start+10"},
		{"end-10", RoleStart, "end-10"},
		{"current+10", RoleStart, "current+10"},
		{"current-10", RoleTarget, "current-10"},
		{"+10", RoleTarget, "current+10"},
		{"-10", RoleTarget, "current-10"},
		{"+10", RoleEnd, "+10"},
		{"max-timestamp", RoleTarget, "max-timestamp"},
		{"earliest-local", RoleTarget, "earliest-local"},
		{"latest-tiered", RoleTarget, "latest-tiered"},
		{"group:billing", RoleTarget, "group:billing"},
		{"file:/a b/c,d=e", RoleTarget, "file:/a b/c,d=e"},
		{"checkpoint:/x/chk-3", RoleStart, "checkpoint:/x/chk-3"},
		{"store:postgres://h/db?table=t", RoleStart, "store:postgres://h/db?table=t"},
		{"@2026-11-29T10:00:00Z", RoleTarget, "@2026-11-29T10:00:00Z"},
		{"@2026-11-29", RoleTarget, "@2026-11-29T00:00:00Z"},
		{"@-2h", RoleTarget, "@2026-11-29T08:37:21.123Z"},
		{"@-1h/h", RoleTarget, "@2026-11-29T09:00:00Z"},
		{"@-1d/d", RoleTarget, "@2026-11-28T00:00:00Z"},
		{"@now/d", RoleTarget, "@2026-11-29T00:00:00Z"},
		{"@-7d", RoleTarget, "@2026-11-22T10:37:21.123Z"},
		{"@-PT30M", RoleTarget, "@2026-11-29T10:07:21.123Z"},
		{"@1710072000500", RoleTarget, "@2024-03-10T12:00:00.500Z"},
		{"orders:0=42,orders:1=@-2h", RoleTarget, "orders:0=42,orders:1=@-2h"},
	} {
		p, err := ParsePosition(tt.word, tt.role, testClock())
		if err != nil {
			t.Errorf("%q: %v", tt.word, err)
			continue
		}
		if got := p.String(); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.word, got, tt.want)
		}
		if p.Text != tt.word {
			t.Errorf("%q: the text became %q", tt.word, p.Text)
		}
	}
}

func TestParsePositionMap(t *testing.T) {
	p, err := ParsePosition("orders:0-2=end-5,orders:7=12,pay:0=file:a,b", RoleTarget, testClock())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Map) != 5 {
		t.Fatalf("got %d entries: %v", len(p.Map), p.Map)
	}
	for part, want := range map[Partition]string{{"orders", 1}: "end-5", {"orders", 7}: "12", {"pay", 0}: "file:a,b"} {
		if got, ok := p.For(part); !ok || got.String() != want {
			t.Errorf("%s: got %v %v, want %s", part, got, ok, want)
		}
	}
	if _, ok := p.For(Partition{"orders", 3}); ok {
		t.Error("a partition that is not in the map has an entry")
	}
}

// What is refused, and that the hint names the word to use instead.
func TestParsePositionRefused(t *testing.T) {
	for _, tt := range []struct {
		word string
		role Role
		hint string
	}{
		{"", RoleTarget, "earliest"},
		{"soonest", RoleTarget, "earliest"},
		{"+10", RoleStart, "end-10"},
		{"-10", RoleStart, "end-10"},
		{"-10", RoleEnd, "end-10"},
		{"end+10", RoleTarget, "start+N or end-N"},
		{"start-1", RoleTarget, "start+N or end-N"},
		{"end--5", RoleTarget, "whole number"},
		{"start++5", RoleTarget, "whole number"},
		{"99999999999999999999", RoleTarget, ""},
		{"group:", RoleTarget, "after the colon"},
		{"@-2", RoleTarget, "@-2h"},
		{"@1710072000", RoleTarget, "1710072000s"},
		{"@tomorrow", RoleTarget, "2026"},
		{"@-1h/y", RoleTarget, "/h"},
		{"orders:0=1,orders:0=2", RoleTarget, ""},
		{"orders:0=", RoleTarget, "earliest"},
		{"@-9000w", RoleTarget, ""},
	} {
		_, err := ParsePosition(tt.word, tt.role, testClock())
		var syn *SyntaxError
		if !errors.As(err, &syn) {
			t.Errorf("%q: got %v, want a syntax error", tt.word, err)
			continue
		}
		if !strings.Contains(syn.Hint, tt.hint) {
			t.Errorf("%q: hint %q does not name %q", tt.word, syn.Hint, tt.hint)
		}
	}
}

func TestParseOffsetRefusesMarkers(t *testing.T) {
	for word, hint := range map[string]string{"-1": "latest", "-2": "earliest", "-7": "", "+3": "", "x": "", "": ""} {
		_, err := ParseOffset(word)
		var syn *SyntaxError
		if !errors.As(err, &syn) || !strings.Contains(syn.Hint, hint) {
			t.Errorf("%q: got %v", word, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	for _, tt := range []struct {
		in      string
		ms      int64
		assumed bool
	}{
		{"2024-03-10T12:00:00Z", 1710072000000, false},
		{"2024-03-10T12:00Z", 1710072000000, false},
		{"2024-03-10T12:00:00", 1710072000000, true},
		{"2024-03-10 12:00", 1710072000000, true},
		// Kafka's own tool reads .5 as 5 ms.
		{"2024-03-10T12:00:00.5Z", 1710072000500, false},
		{"2024-03-10T12:00:00.500", 1710072000500, true},
		{"2024-03-10T12:00:00.123456Z", 1710072000123, false},
		{"2024-03-10T13:00:00+01:00", 1710072000000, false},
		{"2024-03-10T13:00:00.000+0100", 1710072000000, false},
		{"2024-03-10T13:00:00.000+01", 1710072000000, false},
		{"2024-03-10T07:00:00-05:00", 1710072000000, false},
		{"2024-03-10", 1710028800000, true},
		{"1710072000500", 1710072000500, false},
		{"1710072000s", 1710072000000, false},
		{"1710072000500ms", 1710072000500, false},
		{"1710072000500999us", 1710072000500, false},
		{"1710072000500999999ns", 1710072000500, false},
		{"0s", 0, false},
	} {
		i, err := ParseTime(tt.in, testClock())
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if i.Millis() != tt.ms || i.ZoneAssumed != tt.assumed {
			t.Errorf("%s: got %d assumed %v, want %d assumed %v", tt.in, i.Millis(), i.ZoneAssumed, tt.ms, tt.assumed)
		}
	}
}

func TestParseTimeZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := Clock{Now: testNow, Zone: berlin}
	i, err := ParseTime("2026-11-29T10:00", c)
	if err != nil || FormatTime(i.Time) != "2026-11-29T09:00:00Z" || !i.ZoneAssumed {
		t.Errorf("got %s %v %v", FormatTime(i.Time), i.ZoneAssumed, err)
	}
	// The day in Berlin begins at 23:00 UTC.
	p, err := ParsePosition("@now/d", RoleTarget, c)
	if err != nil || p.String() != "@2026-11-28T23:00:00Z" {
		t.Errorf("got %s %v", p, err)
	}
	// On the night the clocks go back the hour 02:00 exists twice; rounding must stay in the second one.
	c.Now = time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)
	p, err = ParsePosition("@now/h", RoleTarget, c)
	if err != nil || p.String() != "@2026-10-25T01:00:00Z" {
		t.Errorf("got %s %v", p, err)
	}
}

func TestParseTimeRefused(t *testing.T) {
	for _, in := range []string{"", "1710072000", "171007200050000", "1710072000500000", "-1", "-2", "-3", "2024-02-30", "2024-03-10T25:00:00Z",
		"2024-03-10T12:60Z", "99999999999999999999s", "9999999999999999s", "2024-03-10T12:00:00+25:00", "noon", "1969-12-31", "12:00", "2024-3-1"} {
		if i, err := ParseTime(in, testClock()); err == nil {
			t.Errorf("%q was read as %s", in, FormatTime(i.Time))
		}
	}
}

func TestInstantWarning(t *testing.T) {
	for in, odd := range map[string]bool{"1710072000s": false, "0000000000500ms": true, "2026-11-30T10:00:00Z": false, "2026-12-01T10:00:00Z": true} {
		i, err := ParseTime(in, testClock())
		if err != nil {
			t.Fatal(err)
		}
		if got := i.Warning(testNow) != ""; got != odd {
			t.Errorf("%s: warning %q", in, i.Warning(testNow))
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour,
		"2w": 336 * time.Hour, "1w2d": 216 * time.Hour, "P1DT2H": 26 * time.Hour, "PT0.1S": 100 * time.Millisecond, "PT1M": time.Minute, "P1W": 168 * time.Hour,
		"pt5m": 5 * time.Minute, "0": 0, "PT1,5H": 90 * time.Minute,
	} {
		got, err := ParseDuration(in)
		if err != nil || got != want {
			t.Errorf("%s: got %v %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "30", "30000", "1.5", "-5m", "P", "PT", "P1M", "P1Y", "P1DT", "5 minutes", "1h-5m", "d", "99999999w", "P99999999999999999D"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{"1d4h": 28*time.Hour + 30*time.Minute, "3h20m": 200 * time.Minute, "45s": 45*time.Second + 300*time.Millisecond, "120ms": 120 * time.Millisecond, "2d": 48 * time.Hour, "-5m": -5 * time.Minute} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestTopicSpec(t *testing.T) {
	for in, want := range map[string]string{"orders": "orders", "orders:0,2-5": "orders:0,2-5", "orders:5,4,3,3": "orders:3-5", "a.b_c-d:0": "a.b_c-d:0"} {
		got, err := ParseTopicSpec(in)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %s %v", in, got, err)
		}
	}
	for _, in := range []string{"", ":0", "orders:", "orders:x", "orders:-1", "orders:5-2", "orders:1,,2", "or/ders", "..", "orders:0-2147483647", strings.Repeat("a", 250), "orders:+1", "a b"} {
		if got, err := ParseTopicSpec(in); err == nil {
			t.Errorf("%q was read as %s", in, got)
		}
	}
}

func TestMatcher(t *testing.T) {
	for _, tt := range []struct {
		names, match, exclude []string
		yes, no               []string
	}{
		{nil, nil, nil, []string{"a", "b"}, nil},
		{[]string{"a"}, nil, nil, []string{"a"}, []string{"b", "aa"}},
		{nil, []string{"prod-.*"}, nil, []string{"prod-x"}, []string{"xprod-x", "dev"}},
		{nil, nil, []string{"dev.*"}, []string{"prod"}, []string{"dev1"}},
		// A literal name wins over a pattern, an excluding one too.
		{[]string{"dev1"}, []string{"prod-.*"}, []string{"dev.*", "prod-b"}, []string{"dev1", "prod-a"}, []string{"dev2", "prod-b"}},
		// A literal name is no pattern: the dot is a dot.
		{[]string{"a.b"}, nil, nil, []string{"a.b"}, []string{"axb"}},
		{nil, []string{"a|b"}, nil, []string{"a", "b"}, []string{"ab", "ax"}},
	} {
		m, err := NewMatcher("group", tt.names, tt.match, tt.exclude)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range tt.yes {
			if !m.Match(n) {
				t.Errorf("%+v does not match %q", tt, n)
			}
		}
		for _, n := range tt.no {
			if m.Match(n) {
				t.Errorf("%+v matches %q", tt, n)
			}
		}
	}
	for _, bad := range [][]string{{"("}, {""}} {
		if _, err := NewMatcher("group", nil, bad, nil); err == nil {
			t.Errorf("pattern %q was accepted", bad)
		}
	}
	if m, err := NewMatcher("group", []string{""}, nil, nil); err != nil || m.All() || m.Match("x") || !m.Match("") {
		t.Errorf("an empty name is a name, and never means everything: %v", err)
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"earliest", "@-2h", "orders:0=42,orders:1=@-2h", "end-10", "@1710072000s", "store:x", "+5", "@-1d/d", "a:0-3=start+1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, role := range []Role{RoleTarget, RoleStart, RoleEnd} {
			p, err := ParsePosition(s, role, testClock())
			if err != nil {
				var syn *SyntaxError
				if !errors.As(err, &syn) {
					t.Fatalf("%q: %T is no syntax error", s, err)
				}
				continue
			}
			if p.Kind == AtTime && p.At.Millis() < 0 {
				t.Fatalf("%q asks for the negative time %d, which Kafka reads as a command", s, p.At.Millis())
			}
			if p.Kind == Exact && p.N < 0 {
				t.Fatalf("%q is the negative offset %d", s, p.N)
			}
			if p.Kind == ByPartition || p.Kind == Latest && strings.HasPrefix(s, "@") {
				continue
			}
			again, err := ParsePosition(p.String(), role, testClock())
			if p.Kind == FromCurrent && role == RoleEnd || err == nil && again.String() == p.String() {
				continue
			}
			t.Fatalf("%q: %q reads back as %q, %v", s, p, again, err)
		}
	})
}

// A time of day, an epoch and an entry of a map without its partition are no position words: the hint has the word that is near.
func TestNearlyPositions(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	for _, tt := range []struct {
		word  string
		clock Clock
		hint  string
	}{
		{"10:00", testClock(), "write @2026-11-29T10:00:00Z, with the day"},
		{"10:37:22", testClock(), "write @2026-11-28T10:37:22Z, with the day"},
		{"9:05", Clock{Now: testNow, Zone: zone}, "write @2026-11-29T09:05:00+02:00, with the day"},
		{"orders=-5", testClock(), "write orders:0=-5, with the partition"},
	} {
		_, err := ParsePosition(tt.word, RoleTarget, tt.clock)
		var syn *SyntaxError
		if !errors.As(err, &syn) || syn.Hint != tt.hint {
			t.Errorf("%s: %v, want the hint %q", tt.word, err, tt.hint)
		}
		at, _ := strings.CutPrefix(tt.hint, "write ")
		at, _, _ = strings.Cut(at, ",")
		if _, err := ParsePosition(at, RoleTarget, tt.clock); err != nil {
			t.Errorf("%s: the hint is no position: %v", at, err)
		}
	}
	if _, err := ParseTime("10:00", testClock()); err == nil || err.(*SyntaxError).Hint != "write 2026-11-29T10:00:00Z, with the day" {
		t.Errorf("%v", err)
	}
	if _, err := ParsePosition("25:00", RoleTarget, testClock()); err == nil || strings.Contains(err.(*SyntaxError).Hint, "25") {
		t.Errorf("%v", err)
	}
}
