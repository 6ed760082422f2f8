package consume

// One partition of a run, and what is kept of a fetched batch.

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// part is where a run stands on one partition. Only the loop touches it, except pub.
type part struct {
	offset.Partition
	topicID string
	bounds  offset.Bounds // of the log, when it was planned
	// next is the next offset to hand to the sink; what a checkpoint holds. seen is the next offset to look at: it runs
	// ahead of next by what waits in the queue.
	next, seen int64
	epoch      offset.LeaderEpoch // of the record before next
	seenEpoch  offset.LeaderEpoch
	bounded    bool
	end        int64 // exclusive, where bounded; it never changes
	goal       int64 // the end that was asked for; above end where an open transaction holds the rest back
	counted    bool
	left       int64 // records still to take, where counted
	leftOut    int64 // of those, how many the sink has not got yet
	skip       bool
	fetching   bool // the client fetches it
	queue      []*kgo.Record
	probe      probe
	heard      time.Time // when its broker answered last
	missed     time.Time // when the first look began that had no answer since; zero for none

	pub partStats
}

func newPart(r PlanRow) *part {
	p := &part{Partition: r.Partition, topicID: r.TopicID, bounds: r.Bounds, next: r.Start, seen: r.Start, epoch: r.Epoch, seenEpoch: r.Epoch, skip: r.Skip}
	if r.End != nil {
		p.bounded, p.end, p.goal = true, *r.End, *r.End
	}
	if r.Held != nil {
		p.goal = *r.Held
	}
	if r.Left != nil {
		p.counted, p.left, p.leftOut = true, *r.Left, *r.Left
	}
	p.pub.position.Store(p.next)
	p.pub.current.Store(unset)
	p.pub.committed.Store(unset)
	p.pub.logEnd.Store(max(r.Bounds.EndFor(offset.ReadCommitted), r.Start))
	return p
}

// over says that nothing more is to be looked at.
func (p *part) over() bool {
	return p.skip || p.bounded && p.seen >= p.end || p.counted && p.left == 0
}

// done says that the sink has got everything too.
func (p *part) done() bool { return p.over() && len(p.queue) == 0 }

// short says that the partition was read as far as that is possible, and not as far as was asked.
func (p *part) short() (why string, short bool) {
	switch {
	case p.skip || !p.done():
		return "", false
	case p.bounded && p.goal > p.end:
		return fmt.Sprintf("%s is read to %d of %d: an open transaction holds the rest back", p.Partition, p.end, p.goal), true
	case p.counted && p.leftOut > 0:
		return fmt.Sprintf("%s has %s fewer than asked for, up to the log end %d", p.Partition, text.Plural(p.leftOut, "record"), p.end), true
	}
	return "", false
}

// admitted is what is kept of a batch.
type admitted struct {
	records []*kgo.Record
	bytes   int64
}

// admit takes the records of a fetched batch that belong to the run: without transaction markers, before the end, and no
// more than are left. It moves seen past everything that was looked at, markers included, so that the position reaches the
// end where the last offsets are markers. left bounds the records over all partitions; negative is no bound. It reuses
// the batch's slice.
func (p *part) admit(batch []*kgo.Record, left int64) admitted {
	if p.over() || left == 0 || len(batch) == 0 {
		return admitted{}
	}
	room := int64(len(batch))
	if left >= 0 {
		room = min(room, left)
	}
	if p.counted {
		room = min(room, p.left)
	}
	var bytes int64
	kept := batch[:0]
	for _, r := range batch {
		if r.Offset < p.seen {
			continue // again after a leader moved: the sink has it
		}
		if p.bounded && r.Offset >= p.end {
			p.seen = p.end
			break
		}
		control := r.Attrs.IsControl()
		if !control {
			if room == 0 {
				break // seen stays behind the last record that was taken
			}
			room--
			bytes += int64(len(r.Key) + len(r.Value))
			kept = append(kept, r)
		}
		p.seen, p.seenEpoch = r.Offset+1, offset.EpochOf(r.LeaderEpoch)
	}
	if p.counted {
		p.left -= int64(len(kept))
	}
	return admitted{kept, bytes}
}

// delivered says that the sink has accepted records of the partition, in order.
func (p *part) delivered(records []*kgo.Record, bytes int64) {
	last := records[len(records)-1]
	p.next, p.epoch = last.Offset+1, offset.EpochOf(last.LeaderEpoch)
	if p.counted {
		p.leftOut -= int64(len(records))
	}
	p.pub.current.Store(last.Offset)
	p.pub.records.Add(int64(len(records)))
	p.pub.bytes.Add(bytes)
}

// settle moves next over what needs no delivery: markers, holes, records past the end.
func (p *part) settle() {
	if len(p.queue) == 0 && p.next < p.seen {
		p.next, p.epoch = p.seen, p.seenEpoch
	}
	p.pub.position.Store(p.next)
	p.pub.done.Store(p.done())
}

func (p *part) position() Position {
	return Position{Partition: p.Partition, Offset: p.next, LeaderEpoch: p.epoch}
}

func sorted(ns []int32) []int32 {
	out := slices.Clone(ns)
	slices.Sort(out)
	return out
}
