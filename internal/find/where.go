package find

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Answer is what a condition says of a record.
type Answer uint8

// The answers. Of those after Yes the condition could not be asked: the record is no match, and is counted as not known.
const (
	No Answer = iota
	Yes
	NotJSON // the value is not JSON
	Failed  // the expression failed on the value
	NoTime  // the record has no time
	// NotDecoded is a value that names a schema by which it could not be decoded, and a condition that needs it.
	NotDecoded
	answers
)

// Condition is one question about a record. It may be asked by several goroutines at once.
type Condition struct {
	name string
	cost int // what is cheap is asked first
	ask  func(context.Context, *kgo.Record) (a Answer, in string, err error)
}

// Name is what the condition is called in rows, such as key or header trace.
func (c Condition) Name() string { return c.name }

// Where are conditions joined by and. Without any every record matches.
type Where struct {
	conditions []Condition
	order      []int // by cost
}

// NewWhere joins conditions.
func NewWhere(conditions ...Condition) Where {
	w := Where{conditions: conditions, order: make([]int, len(conditions))}
	for i := range w.order {
		w.order[i] = i
	}
	slices.SortStableFunc(w.order, func(a, b int) int { return conditions[a].cost - conditions[b].cost })
	return w
}

// Any says that there are conditions.
func (w Where) Any() bool { return len(w.conditions) > 0 }

// ask asks all conditions, the cheap ones first, until one says no. The answer is Yes where all do; one that could not be asked
// counts only where all others say yes. err is why, for [Failed].
func (w Where) ask(ctx context.Context, r *kgo.Record) (answer Answer, err error) {
	answer = Yes
	for _, i := range w.order {
		a, _, why := w.conditions[i].ask(ctx, r)
		switch {
		case a == No:
			return No, nil
		case a != Yes && answer == Yes:
			answer, err = a, why
		}
	}
	return answer, err
}

// how names the conditions of a record that matches, in the order in which they were given: a pattern says where it matched.
func (w Where) how(ctx context.Context, r *kgo.Record) []string {
	out := make([]string, 0, len(w.conditions))
	for _, c := range w.conditions {
		_, in, _ := c.ask(ctx, r)
		if in != "" {
			in = " " + in
		}
		out = append(out, c.name+in)
	}
	return out
}
