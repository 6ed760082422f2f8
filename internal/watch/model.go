package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/inspect"
)

// order is what the rows are ordered by.
type order uint8

// The orders. Names sort upwards, everything else with the worst first; Model.Reverse turns either round.
const (
	sortVerdict order = iota
	sortName
	sortLag
	sortBehind
	sortIn
	sortOut
	sortETA
	sortCount
)

func (s order) String() string {
	return [...]string{"verdict", "name", "lag", "behind", "in", "out", "eta"}[s]
}

// Model is the state of the view. It is a value: Take, press and Resize return the next one and leave the old one as it was.
type Model struct {
	// Head is what the first line says about where the numbers come from.
	Head string
	// Named says that the groups were named, so that their partitions are shown from the start.
	Named bool
	// ASCII draws without any character that a terminal needs UTF-8 for.
	ASCII bool

	frame, waiting *Frame // what is shown, and what came in while paused
	rows           []row

	Sort          order
	Reverse       bool
	Paused        bool
	AlarmsOnly    bool
	Filter        string
	typing        bool
	beforeTyping  string
	help          bool
	open          map[string]bool // groups whose state differs from allOpen
	allOpen       bool
	cursor        string // the row that is marked, by name, so that it stays marked when the order changes
	top           int
	width, height int
	quit          quit
}

// quit says whether the view is to end.
type quit uint8

// The ways to end.
const (
	stay quit = iota
	leave
	interrupt // Ctrl-C
	suspend   // Ctrl-Z: leave the screen, come back
)

// row is a line of the list: a group, or a partition of it.
type row struct {
	group *Group
	part  *Part // nil for the group itself
	key   string
}

// New is the state before anything was seen.
func New(head string, named bool) Model {
	return Model{Head: head, Named: named, allOpen: named, width: 80, height: 24}
}

// Take brings in a frame. While paused it waits.
func (m Model) Take(f *Frame) Model {
	if m.Paused && m.frame != nil {
		m.waiting = f
		return m
	}
	m.frame = f
	return m.arrange()
}

// Resize tells the size of the terminal.
func (m Model) Resize(width, height int) Model {
	m.width, m.height = max(width, 20), max(height, 5)
	return m.scroll()
}

// done says whether and how the view ends.
func (m Model) done() quit { return m.quit }

// resumed is the state after suspend.
func (m Model) resumed() Model {
	m.quit = stay
	return m
}

func (m Model) isOpen(group string) bool { return m.allOpen != m.open[group] }

// arrange makes the rows of a frame: filtered, sorted, opened.
func (m Model) arrange() Model {
	if m.frame == nil {
		return m
	}
	groups := make([]*Group, 0, len(m.frame.Groups))
	for i := range m.frame.Groups {
		if g := &m.frame.Groups[i]; m.shows(g) {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(m.compare(groupKey(a), groupKey(b)), strings.Compare(a.Name, b.Name))
	})
	rows := make([]row, 0, len(groups))
	for _, g := range groups {
		rows = append(rows, row{group: g, key: g.Name})
		if !m.isOpen(g.Name) {
			continue
		}
		from := len(rows)
		whole := m.Filter == "" || contains(g.Name, m.Filter)
		for i := range g.Parts {
			p := &g.Parts[i]
			if (whole || contains(p.Topic, m.Filter)) && (!m.AlarmsOnly || p.Diagnosis.Health.Alarming()) {
				rows = append(rows, row{g, p, g.Name + "\x00" + p.Partition.String()})
			}
		}
		slices.SortStableFunc(rows[from:], func(a, b row) int {
			return cmp.Or(m.compare(partKey(a.part), partKey(b.part)), a.part.Compare(b.part.Partition))
		})
	}
	m.rows = rows
	return m.scroll()
}

func contains(name, filter string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(filter))
}

// shows says whether a group passes the filter: by its own name, or by a topic of it.
func (m Model) shows(g *Group) bool {
	if m.AlarmsOnly && !g.Health.Health.Alarming() && !g.NotFound {
		return false
	}
	return m.Filter == "" || contains(g.Name, m.Filter) || slices.ContainsFunc(g.Parts, func(p Part) bool { return contains(p.Topic, m.Filter) })
}

// sortKey is what a row is ordered by. Missing numbers come last.
type sortKey struct {
	health                inspect.Health
	name                  string
	lag, behind, in, out  float64
	eta                   float64
	hasLag, hasRates, has bool
}

func groupKey(g *Group) sortKey {
	h := &g.Health
	eta, ok := h.ETA()
	return sortKey{health: h.Health, name: g.Name, lag: float64(h.Lag), hasLag: h.HasLag(), behind: float64(h.LagTime.D),
		in: h.In, out: h.Out, hasRates: h.HasRates, eta: float64(eta), has: ok}
}

func partKey(p *Part) sortKey {
	d := &p.Diagnosis
	return sortKey{health: d.Health, lag: float64(d.Lag), hasLag: d.HasLag, behind: float64(d.LagTime.D), in: d.In, out: d.Out, hasRates: d.HasRates,
		eta: float64(d.ETA), has: d.HasETA}
}

func (m Model) compare(a, b sortKey) int {
	down := func(x, y float64) int { return cmp.Compare(y, x) }
	known := func(x, y bool) int {
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	}
	var c int
	switch m.Sort {
	case sortVerdict:
		c = cmp.Or(b.health.Compare(a.health), down(a.lag, b.lag))
	case sortName:
		c = strings.Compare(a.name, b.name)
	case sortLag:
		if k := known(a.hasLag, b.hasLag); k != 0 {
			return k
		}
		c = down(a.lag, b.lag)
	case sortBehind:
		c = down(a.behind, b.behind)
	case sortIn:
		if k := known(a.hasRates, b.hasRates); k != 0 {
			return k
		}
		c = down(a.in, b.in)
	case sortOut:
		if k := known(a.hasRates, b.hasRates); k != 0 {
			return k
		}
		c = down(a.out, b.out)
	case sortETA:
		if k := known(a.has, b.has); k != 0 {
			return k
		}
		c = down(a.eta, b.eta)
	}
	if m.Reverse {
		return -c
	}
	return c
}

// index is where the marked row is; the first where it is gone.
func (m Model) index() int {
	return max(0, slices.IndexFunc(m.rows, func(r row) bool { return r.key == m.cursor }))
}

// move marks another row.
func (m Model) move(by int) Model {
	if len(m.rows) == 0 {
		return m
	}
	m.cursor = m.rows[min(max(m.index()+by, 0), len(m.rows)-1)].key
	return m.scroll()
}

// page is how many rows fit.
func (m Model) page() int { return max(1, m.height-chrome) }

// scroll keeps the marked row on the screen.
func (m Model) scroll() Model {
	i := m.index()
	m.top = min(max(m.top, i-m.page()+1), i)
	m.top = max(0, min(m.top, len(m.rows)-m.page()))
	return m
}

// toggle opens or closes the group of the marked row.
func (m Model) toggle() Model {
	if len(m.rows) == 0 {
		return m
	}
	g := m.rows[m.index()].group.Name
	m.open = maps.Clone(m.open)
	if m.open == nil {
		m.open = map[string]bool{}
	}
	m.open[g] = !m.open[g]
	m.cursor = g
	return m.arrange()
}
