package consume_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// zeros is a broker with 100 partitions of three batches: each is 2 MiB of zeros, in a few hundred bytes.
func zeros(t *testing.T, topic string) (cl *kgo.Client, records int) {
	t.Helper()
	codec, err := kgo.DefaultCompressor(kgo.ZstdCompression())
	if err != nil {
		t.Fatal(err)
	}
	const partitions, batches = 100, 3
	var log kafkatest.Log
	for n := range int64(batches) {
		b := kafkatest.Batch{First: n, Last: n, Records: []int64{n}}
		kafkatest.Encode(t, &b, 2<<20, codec)
		log.Batches = append(log.Batches, b)
	}
	log.HighEnd, log.LastStable = batches, batches
	return kafkatest.Client(t, kafkatest.ServeLogs(t, topic, slices.Repeat([]kafkatest.Log{log}, partitions), kafkatest.Fickle{}, 1).ListenAddrs()), partitions * batches
}

// inUse is the heap that is in use now, without what can be collected, in MiB.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) >> 20
}

// What a run holds at once is bounded, whatever the records compress to, and whoever says which partitions are read: here 600 MiB
// come in less than one.
func TestMemoryOfARun(t *testing.T) {
	const bound = 100 // MiB
	for name, edit := range map[string]func(*consume.Config){
		"assigned": func(c *consume.Config) { c.Start = consume.FromEarliest() },
		"a member": func(c *consume.Config) {
			c.Group, c.Join, c.Policies.Reset = "g", &consume.Join{}, consume.ResetEarliest
		},
		"under a rate": func(c *consume.Config) { c.Start, c.Rate = consume.FromEarliest(), consume.Rate{Records: 100_000} },
	} {
		t.Run(name, func(t *testing.T) {
			cl, records := zeros(t, "zeros")
			before, most, writes := inUse(), int64(0), 0
			sink := &collector{write: func(consume.Batch) error {
				if writes++; writes%20 == 1 {
					most = max(most, inUse()-before)
				}
				return nil
			}}
			said := &notes{}
			cfg := consume.Config{Client: cl, Topics: topics("zeros"), Sink: sink, Notify: said.add}
			edit(&cfg)
			t.Cleanup(func() { t.Log(said.text()) })
			b := start(t, cfg)
			b.reach(t, sink.until(records))
			b.stop(nil)
			b.wait(t)
			if t.Logf("%d MiB at most, %d writes", most, writes); most > bound {
				t.Errorf("the run held %d MiB, at most %d", most, bound)
			}
		})
	}
	t.Run("only the plan", func(t *testing.T) {
		cl, _ := zeros(t, "zeros")
		e, err := consume.New(t.Context(), consume.Config{Client: cl, Topics: topics("zeros"), Start: consume.FromEarliest(), End: consume.UntilLatest(), Sink: &collector{}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		before := inUse()
		peak, stop := make(chan int64), make(chan struct{})
		go func() {
			most := int64(0)
			for {
				select {
				case <-stop:
					peak <- most
					return
				default:
					most = max(most, inUse()-before)
				}
			}
		}()
		e.Survey(t.Context())
		close(stop)
		if most := <-peak; most > bound {
			t.Errorf("the plan held %d MiB, at most %d", most, bound)
		} else {
			t.Logf("%d MiB at most", most)
		}
		for _, row := range e.Plan().Rows {
			if row.First.IsZero() {
				t.Fatalf("%s has no first record's time", row.Partition)
			}
		}
	})
}
