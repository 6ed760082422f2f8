package sink

// Records to a stream.

import (
	"context"
	"encoding/json"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume"
)

// chunk is how much is encoded before it is written: large enough that system calls are rare, small enough to stay in the
// processor's cache.
const chunk = 128 << 10

// Writer writes records to a stream as they come. Every batch is handed to the stream before Write returns, so what is
// committed was written; what the reader on the other side does with it is its own. At least once.
type Writer struct {
	w    io.Writer
	enc  Encoder
	kind string
	buf  []byte
}

// NewWriter makes a sink of a stream. kind names it in checkpoints, such as "stdout". The stream's writes must not be
// buffered: what it has accepted counts as delivered.
func NewWriter(kind string, w io.Writer, enc Encoder) *Writer {
	return &Writer{w: w, enc: enc, kind: kind, buf: make([]byte, 0, chunk+chunk/4)}
}

// Info implements consume.Sink.
func (s *Writer) Info() consume.SinkInfo { return consume.SinkInfo{Kind: s.kind} }

// Open implements consume.Sink.
func (s *Writer) Open(context.Context, *consume.Restored) error { return nil }

// Write encodes and writes the batch.
func (s *Writer) Write(_ context.Context, b consume.Batch) error {
	var err error
	s.buf, err = encode(s.w, s.buf, s.enc, b)
	return err
}

// PartError says that a stream took no more than the first Records records of a batch: its reader went away, or a disk is full.
type PartError struct {
	Records int
	Err     error
}

func (e *PartError) Error() string { return e.Err.Error() }

// Unwrap is the stream's error.
func (e *PartError) Unwrap() error { return e.Err }

// encode writes a batch through buf, which it returns empty.
func encode(w io.Writer, buf []byte, enc Encoder, b consume.Batch) ([]byte, error) {
	first := 0 // of those that are in buf
	for i, r := range b.Records {
		buf = enc(buf, r)
		if len(buf) >= chunk || i == len(b.Records)-1 {
			if n, err := writeAll(w, buf); err != nil {
				return buf[:0], &PartError{Records: first + whole(enc, b.Records[first:i+1], n), Err: err}
			}
			buf, first = buf[:0], i+1
		}
	}
	if cap(buf) > 8*chunk {
		buf = make([]byte, 0, chunk+chunk/4) // one huge record must not stay in memory
	}
	return buf[:0], nil
}

// whole is how many of the records are within their first n bytes.
func whole(enc Encoder, records []*kgo.Record, n int) int {
	var one []byte
	for i, r := range records {
		one = enc(one[:0], r)
		if n -= len(one); n < 0 {
			return i
		}
	}
	return len(records)
}

func writeAll(w io.Writer, b []byte) (int, error) {
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return n, err
}

// Checkpoint implements consume.Sink: everything was written already.
func (s *Writer) Checkpoint(context.Context, consume.Barrier) (consume.Persist, error) {
	return func(context.Context) (json.RawMessage, error) { return nil, nil }, nil
}

// Completed implements consume.Sink.
func (s *Writer) Completed(context.Context, int64) error { return nil }

// Close implements consume.Sink. The stream stays open.
func (s *Writer) Close(context.Context) error { return nil }
