package watch

// The cells of a row.

import (
	"math"
	"strconv"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

func nameCell(r row) string {
	if r.part != nil {
		return "   " + render.Escape(r.part.Partition.String())
	}
	return " " + render.Escape(r.group.Name)
}

// stateCell is the group's state, and for a partition nothing: who holds it is a member's, and not the group's.
func stateCell(r row) string {
	switch {
	case r.part != nil:
		return ""
	case r.group.NotFound:
		return "-"
	case r.group.State == "":
		return "?"
	}
	return render.Escape(r.group.State)
}

func membersCell(r row) string {
	switch {
	case r.part != nil:
		return ""
	case r.group.NotFound:
		return "-"
	case !r.group.Described:
		return "?"
	}
	return strconv.Itoa(r.group.Members)
}

func committedCell(r row) string {
	switch {
	case r.part == nil && r.group.Health.HasLag():
		return strconv.FormatInt(r.group.Committed, 10)
	case r.part != nil && r.part.HasCommit:
		return strconv.FormatInt(r.part.Committed, 10)
	}
	return "-"
}

func endCell(r row) string {
	switch {
	case r.part == nil && r.group.Health.HasLag():
		return strconv.FormatInt(r.group.End, 10)
	case r.part != nil && r.part.HasBounds:
		return strconv.FormatInt(r.part.End, 10)
	}
	return "-"
}

func lagCell(r row) string {
	if r.part == nil {
		return lagText(&r.group.Health)
	}
	switch d := &r.part.Diagnosis; {
	case d.HasLag:
		return strconv.FormatInt(d.Lag, 10)
	case d.Verdicts.Has(inspect.HealthNeverCommitted):
		return "?"
	}
	return "-"
}

// lagText is a group's lag: a number, a number and + where some partitions could not be counted, ? where none could.
func lagText(h *inspect.GroupHealth) string {
	return formatLag(strconv.FormatInt(h.Lag, 10), h.HasLag(), h.LagIncomplete())
}

func formatLag(number string, has, incomplete bool) string {
	switch {
	case has && incomplete:
		return number + "+"
	case has:
		return number
	case incomplete:
		return "?"
	}
	return "-"
}

func rateCell(r row, out bool) string {
	in, o, ok := r.group.Health.In, r.group.Health.Out, r.group.Health.HasRates
	if r.part != nil {
		in, o, ok = r.part.Diagnosis.In, r.part.Diagnosis.Out, r.part.Diagnosis.HasRates
	}
	switch {
	case !ok:
		return "-"
	case out:
		return inspect.FormatRate(o)
	}
	return inspect.FormatRate(in)
}

// lastCell is how long ago the last commit was: >5m where none was seen in the five minutes that are known, ? where none are.
func lastCell(r row, now time.Time) string {
	p := (*offset.Partition)(nil)
	if r.part != nil {
		p = &r.part.Partition
	}
	if last := r.group.Activity.LastText(now, p); last != "" {
		return last
	}
	return "?"
}

// commitsCell is how many commits a second the group makes.
func commitsCell(r row) string {
	switch a := r.group.Activity; {
	case r.part != nil:
		return ""
	case a == nil || !a.HasRate:
		return "?"
	default:
		return inspect.FormatRate(a.Rate)
	}
}

func etaCell(r row) string {
	eta, ok := r.group.Health.ETA()
	if r.part != nil {
		eta, ok = r.part.Diagnosis.ETA, r.part.Diagnosis.HasETA
	}
	switch {
	case !ok:
		return "-"
	case eta == 0:
		return "0s"
	}
	return offset.FormatDuration(eta)
}

// behindCell is the lag in time: ~ where it is interpolated, > where it is at least that, bare where it is exact.
func behindCell(r row) string {
	t := r.group.Health.LagTime
	if r.part != nil {
		t = r.part.Diagnosis.LagTime
	}
	return formatLagTime(t)
}

// formatLagTime writes a lag in time with its basis: ~12s is interpolated, >12s at least that, 12s exact, ? unknown.
func formatLagTime(t inspect.LagTime) string {
	switch {
	case !t.Known && t.Unknown != "":
		return "?"
	case !t.Known:
		return "-"
	case t.D == 0:
		return "0s"
	case t.Basis == inspect.LagInterpolated:
		return "~" + offset.FormatDuration(t.D)
	case t.Basis == inspect.LagAtLeast:
		return ">" + offset.FormatDuration(t.D)
	}
	return offset.FormatDuration(t.D)
}

func why(r row) string {
	switch {
	case r.part != nil:
		return r.part.Diagnosis.Why()
	case r.group.NotFound:
		return "no such group"
	case r.group.Err != nil:
		return render.Clean(r.group.Err.Error())
	case r.group.Health.Partitions == 0:
		return "it has no commits"
	case r.group.Health.Partitions > 1 && r.group.Health.Worst.Why() != "":
		return render.Escape(r.group.Health.Of.Partition.String()) + ": " + r.group.Health.Why()
	}
	return r.group.Health.Why()
}

// sparkCell draws the last lags between nothing and the largest of them.
func sparkCell(r row, ascii bool) string {
	lags := r.group.Lags
	if r.part != nil {
		lags = r.part.Lags
	}
	return spark(lags, sparkWidth, ascii)
}

// spark draws the last width values, from zero to the largest of them; a value that is not known is a blank. ascii
// draws it for terminals that cannot show the blocks.
func spark(values []float64, width int, ascii bool) string {
	values = values[max(0, len(values)-width):]
	top := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			top = max(top, v)
		}
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	if ascii {
		bars = []rune("_.-:=+*#")
	}
	out := make([]rune, 0, len(values))
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			out = append(out, ' ')
		case top == 0:
			out = append(out, bars[0])
		default:
			out = append(out, bars[int(math.Round(v/top*float64(len(bars)-1)))])
		}
	}
	return string(out)
}
