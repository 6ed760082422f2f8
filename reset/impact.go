package reset

// What a plan means beside the numbers: times, bytes, and how long what it goes back to will still be there.

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
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
func Impacts(ctx context.Context, cl *kgo.Client, opts []kgo.Opt, p *Plan) (map[Key]Impact, error) {
	out := map[Key]Impact{}
	var mu sync.Mutex
	put := func(k Key, f func(*Impact)) {
		mu.Lock()
		defer mu.Unlock()
		one := out[k]
		f(&one)
		out[k] = one
	}
	var eg errgroup.Group
	eg.SetLimit(8)
	var errs []error
	fail := func(err error) {
		if err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
		}
	}
	for _, r := range impactReads(p) {
		eg.Go(func() error {
			fail(inspect.ReadRecords(ctx, opts, offset.ReadUncommitted, r.from, r.until, func(rec *kgo.Record) bool {
				part := offset.Partition{Topic: rec.Topic, Partition: rec.Partition}
				if rec.Timestamp.UnixMilli() >= 0 {
					put(r.rows[part], func(i *Impact) { *r.field(i) = rec.Timestamp.UTC() })
				}
				return false
			}))
			return nil
		})
	}
	var sizes map[offset.Partition]int64
	var keeps map[string]time.Duration
	adm := kadm.NewClient(cl)
	eg.Go(func() (err error) { sizes, err = readSizes(ctx, adm, p); fail(err); return nil })
	eg.Go(func() (err error) { keeps, err = readRetention(ctx, adm, p); fail(err); return nil })
	_ = eg.Wait() // the errors are in errs
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

// impactRead is one round of reading: a partition once, for one of its rows.
type impactRead struct {
	from, until map[offset.Partition]int64
	rows        map[offset.Partition]Key
	field       func(*Impact) *time.Time
}

func impactReads(p *Plan) []*impactRead {
	var rounds []*impactRead
	add := func(field func(*Impact) *time.Time, at func(Change) (int64, bool)) {
		nth := map[offset.Partition]int{}
		first := len(rounds)
		for _, c := range p.Changes {
			b, ok := c.Bounds()
			n, has := at(c)
			if !ok || !has || c.Action != checkpointfile.ActionCommit || n < b.Start || n >= b.End {
				continue
			}
			i := first + nth[c.Partition]
			nth[c.Partition]++
			for i >= len(rounds) {
				rounds = append(rounds, &impactRead{from: map[offset.Partition]int64{}, until: map[offset.Partition]int64{}, rows: map[offset.Partition]Key{}, field: field})
			}
			rounds[i].from[c.Partition], rounds[i].until[c.Partition], rounds[i].rows[c.Partition] = n, b.End, c.Key()
		}
	}
	add(func(i *Impact) *time.Time { return &i.FromTime }, func(c Change) (int64, bool) {
		if c.From == nil {
			return 0, false
		}
		return c.From.Offset, true
	})
	add(func(i *Impact) *time.Time { return &i.ToTime }, func(c Change) (int64, bool) {
		if c.To == nil {
			return 0, false
		}
		return c.To.Offset, true
	})
	return rounds
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

// readSizes reads how large the partitions are on disk; the largest replica counts, since one that catches up is smaller.
func readSizes(ctx context.Context, adm *kadm.Client, p *Plan) (map[offset.Partition]int64, error) {
	_, set := planTopics(p)
	if len(set) == 0 {
		return nil, nil
	}
	all, err := adm.DescribeAllLogDirs(ctx, set)
	out := map[offset.Partition]int64{}
	all.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(x kadm.DescribedLogDirPartition) {
			k := offset.Partition{Topic: x.Topic, Partition: x.Partition}
			out[k] = max(out[k], x.Size)
		})
	})
	return out, err
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
