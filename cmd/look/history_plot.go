package look

// koffset history --plot: a picture of each partition's offset over time.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

const (
	plotHeight = 10
	// plotWidth is the width where that of the terminal is not known, and plotMargin what the numbers beside the picture take.
	plotWidth, plotMargin, widestPlot = 60, 20, 160
	// mostPlots is how many pictures are drawn, and mostPoints how many commits are held for them.
	mostPlots  = 20
	mostPoints = 2_000_000
)

// plotView draws the offsets of partitions.
type plotView struct {
	s      *render.Streams
	points map[matchKey][]plotPoint
	held   int
	// dropped are the commits that were too many to hold.
	dropped int64
}

// plotPoint is what a partition had from a moment on; removed is nothing.
type plotPoint struct {
	at      time.Time
	offset  int64
	removed bool
	// fell says that it is below the commit before, which was from.
	fell bool
	from int64
}

func newPlotView(s *render.Streams) *plotView {
	return &plotView{s: s, points: map[matchKey][]plotPoint{}}
}

func (v *plotView) add(e *history.Event) {
	if e.Topic == "" || !e.Kind.Moves() {
		return
	}
	if v.held == mostPoints {
		v.dropped++
		return
	}
	v.held++
	k := matchKey{e.Group, e.Partition}
	p := plotPoint{at: e.At, removed: e.Kind == history.Deleted || e.Commit == nil}
	if !p.removed {
		p.offset = e.Commit.Offset
		p.fell = e.Mark == history.Rewind
		switch before := v.points[k]; {
		case e.Delta != nil:
			p.from = p.offset - *e.Delta
		case p.fell && len(before) > 0: // numbers that no log has, too far apart for a difference
			p.from = before[len(before)-1].offset
		}
	}
	v.points[k] = append(v.points[k], p)
}

func (v *plotView) finish(*history.Report) int64 {
	keys := slices.SortedFunc(maps.Keys(v.points), matchKey.compare)
	for i, k := range keys {
		if i == mostPlots {
			v.s.Note("%s not drawn; choose with --topic TOPIC:PARTITION", text.More(len(keys)-mostPlots, "partition"))
			break
		}
		_, _ = fmt.Fprintln(v.s.Out, v.picture(k, v.points[k]))
	}
	return int64(len(keys))
}

// left is the error of commits that were too many to draw.
func (v *plotView) left() error {
	if v.dropped == 0 {
		return nil
	}
	return fmt.Errorf("%s not drawn: at most %s are held; use --since, or name one group", text.Plural(v.dropped, "commit is"), text.Count(mostPoints))
}

// picture is the offset from the first commit to the last. Time goes to the right in equal steps, each with what was there at its
// end; where the commit was removed, or cannot be read, there is a hole.
func (v *plotView) picture(k matchKey, points []plotPoint) string {
	first, last := points[0].at, points[len(points)-1].at
	head := fmt.Sprintf("%s, %s: %s from %s to %s", offset.NameText(k.group), k.Partition, text.Plural(len(points), "event"), offset.FormatTime(first), offset.FormatTime(last))
	if !v.s.UTF8() {
		head = render.ASCII(head)
	}
	width := plotWidth
	if v.s.Width > 0 {
		width = min(max(v.s.Width-plotMargin, 10), widestPlot)
	}
	series, any := sampled(points, width)
	if !any {
		return head + "\nnothing to draw: no commit is left\n"
	}
	low, high := points[0].offset, points[0].offset
	for _, p := range points {
		if !p.removed {
			low, high = min(low, p.offset), max(high, p.offset)
		}
	}
	height := plotHeight
	if d := high - low; d >= 0 && d < plotHeight { // a line is an offset or more: no number stands beside two
		height = max(int(d), 1)
	}
	out := asciigraph.Plot(series, asciigraph.Height(height), asciigraph.YAxisValueFormatter(func(n float64) string { return fmt.Sprintf("%.0f", n) }))
	out += backMarks(out, points, width)
	if !v.s.UTF8() {
		out = strings.NewReplacer("▼", "v", "┤", "|", "┼", "+", "╭", ".", "╮", ".", "╰", "'", "╯", "'", "─", "-", "│", "|", "╴", "-", "╶", "-").Replace(out)
	}
	return head + "\n" + out + "\n"
}

// backMarks is a line below the picture with a mark in each column in which the offset went back, and one that says how often and how far:
// a fall that was made up for within one column leaves no trace in the picture itself.
func backMarks(picture string, points []plotPoint, width int) string {
	first, span := points[0].at, points[len(points)-1].at.Sub(points[0].at)
	marks := []rune(strings.Repeat(" ", width))
	var times int
	var furthest plotPoint
	for _, p := range points {
		if !p.fell {
			continue
		}
		if times++; times == 1 || float64(p.from)-float64(p.offset) > float64(furthest.from)-float64(furthest.offset) {
			furthest = p
		}
		column := width - 1
		if span > 0 {
			column = int(math.Ceil(float64(p.at.Sub(first)) / float64(span) * float64(width-1)))
		}
		marks[min(max(column, 1), width-1)] = '▼' // as sampled has it: what happened up to the column's end
	}
	if times == 0 {
		return ""
	}
	line, _, _ := strings.Cut(picture, "\n")
	axis := max(slices.IndexFunc([]rune(line), func(r rune) bool { return strings.ContainsRune("┤┼", r) }), 0)
	return "\n" + strings.TrimRight(strings.Repeat(" ", axis)+string(marks), " ") +
		fmt.Sprintf("\n▼ it went back %s, furthest from %d to %d at %s", text.Plural(times, "time"), furthest.from, furthest.offset, offset.FormatTime(furthest.at))
}

// sampled is what was there at n moments in equal steps; any says that there was a commit at one of them.
func sampled(points []plotPoint, n int) (series []float64, any bool) {
	first := points[0].at
	step := points[len(points)-1].at.Sub(first) / time.Duration(n-1)
	series = make([]float64, n)
	at := 0
	for i := range series {
		until := first.Add(step * time.Duration(i))
		if i == n-1 {
			until = points[len(points)-1].at
		}
		for at+1 < len(points) && !points[at+1].at.After(until) {
			at++
		}
		if series[i] = float64(points[at].offset); points[at].removed {
			series[i] = math.NaN()
			continue
		}
		any = true
	}
	return series, any
}
