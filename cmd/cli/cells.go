package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Partitions counts partitions: "1 partition uncommitted", "3 partitions uncommitted".
func Partitions(n int, one, many string) string {
	if n == 1 {
		return "1 partition " + one
	}
	return fmt.Sprintf("%s partitions %s", text.Count(int64(n)), many)
}

// StatusCell colours a status by what it asks of the reader.
func StatusCell(s inspect.Status) render.Cell {
	c := render.String(string(s))
	switch {
	case s.Unhealthy():
		return c.Styled(render.Bad)
	case s == inspect.StatusOK:
		return c.Styled(render.Good)
	}
	return c.Styled(render.Warn)
}

// ErrCell is a row's error, or none.
func ErrCell(err error) render.Cell {
	if err == nil {
		return render.None()
	}
	return render.String(ShortErr(err))
}

// ShortErr is Kafka's own name of an error where it has one: it is what people search for.
func ShortErr(err error) string {
	var k *kerr.Error
	if errors.As(err, &k) {
		return k.Message
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// Nonzero is a number that is worth a column only where it is not 0.
func Nonzero(n int64) render.Cell {
	if n == 0 {
		return render.None()
	}
	return render.Int(n)
}

// Seconds is a duration with milliseconds, or none.
func Seconds(d time.Duration, has bool) render.Cell {
	if !has {
		return render.None()
	}
	return render.Float(d.Round(time.Millisecond).Seconds())
}

// BasisCell says how an age was found, and UnknownCell why it is unknown.
func BasisCell(t inspect.LagTime) render.Cell {
	if !t.Known {
		return render.None()
	}
	return render.Text(string(t.Basis))
}

// UnknownCell says why an age is unknown; none where it is known.
func UnknownCell(t inspect.LagTime) render.Cell { return render.Text(string(t.Unknown)) }

// MembersCell is how many members a group has; none where it could not be described, since nothing is known of them then.
func MembersCell(n int, described bool) render.Cell {
	if !described {
		return render.None()
	}
	return render.Int(int64(n))
}

// VerdictsCell lists all verdicts that hold, the worst first.
func VerdictsCell(v inspect.Verdicts) render.Cell {
	var out []render.Cell
	for h := range v.All() {
		out = append(out, render.String(string(h)))
	}
	return render.List(out...)
}

// Short is a duration for eyes.
func Short(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	return offset.FormatDuration(d)
}

// AgeCell is an age for eyes: 12s is exact, ~12s interpolated, >12s at least that, and ? unknown.
func AgeCell(t inspect.LagTime) render.Cell {
	switch {
	case !t.Known:
		return render.String("?").Styled(render.Warn)
	case t.D > 0 && t.Basis == inspect.LagInterpolated:
		return render.String("~" + Short(t.D))
	case t.D > 0 && t.Basis == inspect.LagAtLeast:
		return render.String(">" + Short(t.D))
	}
	return render.String(Short(t.D))
}
