package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// FillTopic writes a topic of so many records, lz4, unless it is there with as many. record makes each of a value of 100 bytes, which
// is compressible as text is, not as zeros are.
func FillTopic(ctx context.Context, addr, topic string, partitions, records int, record func(i int, value []byte) *kgo.Record, opts ...kgo.Opt) error {
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.MaxBufferedRecords(200_000),
		kgo.ProducerLinger(5*time.Millisecond))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	if ends, err := adm.ListEndOffsets(ctx, topic); err == nil {
		var have int64
		ends.Each(func(o kadm.ListedOffset) { have += max(0, o.Offset) })
		if have == int64(records) {
			return nil
		}
		if have > 0 {
			return fmt.Errorf("topic %s has %d records, not %d: delete it, or use another", topic, have, records)
		}
	}
	keep := "-1"
	resp, err := adm.CreateTopic(ctx, int32(partitions), 1, map[string]*string{"retention.ms": &keep}, topic)
	if err = errors.Join(err, resp.Err); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 1000)
	for i := range values {
		v := make([]byte, 100)
		for j := range v {
			v[j] = "abcdefghijklmnop"[rnd.IntN(16)]
		}
		values[i] = v
	}
	var first error
	for i := range records {
		r := record(i, values[rnd.IntN(len(values))])
		r.Topic = topic
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil && first == nil {
				first = err
			}
		})
	}
	return errors.Join(cl.Flush(ctx), first)
}
