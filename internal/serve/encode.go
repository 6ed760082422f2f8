package serve

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// pair is one label with its value.
type pair = *dto.LabelPair

func newPair(name, value string) pair { return &dto.LabelPair{Name: &name, Value: &value} }

// slab holds metrics of one family at a time. A cluster of 102,000 partitions has as many in each of several families:
// made anew for each, they would be 20 MB of garbage a family and refresh. They stay where they are, since they are
// referred to by pointers.
type slab struct {
	blocks  [][]entry
	metrics []*dto.Metric
}

type entry struct {
	metric dto.Metric
	gauge  dto.Gauge
	count  dto.Counter
	value  float64
	labels [5]pair
}

const slabBlock = 4096

func (s *slab) add(counter bool, value float64, labels ...pair) {
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

// writer writes families in Prometheus' text format with Prometheus' own encoder.
type writer struct {
	families map[string]Family
	slab     *slab
	buf      *bufio.Writer
	err      error
}

func newWriter(out io.Writer, s *slab) *writer {
	w := &writer{families: map[string]Family{}, slab: s, buf: bufio.NewWriterSize(out, 64<<10)}
	for _, f := range Families() {
		w.families[f.Name] = f
	}
	return w
}

// family writes one family with what fill adds to it; a family without samples is not written.
func (w *writer) family(name string, fill func(add func(value float64, labels ...pair))) {
	if w.err != nil {
		return
	}
	f, ok := w.families[name]
	if !ok {
		w.err = fmt.Errorf("metric family %s is not in the list", name)
		return
	}
	w.slab.metrics = w.slab.metrics[:0]
	fill(func(value float64, labels ...pair) { w.slab.add(f.Counter, value, labels...) })
	if len(w.slab.metrics) == 0 {
		return
	}
	kind := dto.MetricType_GAUGE
	if f.Counter {
		kind = dto.MetricType_COUNTER
	}
	_, w.err = expfmt.MetricFamilyToText(w.buf, &dto.MetricFamily{Name: &f.Name, Help: &f.Help, Type: &kind, Metric: w.slab.metrics})
}

// lines writes a family that has a sample for each partition of the cluster. What differs from line to line is a number
// within labels that repeat thousands of times: the encoder renders those labels once (labelPrefix), and a line is put
// together around the partition's number, which takes a fifth of the time.
func (w *writer) lines(name string, fill func(line func(prefix string, partition int32, suffix string, value float64))) {
	if w.err != nil {
		return
	}
	f, ok := w.families[name]
	if !ok {
		w.err = fmt.Errorf("metric family %s is not in the list", name)
		return
	}
	n := 0
	fill(func(prefix string, partition int32, suffix string, value float64) {
		if n++; n == 1 {
			_, w.err = fmt.Fprintf(w.buf, "# HELP %s %s\n# TYPE %s gauge\n", name, f.Help, name)
		}
		b := append(w.buf.AvailableBuffer(), name...)
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

// plainEnd follows the partition's number where the partition is the last label.
const plainEnd = `"} `

// labelPrefix renders labels as the encoder does, up to where the partition's number goes: {group="g",topic="t",partition="
func labelPrefix(labels ...pair) string {
	var b strings.Builder
	one, name, kind := 1.0, "x", dto.MetricType_GAUGE
	m := &dto.Metric{Label: append(labels[:len(labels):len(labels)], newPair("partition", "")), Gauge: &dto.Gauge{Value: &one}}
	if _, err := expfmt.MetricFamilyToText(&b, &dto.MetricFamily{Name: &name, Type: &kind, Metric: []*dto.Metric{m}}); err != nil {
		return ""
	}
	line := b.String()
	line = line[strings.IndexByte(line, '\n')+1:] // the TYPE line
	return strings.TrimSuffix(strings.TrimPrefix(line, name), plainEnd+"1\n")
}

// one writes a family of a single sample.
func (w *writer) one(name string, value float64, labels ...pair) {
	w.family(name, func(add func(float64, ...pair)) { add(value, labels...) })
}

func (w *writer) flush() error {
	if err := w.buf.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}
