package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// chrome is how many lines are not rows: head, counts, column titles, keys.
const chrome = 4

// column is one column of the list.
type column struct {
	title string
	width int
	right bool
	sort  order
	cell  func(r row) string
}

const (
	sparkWidth = 10
	whyWidth   = 30 // for a sentence that says something, and two blanks before it
)

// columns fit into the width; what has no room is left out, the least important first.
func (m Model) columns() []column {
	name := column{"GROUP / TOPIC:PARTITION", 24, false, sortName, nameCell}
	verdict := column{"VERDICT", m.longestVerdict(), false, sortVerdict, func(r row) string { return string(health(r)) }}
	lag := column{"LAG", 9, true, sortLag, lagCell}
	behind := column{"BEHIND", 7, true, sortBehind, behindCell}
	in := column{"IN/S", 6, true, sortIn, func(r row) string { return rateCell(r, false) }}
	out := column{"OUT/S", 6, true, sortOut, func(r row) string { return rateCell(r, true) }}
	eta := column{"ETA", 6, true, sortETA, etaCell}
	trend := column{"LAG TREND", sparkWidth, false, sortCount, func(r row) string { return sparkCell(r, m.ASCII) }}
	state := column{"STATE", m.longestState(), false, sortCount, stateCell}
	members := column{"MEMBERS", 7, true, sortCount, membersCell}
	committed := column{"COMMITTED", 10, true, sortCount, committedCell}
	end := column{"LOG END", 10, true, sortCount, endCell}
	all := []column{name, state, members, committed, end, lag, in, out, eta, behind, trend, verdict}
	if f := m.frame; f != nil && f.Follow && f.Unfollowed == nil {
		rate := column{"COMMITS/S", 9, true, sortCount, commitsCell}
		last := column{"COMMITTED-AGO", 13, true, sortCount, func(r row) string { return lastCell(r, f.At) }}
		all = slices.Insert(all, len(all)-1, rate, last)
	}
	// The order in which columns go when the terminal is narrow. The first goes for the sentence after the verdict: lag and log end
	// say where the commit is.
	for _, drop := range []string{"", "COMMITTED", "LOG END", "LAG TREND", "STATE", "MEMBERS", "OUT/S", "IN/S", "COMMITS/S", "ETA", "COMMITTED-AGO", "BEHIND"} {
		kept := all[:0:0]
		for _, c := range all {
			if c.title != drop {
				kept = append(kept, c)
			}
		}
		all = kept
		if need := width(all); need+whyWidth <= m.width || drop != "" && need <= m.width {
			break
		}
	}
	// What is left over goes to the name, up to the longest one, and then to the sentence after the verdict.
	all[0].width += max(0, min(m.width-width(all)-20, m.longestName()-all[0].width))
	if left := m.width - width(all) - 2; left >= 12 {
		all = append(all, column{"", left, false, sortCount, why})
	}
	return all
}

func width(cs []column) int {
	n := 0
	for _, c := range cs {
		n += c.width + 2
	}
	return n - 2
}

func (m Model) longestName() int {
	n := 0
	for i := m.top; i < min(len(m.rows), m.top+m.page()); i++ {
		n = max(n, len(m.text(nameCell(m.rows[i]))))
	}
	return n
}

// longestVerdict is the width of the verdicts on the screen, and of the usual ones at least, so that columns stay in place.
func (m Model) longestVerdict() int {
	n := len(inspect.HealthAboutToExpire)
	for i := m.top; i < min(len(m.rows), m.top+m.page()); i++ {
		n = max(n, len(health(m.rows[i])))
	}
	return n
}

// longestState is the width of the states on the screen, and of the usual ones at least.
func (m Model) longestState() int {
	n := len("Stable")
	for i := m.top; i < min(len(m.rows), m.top+m.page()); i++ {
		n = max(n, len(stateCell(m.rows[i])))
	}
	return n
}

// View is the screen: as many lines as the terminal has, each at most as wide, with escape codes where colour is on.
func (m Model) View(colour bool) []string {
	paint := func(st render.Style, s string) string {
		if !colour {
			return s
		}
		return render.Paint(st, s)
	}
	lines := make([]string, 0, m.height)
	lines = append(lines, m.fit(m.headLine(), m.width, false))
	if m.help {
		for _, l := range strings.Split(helpText, "\n") {
			lines = append(lines, m.fit(l, m.width, false))
		}
		return fill(lines, m.height, m.width)
	}
	lines = append(lines, m.countLine(paint))
	cols := m.columns()
	var title strings.Builder
	for i, c := range cols {
		if i > 0 {
			title.WriteString("  ")
		}
		text := c.title
		if c.sort == m.Sort {
			text += m.arrow()
		}
		title.WriteString(m.fit(text, c.width, c.right))
	}
	lines = append(lines, paint(render.Dim, m.fit(title.String(), m.width, false)))
	marked := m.index()
	for i := m.top; i < len(m.rows) && len(lines) < m.height-1; i++ {
		lines = append(lines, m.line(m.rows[i], cols, i == marked, colour))
	}
	if m.frame != nil && len(m.rows) == 0 {
		text := "no group matches"
		if m.Filter != "" || m.AlarmsOnly {
			text = "nothing passes the filter"
		}
		lines = append(lines, m.fit(text, m.width, false))
	}
	lines = fill(lines, m.height-1, m.width)
	return append(lines, m.keyLine(paint))
}

func fill(lines []string, height, width int) []string {
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines[:height]
}

func (m Model) headLine() string {
	f := m.frame
	if f == nil {
		return m.Head + "  reading the groups…"
	}
	state := ""
	switch {
	case m.Paused && m.waiting != nil:
		state = fmt.Sprintf("  PAUSED, %s newer is there", offset.FormatDuration(m.waiting.At.Sub(f.At)))
	case m.Paused:
		state = "  PAUSED"
	}
	if f.Unfollowed != nil {
		state += "  commits not followed: " + render.Clean(f.Unfollowed.Error())
	}
	return fmt.Sprintf("%s  %s  took %s%s", m.Head, offset.FormatTimeIn(f.At.Truncate(time.Second), f.At.Location()), offset.FormatDuration(f.Took), state)
}

// countLine says how many partitions have which verdict, or that the last look failed.
func (m Model) countLine(paint func(render.Style, string) string) string {
	f := m.frame
	if f == nil {
		return strings.Repeat(" ", m.width)
	}
	if f.Err != nil {
		return paint(render.Bad, m.fit("the last sample failed, these numbers are older: "+render.Clean(f.Err.Error()), m.width, false))
	}
	var lag int64
	parts := 0
	counts := map[inspect.Health]int{}
	for i := range f.Groups {
		h := &f.Groups[i].Health
		lag += h.Lag
		parts += h.Partitions
		for _, v := range inspect.Healths() {
			counts[v] += h.Count(v)
		}
	}
	head := fmt.Sprintf("%s, %s, lag %s", text.Plural(len(f.Groups), "group"), text.Plural(parts, "partition"), text.Count(lag))
	if f.Missing > 0 {
		head += fmt.Sprintf(" (%s did not answer)", text.Plural(f.Missing, "broker"))
	}
	if len(head) > m.width {
		return m.fit(head, m.width, false)
	}
	used := len(head)
	all := inspect.Healths()
	for i := range all {
		v := all[len(all)-1-i]
		if counts[v] == 0 {
			continue
		}
		word := fmt.Sprintf("  %s %d", v, counts[v])
		if used+len(word) > m.width {
			break
		}
		used += len(word)
		head += paint(styleOf(v), word)
	}
	return head + strings.Repeat(" ", max(0, m.width-used))
}

func (m Model) keyLine(paint func(render.Style, string) string) string {
	if m.typing {
		return m.fit("filter: "+render.Escape(m.Filter)+"_   enter keeps it, esc drops it", m.width, false)
	}
	state := ""
	if n := len(m.rows); n > m.page() {
		state = fmt.Sprintf("%d-%d of %d  ", m.top+1, min(n, m.top+m.page()), n)
	}
	if m.AlarmsOnly {
		state += "only alarms (! shows all)  "
	}
	if m.Filter != "" {
		state += fmt.Sprintf("filter: %s (esc clears)  ", render.Escape(m.Filter))
	}
	return paint(render.Dim, m.fit(m.keyText(m.text(state)), m.width, false))
}

// keyText is the state and as many of the keys as fit beside it. The least important go first, since the help lists all of
// them; how to leave and how to get the help stay.
func (m Model) keyText(state string) string {
	arrows := "↑↓ move"
	if m.ASCII {
		arrows = "j/k move"
	}
	keys := []string{"q quit", arrows, "enter open", "a all", "s sort:" + m.Sort.String(), "r reverse", "/ filter", "! alarms", "p pause", "? help"}
	for _, drop := range []string{"r reverse", "p pause", "a all", "! alarms", keys[1], "/ filter", "enter open", keys[4]} {
		if render.Width(state+strings.Join(keys, "  ")) <= m.width {
			break
		}
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == drop })
	}
	line := strings.Join(keys, "  ")
	if room := m.width - render.Width(line); render.Width(state) > room {
		state = m.fit(state, room-2, false) + "  "
	}
	return state + line
}

// fit is text in width columns of this terminal.
func (m Model) fit(s string, width int, right bool) string {
	if m.ASCII {
		return render.FitASCII(s, width, right)
	}
	return render.Fit(s, width, right)
}

// text is s as this terminal can show it.
func (m Model) text(s string) string {
	if m.ASCII {
		return render.ASCII(s)
	}
	return s
}

// arrow stands after the title of the column that the rows are sorted by.
func (m Model) arrow() string {
	up, down := "▴", "▾"
	if m.ASCII {
		up, down = "^", "v"
	}
	if m.Reverse {
		return up
	}
	return down
}

// line is one row. A row with an alarm is red as a whole, so that it is seen from across the room.
func (m Model) line(r row, cols []column, marked, colour bool) string {
	var b strings.Builder
	for i, c := range cols {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(m.fit(c.cell(r), c.width, c.right))
	}
	text := m.fit(b.String(), m.width, false)
	if !colour {
		if marked {
			return ">" + text[1:] // names begin with a blank
		}
		return text
	}
	h := health(r)
	if marked {
		text = "\x1b[7m" + text + "\x1b[27m"
	}
	if st := styleOf(h); st != render.Plain {
		return render.Paint(st, text)
	}
	return text
}

func styleOf(h inspect.Health) render.Style {
	switch {
	case h.Alarming():
		return render.Bad
	case h == inspect.HealthNoCommit || h == inspect.HealthIdle:
		return render.Dim
	case h == inspect.HealthOK || h == inspect.HealthCatchingUp:
		return render.Plain
	}
	return render.Warn
}

func health(r row) inspect.Health {
	if r.part != nil {
		return r.part.Diagnosis.Health
	}
	if r.group.NotFound {
		return inspect.HealthUnknown
	}
	return r.group.Health.Health
}

const helpText = `
  q  Ctrl-C      quit                      p        pause the numbers
  up down  j k   move                      s  S     sort by next, previous
  space  b       a page down, up           r        reverse the order
  g  G           to the first, last row    /        filter by group or topic
  enter          open or close a group     esc      drop the filter
  a              open or close all         !        only alarms

  LAG       offsets between commit and log end: up to that many records
  IN/S      how fast the log end moves; OUT/S how fast the commit does
  ETA       when the lag is gone at these rates
  LAG +     some partitions could not be counted; ? none could
  BEHIND    age of the next record: ~ interpolated, > at least that, ? unknown
  TREND     the lag of the last looks
  VERDICT   red: stalled (a member holds it and commits nothing),
            never-committed (records and no commit),
            stopped (records wait, no member), about-to-expire (retention
            reaches the commit soon), below-log-start, past-log-end

any key goes back`
