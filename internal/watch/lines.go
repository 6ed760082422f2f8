package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Line is a frame in one line, for a log or a pipe: what is wrong first, then the numbers.
func Line(f *Frame) string {
	var b strings.Builder
	b.WriteString(offset.FormatTimeIn(f.At.Truncate(time.Second), f.At.Location()))
	if f.Err != nil {
		fmt.Fprintf(&b, "  the sample failed: %s", render.Clean(f.Err.Error()))
		return b.String()
	}
	var all inspect.GroupHealth
	var ages inspect.AgeSum
	worst := -1
	var in, out float64
	rates, has, incomplete := false, false, false
	for i := range f.Groups {
		g := &f.Groups[i]
		all.Lag += g.Health.Lag
		all.Partitions += g.Health.Partitions
		has, incomplete = has || g.Health.HasLag(), incomplete || g.Health.LagIncomplete()
		if g.Health.Partitions > 0 {
			ages.Add(g.Health.LagTime)
		}
		if g.Health.HasRates {
			in, out, rates = in+g.Health.In, out+g.Health.Out, true
		}
		if h := health(row{group: g}); worst < 0 || h.Compare(health(row{group: &f.Groups[worst]})) > 0 {
			worst = i
		}
	}
	if len(f.Groups) == 1 {
		fmt.Fprintf(&b, "  %s", render.Escape(f.Groups[0].Name))
	} else {
		fmt.Fprintf(&b, "  %s", text.Plural(len(f.Groups), "group"))
	}
	if worst < 0 {
		return b.String() // of none nothing is well
	}
	verdict := health(row{group: &f.Groups[worst]})
	fmt.Fprintf(&b, "  %s  lag %s", verdict, formatLag(text.Count(all.Lag), has, incomplete))
	if rates {
		fmt.Fprintf(&b, "  in %s/s  out %s/s", inspect.FormatRate(in), inspect.FormatRate(out))
	}
	b.WriteString(commitsText(f))
	if behind := formatLagTime(ages.Oldest()); behind != "-" {
		fmt.Fprintf(&b, "  behind %s", behind)
	}
	if f.Missing > 0 {
		fmt.Fprintf(&b, "  %s did not answer", text.Plural(f.Missing, "broker"))
	}
	g := &f.Groups[worst]
	if why := why(row{group: g}); why != "" {
		name := ""
		if len(f.Groups) > 1 {
			name = render.Escape(g.Name) + " "
		}
		fmt.Fprintf(&b, "  (%s%s)", name, why)
	}
	return b.String()
}

// commitsText is what following the commits tells.
func commitsText(f *Frame) (out string) {
	if commits, known := commitRate(f); known {
		out = fmt.Sprintf("  commits %s/s", inspect.FormatRate(commits))
	}
	if len(f.Groups) == 1 {
		if last := f.Groups[0].Activity.LastText(f.At, nil); last != "" {
			out += fmt.Sprintf("  committed %s ago", last)
		}
	}
	return out
}

// commitRate is how many commits a second the groups made together; known is false where that of one is not.
func commitRate(f *Frame) (sum float64, known bool) {
	for i := range f.Groups {
		a := f.Groups[i].Activity
		if a == nil || !a.HasRate {
			return 0, false
		}
		sum += a.Rate
	}
	return sum, len(f.Groups) > 0
}
