package consume_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// The constructors are the positions that they name.
func TestStarts(t *testing.T) {
	_, cl := fake(t)
	f := kafkatest.F1(t, cl, "")
	for name, c := range map[string]struct {
		start consume.Start
		want  []string
	}{
		"earliest": {consume.FromEarliest(), all(span(f.Topic, 0, 4, 10), span(f.Topic, 1, 0, 10), span(f.Topic, 2, 0, 10))},
		"latest":   {consume.FromLatest(), nil},
		"group":    {consume.FromGroup(), all(span(f.Topic, 0, 6, 10), span(f.Topic, 1, 7, 10))},
		"time":     {consume.At(time.UnixMilli(kafkatest.F1Start + 500)), all(span(f.Topic, 0, 5, 10), span(f.Topic, 1, 5, 10), span(f.Topic, 2, 5, 10))},
		"offset":   {consume.FromOffset(8), all(span(f.Topic, 0, 8, 10), span(f.Topic, 1, 8, 10), span(f.Topic, 2, 8, 10))},
		"offsets":  {consume.FromOffsets(map[offset.Partition]int64{{Topic: f.Topic, Partition: 1}: 8}), span(f.Topic, 1, 8, 10)},
	} {
		cfg := consume.Config{Client: cl, Topics: topics(f.Topic), Group: f.App, Start: c.start, End: consume.UntilLatest()}
		if name == "offsets" {
			cfg.Policies.IfNoCommit = offset.IfNoCommitSkip
		}
		if got, _, err := readAll(t, cfg); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, read %v, want %v", name, err, got, c.want)
		}
	}
}

// Check finds what cannot work before anything is asked of Kafka.
func TestCheckFinds(t *testing.T) {
	_, cl := fake(t)
	member := kafkatest.Client(t, nil, kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"))
	for name, edit := range map[string]func(*consume.Config){
		"no client":              func(c *consume.Config) { c.Client = nil },
		"a client of a group":    func(c *consume.Config) { c.Client = member },
		"an option that refuses": func(c *consume.Config) { c.Fetch.Options = []kgo.Opt{kgo.FetchMaxWait(-time.Second)} },
		"no sink":                func(c *consume.Config) { c.Sink = nil },
	} {
		cfg := consume.Config{Client: cl, Topics: topics("t"), Start: consume.FromEarliest(), Sink: &collector{}}
		if err := cfg.Check(); err != nil {
			t.Fatal(err)
		}
		edit(&cfg)
		var e *consume.Error
		if err := cfg.Check(); !errors.As(err, &e) || e.Kind != consume.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := consume.Run(t.Context(), cfg); !errors.As(err, &e) || e.Kind != consume.Usage {
			t.Errorf("%s, run: %v", name, err)
		}
	}
}

// Every error is an *Error, also the sink's and the connection's.
func TestErrorsAreErrors(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "errs", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("errs", 0, 1, 1000, 1)...)
	broken := errors.New("broken")
	cfg := consume.Config{Client: cl, Topics: topics("errs"), Start: consume.FromEarliest(), Sink: consume.SinkFunc(func(context.Context, consume.Batch) error { return broken })}
	_, err := consume.Run(t.Context(), cfg)
	var e *consume.Error
	if !errors.As(err, &e) || e.Kind != consume.Failed || !errors.Is(err, broken) {
		t.Errorf("the sink's: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cfg.Client = kafkatest.Client(t, []string{"127.0.0.1:1"})
	if _, err = consume.New(ctx, cfg); !errors.As(err, &e) {
		t.Errorf("the connection's: %T %v", err, err)
	}
}

// A sink that returns the context's error has taken nothing of the batch: a restore gives all of it, once.
func TestWriteThatIsStopped(t *testing.T) {
	_, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "stopped", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("stopped", 0, 10, 1000, 1)...)
	kafkatest.Produce(t, cl, kafkatest.Records("stopped", 0, 10, 2000, 1)...)
	ctx, cancel := context.WithCancelCause(t.Context())
	sink := &collector{}
	cfg := job(t, cl, nil, "stopped")
	n := 0
	sink.write = func(consume.Batch) error {
		if n++; n == 1 {
			return nil
		}
		cancel(consume.ErrSuspended)
		<-ctx.Done()
		return ctx.Err()
	}
	cfg.Sink, cfg.Checkpoints.Interval, cfg.Fetch.MaxPoll = sink, time.Hour, 10
	if sum, err := consume.Run(ctx, cfg); err != nil || sum.Ended != consume.Suspended {
		t.Fatalf("%v, %s", err, sum.Ended)
	}
	if c, _ := newest(t, cfg); c.Partitions[0].Offset != int64(len(sink.got)) || len(sink.got) != 10 {
		t.Errorf("the checkpoint holds %d, the sink took %d", c.Partitions[0].Offset, len(sink.got))
	}
	cfg.Checkpoints.Restore, cfg.End = consume.RestoreLatest, consume.UntilLatest()
	rest, _, err := readAll(t, cfg)
	if got := all(sink.sorted(), rest); err != nil || !slices.Equal(got, all(span("stopped", 0, 0, 20))) {
		t.Errorf("%v: %v", err, got)
	}
}

// partSink takes half of the batch at offset 10, and then does what it is told to with the other half.
type partSink struct {
	collector
	rest func(context.Context, consume.Batch) error
	half int // records it has taken first
	size int // records of the batch
}

func (s *partSink) Write(ctx context.Context, b consume.Batch) error {
	if b.Records[0].Offset != 10 {
		return s.collector.Write(ctx, b)
	}
	s.size, s.half = len(b.Records), len(b.Records)/2
	first, last := b, b
	first.Records, last.Records = b.Records[:s.half], b.Records[s.half:]
	if err := s.collector.Write(ctx, first); err != nil {
		return err
	}
	return s.rest(ctx, last)
}

// A sink that has taken a part of a batch when the run is stopped takes the rest too, and nothing comes twice; or it returns
// another error than the context's, and then no checkpoint and no commit holds the batch: nothing is left out.
func TestWriteTakesAPart(t *testing.T) {
	_, cl := fake(t)
	gone := errors.New("gone")
	for name, fails := range map[string]error{"rest": nil, "fails": gone} {
		t.Run(name, func(t *testing.T) {
			topic := "part-" + name
			kafkatest.CreateTopic(t, cl, topic, 1)
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 10, 1000, 1)...)
			ctx, cancel := context.WithCancelCause(t.Context())
			sink := &partSink{}
			sink.rest = func(ctx context.Context, b consume.Batch) error {
				cancel(consume.ErrSuspended)
				<-ctx.Done()
				if fails != nil {
					return fails
				}
				return sink.collector.Write(ctx, b)
			}
			cfg := job(t, cl, sink, topic)
			cfg.Group = topic
			done := make(chan error, 1)
			go func() {
				_, err := consume.Run(ctx, cfg)
				done <- err
			}()
			kafkatest.Until(t, "the first batch is committed", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] == 10 })
			kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 10, 2000, 1)...)
			if err := <-done; !errors.Is(err, fails) {
				t.Fatalf("the run ended with %v, want %v", err, fails)
			}
			next, again := int64(10+sink.size), 0
			if fails != nil {
				next, again = 10, sink.half
			}
			at, _ := newest(t, cfg)
			if commit := kafkatest.CommittedOffsets(t, cl, topic, topic)[0]; at.Partitions[0].Offset != next || commit != next {
				t.Errorf("the checkpoint holds %d and the group %d, want %d", at.Partitions[0].Offset, commit, next)
			}
			cfg.Checkpoints.Restore, cfg.End = consume.RestoreLatest, consume.UntilLatest()
			rest, _, err := readAll(t, cfg)
			got := all(sink.sorted(), rest)
			if n := len(got) - 20; err != nil || n != again || !slices.Equal(slices.Compact(got), all(span(topic, 0, 0, 20))) {
				t.Errorf("%v: %d records came again, want %d: %v", err, n, again, got)
			}
		})
	}
}
