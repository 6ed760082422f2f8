package serve

import (
	"fmt"
	"io"

	"github.com/koffset/koffset/internal/metrics"
)

type pair = metrics.Label

// writer writes families of the list, by name.
type writer struct {
	*metrics.Writer
	families map[string]metrics.Family
}

func newWriter(out io.Writer, s *metrics.Slab) *writer {
	w := &writer{Writer: metrics.NewWriter(out, s), families: map[string]metrics.Family{}}
	for _, f := range families() {
		w.families[f.Name] = f.Family
	}
	return w
}

func (w *writer) known(name string) metrics.Family {
	f, ok := w.families[name]
	if !ok {
		w.Fail(fmt.Errorf("metric family %s is not in the list", name))
	}
	return f
}

func (w *writer) family(name string, fill func(add func(value float64, labels ...pair))) {
	w.Family(w.known(name), fill)
}

func (w *writer) lines(name string, fill func(line func(prefix string, partition int32, suffix string, value float64))) {
	w.Lines(w.known(name), fill)
}

func (w *writer) one(name string, value float64, labels ...pair) {
	w.One(w.known(name), value, labels...)
}
