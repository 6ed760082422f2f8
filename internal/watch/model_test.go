package watch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

var t0 = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)

func part(topic string, n int32, committed, end int64, h inspect.Health) Part {
	return Part{Partition: offset.Partition{Topic: topic, Partition: n}, Committed: committed, End: end, HasCommit: true, HasBounds: true,
		Diagnosis: inspect.Diagnosis{Health: h, Lag: end - committed, HasLag: true, In: 10, Out: 5, HasRates: true,
			LagTime: inspect.LagTime{D: time.Duration(end-committed) * time.Second, Known: true, Basis: inspect.LagInterpolated}},
		Lags: []float64{0, float64(end-committed) / 2, float64(end - committed)}}
}

func group(name string, parts ...Part) Group {
	g := Group{Name: name, Type: "classic", State: "Stable", Members: 2, Described: true, Parts: parts, Lags: []float64{1, 2, 3}}
	for i := range parts {
		p := &parts[i]
		g.Health.Add(inspect.GroupPartition{Group: name, Partition: p.Partition}, &p.Diagnosis)
		g.Committed, g.End = g.Committed+p.Committed, g.End+p.End
	}
	return g
}

// sample has a healthy group, a stalled one with two partitions, and one that falls behind.
func sampleFrame() *Frame {
	return &Frame{At: t0, Took: 12 * time.Millisecond, Groups: []Group{
		group("audit", part("orders", 0, 95, 100, inspect.HealthOK)),
		group("billing", part("orders", 0, 50, 100, inspect.HealthStalled), part("payments", 3, 100, 100, inspect.HealthOK)),
		group("search", part("clicks", 0, 10, 1000, inspect.HealthFallingBehind)),
	}}
}

// names are the rows, a group by its name and a partition as an indented topic:partition.
func names(m Model) []string {
	var out []string
	for _, r := range m.rows {
		out = append(out, strings.TrimPrefix(nameCell(r), " "))
	}
	return out
}

func press(m Model, keys ...keystroke) Model {
	for _, k := range keys {
		m = m.press(k)
	}
	return m
}

func typed(s string) (ks []keystroke) {
	for _, r := range s {
		ks = append(ks, keystroke(r))
	}
	return ks
}

func TestModelSortsAndFilters(t *testing.T) {
	start := New("koffset watch", false).Take(sampleFrame())
	for _, tc := range []struct {
		name string
		keys []keystroke
		want []string
	}{
		{"worst first", nil, []string{"billing", "search", "audit"}},
		{"by name", []keystroke{'s'}, []string{"audit", "billing", "search"}},
		{"by lag", []keystroke{'s', 's'}, []string{"search", "billing", "audit"}},
		{"by lag, reversed", []keystroke{'s', 's', 'r'}, []string{"audit", "billing", "search"}},
		{"once round", []keystroke{'s', 's', 's', 's', 's', 's', 's'}, []string{"billing", "search", "audit"}},
		{"and back", []keystroke{'s', 'S'}, []string{"billing", "search", "audit"}},
		{"all open", []keystroke{'a'}, []string{"billing", "  orders:0", "  payments:3", "search", "  clicks:0", "audit", "  orders:0"}},
		{"open the marked one", []keystroke{keyDown, keyEnter}, []string{"billing", "search", "  clicks:0", "audit"}},
		{"and close it", []keystroke{keyDown, keyEnter, keyEnter}, []string{"billing", "search", "audit"}},
		{"filter by group", append(append([]keystroke{'/'}, typed("SEA")...), keyEnter), []string{"search"}},
		{"filter by topic shows its groups", append([]keystroke{'/'}, typed("orders")...), []string{"billing", "audit"}},
		{"filter by topic, opened, shows its partitions", append(append([]keystroke{'a', '/'}, typed("orders")...), keyEnter), []string{"billing", "  orders:0", "audit", "  orders:0"}},
		{"s is a letter while typing", append([]keystroke{'/'}, typed("ser")...), nil},
		{"backspace", append(append([]keystroke{'/'}, typed("sex")...), keyBackspace, 'a'), []string{"search"}},
		{"escape drops what was typed", append(append([]keystroke{'/'}, typed("xyz")...), keyEscape), []string{"billing", "search", "audit"}},
		{"escape drops a filter", append(append([]keystroke{'/'}, typed("sea")...), keyEnter, keyEscape), []string{"billing", "search", "audit"}},
		{"only alarms", []keystroke{'!'}, []string{"billing"}},
		{"only alarms, opened", []keystroke{'!', 'a'}, []string{"billing", "  orders:0"}},
	} {
		if got := names(press(start, tc.keys...)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := names(start); len(got) != 3 {
		t.Errorf("keys changed the state they were given to: %q", got)
	}
}

func TestModelPauses(t *testing.T) {
	m := press(New("", false).Take(sampleFrame()), 'p')
	later := sampleFrame()
	later.At = t0.Add(10 * time.Second)
	later.Groups = later.Groups[:1]
	m = m.Take(later)
	if got := names(m); len(got) != 3 {
		t.Errorf("a paused view changed: %q", got)
	}
	if head := m.Resize(120, 20).View(false)[0]; !strings.Contains(head, "PAUSED, 10s newer") {
		t.Errorf("head %q", head)
	}
	if got := names(press(m, 'p')); !slices.Equal(got, []string{"audit"}) {
		t.Errorf("after the pause: %q", got)
	}
}

// The marked row stays marked when the order changes, and is always on the screen.
func TestModelScrolls(t *testing.T) {
	f := &Frame{At: t0}
	for i := range 100 {
		f.Groups = append(f.Groups, group(fmt.Sprintf("g-%02d", i), part("x", 0, int64(i), 100, inspect.HealthOK)))
	}
	m := New("", false).Resize(80, 24).Take(f)
	for _, tc := range []struct {
		keys []keystroke
		top  int
		row  string
	}{
		{nil, 0, "g-00"}, {[]keystroke{keyDown}, 0, "g-01"}, {[]keystroke{keyEnd}, 80, "g-99"}, {[]keystroke{keyPageDown}, 1, "g-20"}, {[]keystroke{keyEnd, keyHome}, 0, "g-00"},
		{[]keystroke{keyUp}, 0, "g-00"}, {[]keystroke{keyEnd, keyDown}, 80, "g-99"}, {[]keystroke{keyPageDown, keyPageUp}, 0, "g-00"},
		{[]keystroke{keyDown, 'r'}, 79, "g-01"}, // reversed, the second is the last but one
	} {
		got := press(m, tc.keys...)
		if got.top != tc.top || got.rows[got.index()].key != tc.row {
			t.Errorf("%v: from %d on, %s marked; want %d, %s", tc.keys, got.top, got.rows[got.index()].key, tc.top, tc.row)
		}
	}
	gone := press(m, keyEnd).Take(&Frame{At: t0, Groups: f.Groups[:3]})
	if gone.index() != 0 || gone.top != 0 {
		t.Errorf("when the marked row is gone: row %d from %d on", gone.index(), gone.top)
	}
	if small := press(m, keyEnd).Resize(10, 1); len(small.View(true)) != 5 {
		t.Errorf("a tiny terminal: %d lines", len(small.View(true)))
	}
}

func TestModelEnds(t *testing.T) {
	m := New("", false).Take(sampleFrame())
	for k, want := range map[keystroke]quit{'q': leave, keyCtrlC: interrupt, keyCtrlZ: suspend, 'x': stay} {
		if got := m.press(k).done(); got != want {
			t.Errorf("%v: %v, want %v", k, got, want)
		}
	}
	typing := m.press('/').press('q')
	if typing.done() != stay || typing.press(keyCtrlC).done() != interrupt {
		t.Error("q while typing leaves, or Ctrl-C does not")
	}
	if help := m.press('?'); !strings.Contains(strings.Join(help.View(false), "\n"), "any key goes back") || help.press('q').done() != stay {
		t.Error("help")
	}
}

func TestView(t *testing.T) {
	m := New("koffset watch prod", true).Resize(150, 12).Take(sampleFrame())
	want := []string{
		"koffset watch prod  2026-11-29T10:00:00Z  took 12ms",
		"3 groups, 4 partitions, lag 1,045  stalled 1  falling-behind 1  ok 2",
		"GROUP / TOPIC:PARTITION   STATE   MEMBERS     LOG END        LAG    IN/S   OUT/S     ETA   BEHIND  LAG TREND   VERDICT▾",
		">billing                  Stable        2         200         50      20      10       -     ~50s  ▃▆█         stalled          orders:0: no commit f…",
		"   orders:0                                       100         50      10     5.0       -     ~50s  ▁▅█         stalled          no commit for 0ms (0m…",
		"   payments:3                                     100          0      10     5.0       -       0s  ▁▁▁         ok",
		" search                   Stable        2        1000        990      10     5.0       -  ~16m30s  ▃▆█         falling-behind   990 behind, 10/s in, …",
		"   clicks:0                                      1000        990      10     5.0       -  ~16m30s  ▁▅█         falling-behind   990 behind, 10/s in, …",
		" audit                    Stable        2         100          5      10     5.0       -      ~5s  ▃▆█         ok",
		"   orders:0                                       100          5      10     5.0       -      ~5s  ▁▅█         ok",
		"",
		"q quit  ↑↓ move  enter open  a all  s sort:verdict  r reverse  / filter  ! alarms  p pause  ? help",
	}
	got := m.View(false)
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = strings.TrimRight(got[i], " ")
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d\n got %q\nwant %q", i, g, w)
		}
	}
}

// As a terminal gets narrower columns go in one order, and none comes back.
func TestColumnsGoInOrder(t *testing.T) {
	order := []string{"COMMITTED", "LOG END", "LAG TREND", "STATE", "MEMBERS", "OUT/S", "IN/S", "ETA", "BEHIND"}
	shown := len(order)
	for w := 200; w >= 40; w-- {
		title := New("", false).Resize(w, 12).Take(sampleFrame()).View(false)[2]
		n := 0
		for i, c := range order {
			if strings.Contains(title, c) {
				n = len(order) - i
				break
			}
		}
		for _, c := range order[len(order)-n:] {
			if !strings.Contains(title, c) {
				t.Errorf("width %d: %s went before its turn: %q", w, c, title)
			}
		}
		if n > shown {
			t.Errorf("width %d: a column came back: %q", w, title)
		}
		shown = n
		if w >= 80 && !strings.Contains(title, "BEHIND") || w >= 100 && !strings.Contains(title, "MEMBERS") {
			t.Errorf("width %d: %q", w, title)
		}
	}
	if shown != 0 {
		t.Errorf("%d columns are left at the narrowest", shown)
	}
}

// What is not known of a group is no number, and a group that is well says what its numbers leave out.
func TestCellsOfGroups(t *testing.T) {
	held := group("held", part("x", 0, 5, 5, inspect.HealthOK), part("x", 1, 5, 5, inspect.HealthOK))
	held.Health.Held = 7
	unsure := part("x", 0, 5, 5, inspect.HealthOK)
	unsure.Diagnosis.Unstable = true
	for _, tc := range []struct {
		g                   Group
		state, members, why string
	}{
		{group("fine", part("x", 0, 5, 5, inspect.HealthOK)), "Stable", "2", ""},
		{Group{Name: "hidden", Err: errors.New("denied"), Health: inspect.GroupHealth{Health: inspect.HealthUnknown}}, "?", "?", "denied"},
		{Group{Name: "listed", State: "Empty", Err: errors.New("denied")}, "Empty", "?", "denied"},
		{Group{Name: "none", NotFound: true, Described: true}, "-", "-", "no such group"},
		{held, "Stable", "2", "7 more offsets held back by an open transaction"},
		{group("unsure", unsure), "Stable", "2", "an open transaction holds a newer commit"},
	} {
		r := row{group: &tc.g}
		if s, m, w := stateCell(r), membersCell(r), why(r); s != tc.state || m != tc.members || w != tc.why {
			t.Errorf("%s: %q, %q, %q", tc.g.Name, s, m, w)
		}
	}
}

// Every line is as wide as the terminal, whatever the width, and an alarm is red as a whole.
func TestViewWidthsAndColours(t *testing.T) {
	f := sampleFrame()
	f.Groups = append(f.Groups, group("日本語-"+strings.Repeat("long", 40)+"\x1b[31m", part("x", 0, 1, 2, inspect.HealthPastLogEnd)))
	for _, w := range []int{20, 40, 79, 80, 100, 132, 200, 300} {
		m := New("koffset watch", true).Resize(w, 20).Take(f)
		for i, l := range m.View(false) {
			if got := render.Fit(l, w, false); got != l {
				t.Errorf("width %d, line %d is %q", w, i, l)
			}
			if strings.ContainsRune(l, 0x1b) {
				t.Errorf("width %d, line %d has an escape code: %q", w, i, l)
			}
		}
	}
	lines := press(New("", false).Resize(100, 20).Take(f), keyEnd).View(true)
	for _, l := range lines {
		switch {
		case strings.Contains(l, "billing") && !strings.HasPrefix(l, "\x1b[31m"):
			t.Errorf("the stalled group is not red: %q", l)
		case strings.Contains(l, "search") && !strings.HasPrefix(l, "\x1b[33m"):
			t.Errorf("the group that falls behind is not yellow: %q", l)
		case strings.Contains(l, " audit") && !strings.Contains(l, "\x1b[7m"):
			t.Errorf("the marked row is not reversed: %q", l)
		}
	}
}

// In a locale that is not UTF-8 nothing on the screen is more than ASCII, names of groups and of topics included; two names
// that differ still look different.
func TestViewInASCII(t *testing.T) {
	f := sampleFrame()
	f.Groups = append(f.Groups, group("日本", part("größe", 0, 1, 2, inspect.HealthOK)), group("日木", part("x", 0, 1, 2, inspect.HealthOK)))
	f.Groups = append(f.Groups, group(strings.Repeat("ü", 100), part("x", 0, 1, 2, inspect.HealthOK)))
	for _, w := range []int{20, 80, 150, 300} {
		m := New("koffset watch prod", true).Resize(w, 30)
		m.ASCII = true
		views := [][]string{m.View(false)} // before the first frame
		m = m.Take(f)
		typing := press(m, append([]keystroke{'/'}, typed("ü")...)...)
		views = append(views, m.View(true), press(m, 'r').View(false), press(m, '?').View(false), typing.View(false), press(typing, keyEnter).View(false))
		failed := *f
		failed.Err = errors.New("größer")
		views = append(views, m.Take(&failed).View(false))
		for v, lines := range views {
			for i, l := range lines {
				if strings.IndexFunc(l, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
					t.Errorf("width %d, view %d, line %d: %q", w, v, i, l)
				}
				if v != 1 && len(l) != w {
					t.Errorf("width %d, view %d, line %d has %d columns: %q", w, v, i, len(l), l)
				}
			}
		}
	}
	m := New("koffset watch prod", true).Resize(150, 20)
	m.ASCII = true
	text := strings.Join(m.Take(f).View(false), "\n")
	for _, want := range []string{"VERDICTv", "_=#", `\u65e5\u672c`, `\u65e5\u6728`, `gr\u00f6\u00dfe:0`, "j/k move", "no comm~", "stalled"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if text := strings.Join(press(m.Take(f), 'r').View(false), "\n"); !strings.Contains(text, "VERDICT^") {
		t.Errorf("reversed:\n%s", text)
	}
}

// The bar and the help say how to leave at 80 columns and 24 lines, whatever else the bar has to say; nothing in it is cut.
func TestKeysFitIntoEightyColumns(t *testing.T) {
	f := &Frame{At: t0}
	for i := range 1000 {
		f.Groups = append(f.Groups, group(fmt.Sprintf("g-%03d", i), part("x", 0, 1, 100, inspect.HealthStalled)))
	}
	for _, ascii := range []bool{false, true} {
		m := New("koffset watch", false).Resize(80, 24).Take(f)
		m.ASCII = ascii
		for keys, want := range map[string][]string{
			"":                                     {"1-20 of 1000", "enter open", "s sort:verdict", "/ filter"},
			"s":                                    {"s sort:name"},
			"G":                                    {"981-1000 of 1000"},
			"!":                                    {"1-20 of 1000  only alarms (! shows all)", "s sort:verdict"},
			"/g-\r":                                {"filter: g- (esc clears)"},
			"!/g-\rG":                              {"981-1000 of 1000  only alarms (! shows all)  filter: g- "},
			"/g-" + strings.Repeat("9", 90) + "\r": {"filter: g-999"},
		} {
			ks, _ := parseKeys([]byte(keys))
			lines := press(m, ks...).View(false)
			bar := lines[len(lines)-1]
			for _, w := range append(want, "q quit", "? help") {
				if !strings.Contains(bar, w) {
					t.Errorf("after %q the bar lacks %q: %q", keys, w, bar)
				}
			}
			if render.Width(bar) != 80 {
				t.Errorf("after %q: %d columns", keys, render.Width(bar))
			}
		}
		few := New("koffset watch", false).Resize(80, 24).Take(sampleFrame()).View(false)
		if bar := strings.TrimSpace(few[len(few)-1]); strings.ContainsAny(bar, "…~") || !strings.HasSuffix(bar, "p pause  ? help") && !strings.HasSuffix(bar, "! alarms  ? help") {
			t.Errorf("the plain bar is %q", bar)
		}
		help := press(m, '?').View(false)
		text := strings.Join(help, "\n")
		if strings.ContainsAny(text, "…") || !strings.Contains(text, "any key goes back") {
			t.Errorf("the help does not fit:\n%s", text)
		}
	}
}

func TestViewWithoutData(t *testing.T) {
	m := New("koffset watch", false).Resize(80, 10)
	if got := m.View(false); len(got) != 10 || !strings.Contains(got[0], "reading the groups") {
		t.Errorf("before the first frame: %q", got)
	}
	if got := strings.Join(m.Take(&Frame{At: t0}).View(false), "\n"); !strings.Contains(got, "no group matches") {
		t.Errorf("without groups: %s", got)
	}
	bad := sampleFrame()
	bad.Err = errors.New("dial tcp: refused\x1b[2J")
	got := m.Take(bad).View(false)
	if !strings.Contains(got[1], `refused\x1b[2J`) || !strings.Contains(strings.Join(got, "\n"), "billing") {
		t.Errorf("after a failed look: %q", got)
	}
	missing := &Frame{At: t0, Missing: 1, Groups: []Group{{Name: "nobody", NotFound: true}, {Name: "hidden", Err: errors.New("GROUP_AUTHORIZATION_FAILED"), Health: inspect.GroupHealth{Health: inspect.HealthUnknown}}}}
	text := strings.Join(m.Resize(160, 10).Take(missing).View(false), "\n")
	for _, want := range []string{"1 broker did not answer", "no such group", "GROUP_AUTHORIZATION_FAILED", "unknown"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestSpark(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   string
	}{
		{nil, ""}, {[]float64{0, 0}, "▁▁"}, {[]float64{0, 50, 100}, "▁▅█"}, {[]float64{math.NaN(), 7}, " █"},
		{[]float64{9, 9, 9, 9, 0, 1, 2, 4}, "▁▃▅█"},
	} {
		if got := spark(tc.values, 4, false); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []keystroke
		rest string
	}{
		{"q", []keystroke{'q'}, ""}, {"\x1b[A\x1b[B", []keystroke{keyUp, keyDown}, ""}, {"\x1bOA", []keystroke{keyUp}, ""}, {"\x1b[5~\x1b[6~", []keystroke{keyPageUp, keyPageDown}, ""},
		{"\x1b[1~\x1b[F", []keystroke{keyHome, keyEnd}, ""}, {"\x1b", []keystroke{keyEscape}, ""}, {"\x1b[", nil, "\x1b["}, {"\x1b[1;5", nil, "\x1b[1;5"},
		{"\x1b[1;5Cx", []keystroke{keyUnknown, 'x'}, ""}, {"\r\n", []keystroke{keyEnter, keyEnter}, ""}, {"\x7f", []keystroke{keyBackspace}, ""}, {"\x03\x1a\x0c", []keystroke{keyCtrlC, keyCtrlZ, keyCtrlL}, ""},
		{"ü", []keystroke{'ü'}, ""}, {"\xc3", nil, "\xc3"}, {"\x00\x01", nil, ""}, {"\x1bx", []keystroke{keyEscape, 'x'}, ""},
	} {
		got, rest := parseKeys([]byte(tc.in))
		if !slices.Equal(got, tc.want) || string(rest) != tc.rest {
			t.Errorf("%q: %v, rest %q; want %v, %q", tc.in, got, rest, tc.want, tc.rest)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		f    *Frame
		want string
	}{
		{sampleFrame(), "2026-11-29T10:00:00Z  3 groups  stalled  lag 1,045  in 40/s  out 20/s  behind ~16m30s  (billing orders:0: no commit for 0ms (0ms is allowed), offset 0 is next, 50 behind, next record 50s old)"},
		{&Frame{At: t0, Groups: sampleFrame().Groups[:1]}, "2026-11-29T10:00:00Z  audit  ok  lag 5  in 10/s  out 5.0/s  behind ~5s"},
		{&Frame{At: t0}, "2026-11-29T10:00:00Z  0 groups"},
		{&Frame{At: t0, Groups: []Group{{Name: "x", Health: inspect.GroupHealth{Health: inspect.HealthNoCommit}}}}, "2026-11-29T10:00:00Z  x  no-commit  lag -  (it has no commits)"},
		{&Frame{At: t0, Err: errors.New("no broker\n")}, `2026-11-29T10:00:00Z  the sample failed: no broker\n`},
		{&Frame{At: t0, Groups: []Group{{Name: "x", NotFound: true}}}, "2026-11-29T10:00:00Z  x  unknown  lag -  (no such group)"},
	} {
		if got := Line(tc.f); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// BenchmarkRedraw is a new frame of 2,000 partitions, sorted, and the screen of it.
func BenchmarkRedraw(b *testing.B) {
	f := &Frame{At: t0}
	for g := range 20 {
		var ps []Part
		for n := range int32(100) {
			ps = append(ps, part("orders", n, int64(n)*7%31, 100, inspect.HealthOK))
		}
		f.Groups = append(f.Groups, group(fmt.Sprint("group-", g), ps...))
	}
	m := New("koffset watch", true).Resize(200, 60)
	for b.Loop() {
		m = m.Take(f)
		m = m.press('r')
		if len(m.View(true)) != 60 || len(m.rows) != 2020 {
			b.Fatal(len(m.rows))
		}
	}
}
