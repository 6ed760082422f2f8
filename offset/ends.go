package offset

import "fmt"

// EndOrder is how the end of what is to be read lies to its start.
type EndOrder uint8

// How an end lies to its start.
const (
	EndFollows EndOrder = iota // at or after it
	EndPassed                  // before it, since the reader itself has come further: nothing is left
	EndTaken                   // before it, and the policy reads nothing
	EndLeft                    // before it, and the policy leaves the partition out
)

// CheckEnd holds an end against its start, by one rule for all that reads between two positions: an end before the start is refused with
// both numbers, unless a reader's own commit is the start, or the policy of what is out of range says otherwise. passed says that the
// start is where the reader itself stands.
func CheckEnd(p Partition, start, end int64, passed bool, b *Bounds, policy OutOfRange) (EndOrder, error) {
	switch {
	case end >= start:
		return EndFollows, nil
	case passed:
		return EndPassed, nil
	case policy == OutOfRangeClamp:
		return EndTaken, nil
	case policy == OutOfRangeSkip:
		return EndLeft, nil
	}
	return EndFollows, &Refusal{Reason: ReasonOutOfRange, Asked: &end, Bounds: b, Hint: "{{out-of-range skip}} leaves such partitions out",
		Detail: fmt.Sprintf("%s: the end %d is before the start %d", p, end, start)}
}
