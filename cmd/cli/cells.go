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
