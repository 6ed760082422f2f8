package look

// Which rows, and in which order: --sort, --top, --min-lag, --only and --inactive of inspect.

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// orderFlags choose and order the rows of inspect.
type orderFlags struct {
	sort     string
	top      int
	minLag   int64
	only     string
	inactive string

	idleFor time.Duration
}

func sortWords() []string { return []string{"name", "lag", "age", "verdict"} }

// onlyWords are all words that STATUS prints, which are verdicts and states of a commit, and two that stand for several.
func onlyWords() []string {
	words := []string{"lagging", "out-of-range"}
	for _, h := range inspect.Healths() {
		words = append(words, string(h))
	}
	for _, s := range inspect.Statuses() {
		if !slices.Contains(words, string(s)) {
			words = append(words, string(s))
		}
	}
	return words
}

func (o *orderFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.sort, "sort", "", "order by `WORD`: name, lag, age (of the next record) or verdict, the worst first; what is unknown comes first (default: name; on a terminal, what has a bad verdict before it)")
	f.IntVar(&o.top, "top", 0, "only the first `N` rows; without --sort, by verdict")
	f.Int64Var(&o.minLag, "min-lag", 0, "only rows whose lag is at least `RECORDS`, or unknown")
	f.StringVar(&o.only, "only", "", "only rows that are `WORD`: lagging, out-of-range, or what STATUS says, such as stalled or unstable; of groups, those with such a partition")
	f.StringVar(&o.inactive, "inactive", "", "only groups without members whose last commit is at least this `DURATION` old; where __consumer_offsets may not be read, whose next record has waited for so long")
	for name, words := range map[string][]string{"sort": sortWords(), "only": onlyWords()} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// worstFirst is the order of a terminal without --sort: by the verdict alone, so that what is well stays in the order of names.
const worstFirst = "worst"

func (o *orderFlags) parse(c *cobra.Command, terminal bool) error {
	sorted := c.Flags().Changed("sort")
	switch {
	case sorted && !slices.Contains(sortWords(), o.sort):
		return cli.Usagef("use "+strings.Join(sortWords(), ", "), "--sort %q is not one of its values", o.sort)
	case o.only != "" && !slices.Contains(onlyWords(), o.only):
		return cli.Usagef("use "+strings.Join(onlyWords(), ", "), "--only %q is not one of its values", o.only)
	case o.top < 0 || c.Flags().Changed("top") && o.top == 0:
		return cli.Usagef("", "--top must be at least 1")
	case o.minLag < 0:
		return cli.Usagef("", "--min-lag must not be negative")
	}
	switch {
	case sorted:
	case o.top > 0:
		o.sort = "verdict"
	case terminal:
		o.sort = worstFirst
	default:
		o.sort = "name"
	}
	if o.inactive == "" {
		return nil
	}
	d, err := offset.ParseDuration(o.inactive)
	if err != nil {
		return cli.FlagFault("--inactive", err)
	}
	o.idleFor = d
	return nil
}

// standing is what a row, or a sum of rows, is chosen and ordered by.
type standing struct {
	lag      int64
	hasLag   bool
	lagKnown bool // false where a part of the lag is unknown
	age      inspect.LagTime
	health   inspect.Health
}

func standingOf(h *inspect.GroupHealth) standing {
	return standing{lag: h.Lag, hasLag: h.HasLag(), lagKnown: !h.LagIncomplete(), age: h.LagTime, health: h.Health}
}

// fits says that --min-lag lets a row through. A lag that is unknown may be any number.
func (o *orderFlags) fits(s standing) bool {
	return o.minLag == 0 || !s.lagKnown || s.hasLag && s.lag >= o.minLag
}

func (o *orderFlags) compare(a, b standing) int {
	first := func(x, y bool) int { // those for which it is true come first
		switch {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	}
	switch o.sort {
	case "lag":
		return cmp.Or(first(!a.lagKnown && !a.hasLag, !b.lagKnown && !b.hasLag), first(a.hasLag, b.hasLag), cmp.Compare(b.lag, a.lag))
	case "age":
		unknown := func(s standing) bool { return !s.age.Known && s.age.Unknown != "" }
		return cmp.Or(first(unknown(a), unknown(b)), cmp.Compare(b.age.D, a.age.D), cmp.Compare(b.lag, a.lag))
	case worstFirst:
		return b.health.Compare(a.health)
	case "verdict":
		return cmp.Or(b.health.Compare(a.health), cmp.Compare(b.age.D, a.age.D), cmp.Compare(b.lag, a.lag))
	}
	return 0
}

// ordered writes rows in the order that was asked for: at once where that is the order in which they come.
type ordered struct {
	o     *orderFlags
	w     *render.Writer
	rows  []orderedRow
	shown *troubles // of the rows that were written
}

type orderedRow struct {
	standing
	troubles troubles
	cells    []render.Cell
}

// add takes a row. The cells are the caller's again when it returns.
func (r *ordered) add(s standing, t troubles, cells []render.Cell) {
	if !r.o.fits(s) {
		return
	}
	if r.o.sort == "name" && r.o.top == 0 {
		r.w.Row(cells...)
		r.shown.add(t)
		return
	}
	r.rows = append(r.rows, orderedRow{s, t, slices.Clone(cells)})
}

// end writes what is left.
func (r *ordered) end() {
	slices.SortStableFunc(r.rows, func(a, b orderedRow) int { return r.o.compare(a.standing, b.standing) })
	if r.o.top > 0 {
		r.rows = r.rows[:min(len(r.rows), r.o.top)]
	}
	for _, x := range r.rows {
		r.w.Row(x.cells...)
		r.shown.add(x.troubles)
	}
	r.rows = nil
}

// shows says that --only lets a partition through.
func (o *orderFlags) shows(r *inspect.Row, d *inspect.Diagnosis) bool {
	switch o.only {
	case "":
		return true
	case "lagging":
		return r.Lag != nil && *r.Lag > 0
	case "out-of-range":
		return r.Status == inspect.StatusBelowLogStart || r.Status == inspect.StatusPastLogEnd || r.Status == inspect.StatusInvalidCommit
	case string(inspect.StatusNoCommit):
		return r.Status == inspect.StatusNoCommit
	case string(inspect.StatusOK): // what STATUS shows as ok: not a commit that a transaction holds
		return d.Verdicts.Has(inspect.HealthOK) && r.Status == inspect.StatusOK
	}
	return d.Verdicts.Has(inspect.Health(o.only)) || r.Status == inspect.Status(o.only)
}

// verdictCell is a row's status for eyes: what is wrong with the commit, or else the verdict on its reader, which check, watch and serve
// give too. A commit that an open transaction holds is shown where no verdict asks for somebody; a note counts all of them.
func verdictCell(s inspect.Status, h inspect.Health) render.Cell {
	calm := h.Compare(inspect.HealthCatchingUp) <= 0
	if s.Unhealthy() || s == inspect.StatusUnstable && calm || h == inspect.HealthUnknown {
		return cli.StatusCell(s)
	}
	c := render.String(string(h))
	switch {
	case h.Alarming():
		return c.Styled(render.Bad)
	case h == inspect.HealthOK || h == inspect.HealthCatchingUp:
		return c.Styled(render.Good)
	case h == inspect.HealthNoCommit || h == inspect.HealthIdle:
		return c
	}
	return c.Styled(render.Warn)
}

// statusColumns are the status for eyes, and apart for programs.
func statusColumns() []render.Column {
	return []render.Column{
		{Header: "STATUS", NoJSON: true, NoCSV: true}, {Key: "status", NoTable: true}, {Key: "verdict", NoTable: true},
		{Key: "verdicts", NoTable: true, NoCSV: true},
	}
}

// statusCells appends the cells of statusColumns.
func statusCells(cells []render.Cell, s inspect.Status, h inspect.Health, verdicts render.Cell) []render.Cell {
	return append(cells, verdictCell(s, h), render.String(string(s)), render.String(string(h)), verdicts)
}
