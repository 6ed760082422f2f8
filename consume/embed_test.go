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
