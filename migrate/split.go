package migrate

// Cutting a topic into ranges of offsets that several processes read, each record once.

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Span is a piece of one partition: from From up to, not including, To.
type Span struct {
	offset.Partition
	From, To int64
	// Bytes is how much it holds on disk, as far as the broker tells; nil where it does not.
	Bytes *int64
}

// Len is how many offsets the span has; records are at most as many.
func (s Span) Len() int64 { return max(0, s.To-s.From) }

// Part is what one process reads: at most one span of each partition.
type Part []Span

// Len is how many offsets the part has.
func (p Part) Len() int64 {
	n := int64(0)
	for _, s := range p {
		n += s.Len()
	}
	return n
}

// Bytes is the sum over the spans, nil where one of them does not know.
func (p Part) Bytes() *int64 {
	n := int64(0)
	for _, s := range p {
		if s.Bytes == nil {
			return nil
		}
		n += *s.Bytes
	}
	return &n
}

// SplitInto cuts spans into n parts of about the same size: in bytes where byBytes is set and every span knows them, in
// offsets otherwise. The spans are laid end to end and cut at n-1 places, so that the parts together are exactly the
// spans: nothing is missing, nothing is twice. Parts may be empty where there are fewer offsets than parts. It is pure.
func SplitInto(spans []Span, n int, byBytes bool) []Part {
	spans = ordered(spans)
	weights := make([]uint64, len(spans))
	byBytes = byBytes && !slices.ContainsFunc(spans, func(s Span) bool { return s.Bytes == nil })
	shift := bits.Len(uint(len(spans))) // so that the sum of the weights fits, however large the offsets are
	total := uint64(0)
	for i, s := range spans {
		weights[i] = uint64(s.Len())
		if byBytes {
			weights[i] = uint64(max(1, *s.Bytes))
		}
		if weights[i] > 1<<(63-shift) {
			weights[i] = 1 << (63 - shift)
		}
		total += weights[i]
	}
	parts := make([]Part, n)
	at, before := 0, uint64(0) // spans[at] begins at weight before
	from := int64(0)
	if len(spans) > 0 {
		from = spans[0].From
	}
	for k := range n {
		until := mulDiv(total, uint64(k+1), uint64(n))
		for at < len(spans) {
			s := spans[at]
			cut := s.To
			if k < n-1 && before+weights[at] > until {
				cut = s.From + int64(mulDiv(until-min(until, before), uint64(s.Len()), weights[at]))
			}
			if cut > from {
				parts[k] = append(parts[k], piece(s, from, cut))
			}
			from = max(from, cut)
			if from < s.To {
				break
			}
			before += weights[at]
			if at++; at < len(spans) {
				from = spans[at].From
			}
		}
	}
	return parts
}

// SplitMax cuts spans into as few parts as hold at most so many offsets each. It is pure.
func SplitMax(spans []Span, most int64) []Part {
	total := Part(spans).Len()
	if total == 0 {
		return nil
	}
	return SplitInto(spans, int((total+most-1)/most), false)
}

// SplitAt cuts spans at given offsets: cuts[k] holds for each partition where part k ends and part k+1 begins. A partition
// that is not in it, or whose offset lies outside its span, is cut at the nearest place that is possible. It is pure.
func SplitAt(spans []Span, cuts []map[offset.Partition]int64) []Part {
	spans = ordered(spans)
	parts := make([]Part, len(cuts)+1)
	for _, s := range spans {
		from := s.From
		for k := range parts {
			to := s.To
			if k < len(cuts) {
				if c, ok := cuts[k][s.Partition]; ok {
					to = min(max(c, from), s.To)
				}
			}
			if to > from {
				parts[k] = append(parts[k], piece(s, from, to))
			}
			from = max(from, to)
		}
	}
	return parts
}

func ordered(spans []Span) []Span {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Len() == 0 })
	slices.SortFunc(spans, func(a, b Span) int { return a.Partition.Compare(b.Partition) })
	return spans
}

func piece(s Span, from, to int64) Span {
	p := Span{Partition: s.Partition, From: from, To: to}
	if s.Bytes != nil {
		b := int64(mulDiv(uint64(*s.Bytes), uint64(to-from), uint64(s.Len())))
		p.Bytes = &b
	}
	return p
}

// mulDiv is a*b/c without overflow; a must not be greater than c, or b not greater than c.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// ReadSizes fills in the bytes of spans: each partition's size on its largest replica, in proportion to the offsets that
// the span takes of the log. log has the bounds. The error is why the brokers do not tell (DESCRIBE on the cluster is
// needed); spans stay without then.
func ReadSizes(ctx context.Context, cl *kgo.Client, spans []Span, log func(offset.Partition) (offset.Bounds, bool)) error {
	parts := inspect.Partitions{}
	for _, s := range spans {
		parts.Add(s.Partition)
	}
	parts.Compact()
	size, err := inspect.ReadSizes(ctx, cl, parts)
	if len(size) == 0 && err == nil && len(spans) > 0 {
		err = errors.New("no broker told the size of a partition")
	}
	if len(size) == 0 {
		return err
	}
	for i := range spans {
		s := &spans[i]
		n, ok := size[s.Partition]
		b, known := log(s.Partition)
		if !ok || !known || b.End <= b.Start || s.Len() == 0 {
			continue
		}
		bytes := int64(mulDiv(uint64(n), uint64(min(s.Len(), b.End-b.Start)), uint64(b.End-b.Start)))
		s.Bytes = &bytes
	}
	return nil
}
