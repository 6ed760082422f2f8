package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// ReadRecords reads records of several partitions, each from its own offset up to (not including) its own end, and hands
// them to each in the order of their offsets within a partition; each returns false when it wants no more of that
// partition. Control records are not handed out. It joins no group and commits nothing.
//
// The client is a new one with the options given, since a client that consumes keeps fetching: opts are the connection's.
// The error is the context's, or the first partition's.
func ReadRecords(ctx context.Context, opts []kgo.Opt, iso offset.Isolation, from, until map[offset.Partition]int64,
	each func(*kgo.Record) (more bool)) error {
	at := map[string]map[int32]kgo.Offset{}
	left := map[offset.Partition]int64{}
	for p, n := range from {
		if n >= until[p] {
			continue
		}
		if at[p.Topic] == nil {
			at[p.Topic] = map[int32]kgo.Offset{}
		}
		at[p.Topic][p.Partition] = kgo.NewOffset().At(n)
		left[p] = until[p]
	}
	if len(left) == 0 {
		return nil
	}
	level := kgo.ReadUncommitted()
	if iso == offset.ReadCommitted {
		level = kgo.ReadCommitted()
	}
	cl, err := kgo.NewClient(append(opts[:len(opts):len(opts)],
		kgo.ConsumePartitions(at), kgo.FetchIsolationLevel(level), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// Control records are kept so that the end is reached even where the last offsets are markers.
		kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(64<<10), kgo.FetchMaxBytes(8<<20))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	stop := func(p offset.Partition) {
		delete(left, p)
		cl.RemoveConsumePartitions(map[string][]int32{p.Topic: {p.Partition}})
	}
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		var first error
		fs.EachPartition(func(ft kgo.FetchTopicPartition) {
			p := offset.Partition{Topic: ft.Topic, Partition: ft.Partition}
			end, ok := left[p]
			if !ok {
				return
			}
			if ft.Err != nil {
				first = errors.Join(first, fmt.Errorf("read %s: %w", p, ft.Err))
				return
			}
			for _, r := range ft.Records {
				if r.Offset >= end || !r.Attrs.IsControl() && !each(r) || r.Offset+1 >= end {
					stop(p)
					return
				}
			}
		})
		if first != nil {
			return first
		}
	}
	return nil
}
