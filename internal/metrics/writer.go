// Package metrics writes Prometheus' text format, for every command that serves metrics.
package metrics

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Family is a name with what it means: a gauge unless it is a counter.
type Family struct {
	Name, Help string
	Counter    bool
}

// Label is one label with its value.
type Label = *dto.LabelPair

// NewLabel makes a label.
func NewLabel(name, value string) Label { return &dto.LabelPair{Name: &name, Value: &value} }

// Slab holds metrics of one family at a time. A cluster of 102,000 partitions has as many in each of several families:
// made anew for each, they would be 20 MB of garbage a family and refresh. They stay where they are, since they are
// referred to by pointers.
type Slab struct {
	blocks  [][]entry
	metrics []*dto.Metric
}

type entry struct {
	metric dto.Metric
	gauge  dto.Gauge
	count  dto.Counter
	value  float64
	labels [5]Label
}

const slabBlock = 4096

func (s *Slab) add(counter bool, value float64, labels ...Label) {
	i := len(s.metrics)
	if i/slabBlock == len(s.blocks) {
		s.blocks = append(s.blocks, make([]entry, slabBlock))
	}
	e := &s.blocks[i/slabBlock][i%slabBlock]
	e.value = value
	e.metric.Label = e.labels[:copy(e.labels[:], labels)]
	e.metric.Gauge, e.metric.Counter = nil, nil
	if counter {
		e.count.Value = &e.value
		e.metric.Counter = &e.count
	} else {
		e.gauge.Value = &e.value
		e.metric.Gauge = &e.gauge
	}
	s.metrics = append(s.metrics, &e.metric)
}

// Writer writes families in Prometheus' text format with Prometheus' own encoder. The first error ends it; Flush returns it.
type Writer struct {
	slab *Slab
	buf  *bufio.Writer
	err  error
}

// NewWriter makes a writer. The slab may be used again, by one writer at a time.
func NewWriter(out io.Writer, s *Slab) *Writer {
	return &Writer{slab: s, buf: bufio.NewWriterSize(out, 64<<10)}
}

// Fail ends the writing with an error.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Family writes one family with what fill adds to it; a family without samples is not written.
func (w *Writer) Family(f Family, fill func(add func(value float64, labels ...Label))) {
	if w.err != nil {
		return
	}
	w.slab.metrics = w.slab.metrics[:0]
	fill(func(value float64, labels ...Label) { w.slab.add(f.Counter, value, labels...) })
	if len(w.slab.metrics) == 0 {
		return
	}
	kind := dto.MetricType_GAUGE
	if f.Counter {
		kind = dto.MetricType_COUNTER
	}
	_, w.err = expfmt.MetricFamilyToText(w.buf, &dto.MetricFamily{Name: &f.Name, Help: &f.Help, Type: &kind, Metric: w.slab.metrics})
}

// Lines writes a family that may have a sample for each partition of a cluster. What differs from line to line is a number
// within labels that repeat thousands of times: the encoder renders those labels once (Prefix), and a line is put
// together around the partition's number, which takes a fifth of the time. Whole numbers are written in full.
func (w *Writer) Lines(f Family, fill func(line func(prefix string, partition int32, suffix string, value float64))) {
	if w.err != nil {
		return
	}
	kind := "gauge"
	if f.Counter {
		kind = "counter"
	}
	n := 0
	fill(func(prefix string, partition int32, suffix string, value float64) {
		if n++; n == 1 {
			_, w.err = fmt.Fprintf(w.buf, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, kind)
		}
		b := append(w.buf.AvailableBuffer(), f.Name...)
		b = append(b, prefix...)
		b = strconv.AppendInt(b, int64(partition), 10)
		b = append(b, suffix...)
		if i := int64(value); float64(i) == value && i < 1<<53 && i > -1<<53 {
			b = strconv.AppendInt(b, i, 10)
		} else {
			b = strconv.AppendFloat(b, value, 'g', -1, 64)
		}
		if _, err := w.buf.Write(append(b, '\n')); err != nil {
			w.err = err
		}
	})
}

// ContentType is what an answer in this format says it is.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// PlainEnd follows the partition's number where the partition is the last label.
const PlainEnd = `"} `

// Prefix renders labels as the encoder does, up to where the partition's number goes: {group="g",topic="t",partition="
func Prefix(labels ...Label) string {
	var b strings.Builder
	one, name, kind := 1.0, "x", dto.MetricType_GAUGE
	m := &dto.Metric{Label: append(labels[:len(labels):len(labels)], NewLabel("partition", "")), Gauge: &dto.Gauge{Value: &one}}
	if _, err := expfmt.MetricFamilyToText(&b, &dto.MetricFamily{Name: &name, Type: &kind, Metric: []*dto.Metric{m}}); err != nil {
		return ""
	}
	line := b.String()
	line = line[strings.IndexByte(line, '\n')+1:] // the TYPE line
	return strings.TrimSuffix(strings.TrimPrefix(line, name), PlainEnd+"1\n")
}

// One writes a family of a single sample.
func (w *Writer) One(f Family, value float64, labels ...Label) {
	w.Family(f, func(add func(float64, ...Label)) { add(value, labels...) })
}

// Flush writes what is left and returns the first error.
func (w *Writer) Flush() error {
	if err := w.buf.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}
