package reset

// What a plan means beside the numbers: times, bytes, and how long what it goes back to will still be there.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// Impact is what is known about one row beside its numbers. What is not known is zero or nil.
type Impact struct {
	FromTime time.Time // of the record that would have been read next
	ToTime   time.Time // of the record that will be read next
	// Bytes is about how much will be read again, on the broker's disk: compressed, and from the partition's average.
	Bytes *int64
	// Expires is when retention may remove the record at the target; zero where nothing removes it by time.
	Expires time.Time
}

// Impacts reads what it may, within the context: the records at both ends need READ on the topic, the sizes DESCRIBE on the
// cluster, the retention DESCRIBE_CONFIGS on the topic. What is missing is in the error, which is for a note: the result is
// good without it.
func Impacts(ctx context.Context, cl *kgo.Client, b *Built) (map[Key]Impact, error) {
	p := b.Plan
	out := map[Key]Impact{}
	reads := impactReads(p)
	var found map[records.Span]records.Answer
	var mu sync.Mutex
	var errs []error
	fail := func(err error) {
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
	}
	var eg errgroup.Group
	eg.Go(func() error {
		leader := func(p offset.Partition) (int32, bool) { return inspect.LeaderOf(b.topics, p) }
		found = records.Reader{Client: cl, Leader: leader}.First(ctx, slices.Collect(maps.Keys(reads)))
		return nil
	})
	var sizes map[offset.Partition]int64
	var keeps map[string]time.Duration
	adm := kadm.NewClient(cl)
	eg.Go(func() (err error) { sizes, err = readSizes(ctx, cl, p); fail(err); return nil })
	eg.Go(func() (err error) { keeps, err = readRetention(ctx, adm, p); fail(err); return nil })
	_ = eg.Wait() // the errors are in errs
	for span, a := range found {
		if fail(a.Err); a.Record != nil {
			for _, set := range reads[span] {
				set(out, a.Record.Time)
			}
		}
	}
	for _, c := range p.Changes {
		again, _, _ := Distance(c)
		b, ok := c.Bounds()
		if c.Action != checkpointfile.ActionCommit || !ok {
			continue
		}
		one := out[c.Key()]
		if size, known := sizes[c.Partition]; known && again > 0 && b.End > b.Start {
			n := int64(float64(size) * float64(again) / float64(b.End-b.Start))
			one.Bytes = &n
		}
		if keep, has := keeps[c.Topic]; has && !one.ToTime.IsZero() {
			one.Expires = one.ToTime.Add(keep)
		}
		out[c.Key()] = one
	}
	return out, errors.Join(errs...)
}

// impactReads are the places whose first record is read, and what its time is good for.
func impactReads(p *Plan) map[records.Span][]func(map[Key]Impact, time.Time) {
	reads := map[records.Span][]func(map[Key]Impact, time.Time){}
	add := func(c Change, n int64, set func(*Impact, time.Time)) {
		b, ok := c.Bounds()
		if !ok || c.Action != checkpointfile.ActionCommit || n < b.Start || n >= b.End {
			return
		}
		span := records.Span{Partition: c.Partition, From: n, Until: b.End}
		reads[span] = append(reads[span], func(all map[Key]Impact, at time.Time) {
			one := all[c.Key()]
			set(&one, at)
			all[c.Key()] = one
		})
	}
	for _, c := range p.Changes {
		if c.From != nil {
			add(c, c.From.Offset, func(i *Impact, at time.Time) { i.FromTime = at })
		}
		if c.To != nil {
			add(c, c.To.Offset, func(i *Impact, at time.Time) { i.ToTime = at })
		}
	}
	return reads
}

func planTopics(p *Plan) (names []string, set kadm.TopicsSet) {
	set = kadm.TopicsSet{}
	for _, c := range p.Changes {
		if c.Action == checkpointfile.ActionCommit {
			if _, has := set[c.Topic]; !has {
				names = append(names, c.Topic)
			}
			set.Add(c.Topic, c.Partition.Partition)
		}
	}
	return names, set
}

// readSizes reads how large the partitions are on disk, from all brokers at once; the largest replica counts, since one that
// catches up is smaller.
func readSizes(ctx context.Context, cl *kgo.Client, p *Plan) (map[offset.Partition]int64, error) {
	_, set := planTopics(p)
	if len(set) == 0 {
		return nil, nil
	}
	out := map[offset.Partition]int64{}
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, b := range cl.DiscoveredBrokers() {
		all.Go(func() {
			sizes, err := brokerSizes(ctx, b, set)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("read the sizes of partitions: %w", err))
			}
			for k, n := range sizes {
				out[k] = max(out[k], n)
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// brokerSizes are the sizes of one broker's replicas; directories that fail are left out.
func brokerSizes(ctx context.Context, b *kgo.Broker, set kadm.TopicsSet) (map[offset.Partition]int64, error) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	for topic, parts := range set {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = topic, slices.Collect(maps.Keys(parts))
		req.Topics = append(req.Topics, t)
	}
	answer, err := b.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DescribeLogDirsResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	out := map[offset.Partition]int64{}
	var failed error
	for _, dir := range resp.Dirs {
		if err := kerr.ErrorForCode(dir.ErrorCode); err != nil {
			failed = err
			continue
		}
		for _, t := range dir.Topics {
			for _, part := range t.Partitions {
				k := offset.Partition{Topic: t.Topic, Partition: part.Partition}
				out[k] = max(out[k], part.Size)
			}
		}
	}
	return out, failed
}

// readRetention reads how long the topics keep records; a topic that keeps them by size alone, or for ever, is not in it.
func readRetention(ctx context.Context, adm *kadm.Client, p *Plan) (map[string]time.Duration, error) {
	names, _ := planTopics(p)
	if len(names) == 0 {
		return nil, nil
	}
	configs, err := adm.DescribeTopicConfigs(ctx, names...)
	out := map[string]time.Duration{}
	for _, t := range configs {
		if t.Err != nil {
			err = errors.Join(err, t.Err)
			continue
		}
		var ms int64 = -1
		deletes := true
		for _, c := range t.Configs {
			switch c.Key {
			case "retention.ms":
				if n, perr := strconv.ParseInt(c.MaybeValue(), 10, 64); perr == nil {
					ms = n
				}
			case "cleanup.policy":
				deletes = strings.Contains(c.MaybeValue(), "delete")
			}
		}
		if deletes && ms >= 0 && ms < int64(100*365*24*time.Hour/time.Millisecond) {
			out[t.Name] = time.Duration(ms) * time.Millisecond
		}
	}
	return out, err
}
