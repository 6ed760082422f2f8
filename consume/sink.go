package consume

// Where records go.

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Sink takes the records of a run. The engine calls its methods from one goroutine at a time, in this order: Open, then
// Write and Checkpoint in turn, Completed after a checkpoint is durable, Close.
type Sink interface {
	// Info names the sink. It is called at any time.
	Info() SinkInfo
	// Open is called once, before the first record. restored is the state that the checkpoint which is gone back to holds;
	// nil for a run that starts fresh. A sink that is ExactlyOnce takes back whatever came after that checkpoint.
	Open(ctx context.Context, restored *Restored) error
	// Write takes records of one partition, in the order of their offsets. When it returns without error the sink has
	// accepted them. The records and their bytes are the engine's again afterwards.
	//
	// ctx ends when the run is to stop. An error that is ctx's (errors.Is(err, ctx.Err())) says that the sink has taken
	// nothing of the batch: the last checkpoint and the last commit then lie before it, and a restore gives the whole batch
	// again. A sink that has taken a part of the batch when ctx ends must take the rest, or return another error, which ends
	// the run without a last checkpoint or commit: what was taken since the checkpoint before comes again after a restore,
	// unless the sink takes it back. An error that wraps ctx's, as drivers return, must not be passed on after a part.
	Write(ctx context.Context, b Batch) error
	// Checkpoint draws a line: everything written so far belongs to this checkpoint. It does what must be done between two
	// writes (hand buffers to the system, begin another file) and returns the rest, which runs beside later writes and
	// returns once everything before the line is durable, with what Open needs to come back here.
	Checkpoint(ctx context.Context, b Barrier) (Persist, error)
	// Completed says that the checkpoint is on disk: what waited for it may become visible. It may be called again for the
	// same checkpoint after a restore.
	Completed(ctx context.Context, checkpoint int64) error
	// Close ends the sink.
	Close(ctx context.Context) error
}

// Persist is the part of a checkpoint that runs beside later writes.
type Persist func(ctx context.Context) (state json.RawMessage, err error)

// Batch is some records of one partition, at least one, without transaction markers.
type Batch struct {
	Topic     string
	Partition int32
	Records   []*kgo.Record
}

// Barrier is the line that a checkpoint draws.
type Barrier struct {
	ID int64
	// Final says that no write follows in this run.
	Final bool
	// Positions are the next offset of every partition, for sinks that store them in a transaction of their own. They are
	// the sink's to keep.
	Positions []Position
}

// Restored is what a sink gets back.
type Restored struct {
	Checkpoint int64
	State      json.RawMessage // nil where the checkpoint holds none
	// TakeBack says that what came after the checkpoint is to be removed; false in the mode AT_LEAST_ONCE.
	TakeBack bool
	// Elsewhere says that the checkpoint is another job's, which may go on from it too, and that this run makes its own. Those
	// have larger numbers.
	Elsewhere bool
}

// SinkInfo names a sink.
type SinkInfo struct {
	Kind     string // such as "stdout" or "files"
	Location string // where it is, such as a folder; may be empty
	// ExactlyOnce says that the sink takes back what came after a restored checkpoint.
	ExactlyOnce bool
}

// SinkFunc is a sink of one function, which gets every record at least once.
type SinkFunc func(ctx context.Context, b Batch) error

// Info implements Sink.
func (SinkFunc) Info() SinkInfo { return SinkInfo{Kind: "function"} }

// Open implements Sink.
func (SinkFunc) Open(context.Context, *Restored) error { return nil }

// Write calls the function.
func (f SinkFunc) Write(ctx context.Context, b Batch) error { return f(ctx, b) }

// Checkpoint implements Sink: what the function has returned for is accepted.
func (SinkFunc) Checkpoint(context.Context, Barrier) (Persist, error) {
	return func(context.Context) (json.RawMessage, error) { return nil, nil }, nil
}

// Completed implements Sink.
func (SinkFunc) Completed(context.Context, int64) error { return nil }

// Close implements Sink.
func (SinkFunc) Close(context.Context) error { return nil }
