// Package flinktest writes Flink metadata files that no job at hand leaves behind. Tests read them with package flink, and
// bench/flink with Flink's own loader too, which holds the encoder to the format.
package flinktest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// The pieces that DataOutputStream and Flink's serializers write. All numbers are big-endian.

// I32 is an int.
func I32(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// I64 is a long.
func I64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// ascii is writeUTF of a string of ASCII characters without NUL, which Java writes as they are.
func ascii(s string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...)
}

// Cat joins parts.
func Cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Code is a handle: its type and its fields.
func Code(c byte, parts ...[]byte) []byte { return append([]byte{c}, Cat(parts...)...) }

// List is a count and the parts.
func List(parts ...[]byte) []byte { return Cat(I32(len(parts)), Cat(parts...)) }

// Inline is a ByteStreamStateHandle.
func Inline(data []byte) []byte { return Code(1, ascii("a handle"), I32(len(data)), data) }

// InFile is a FileStateHandle: an absolute path.
func InFile(path string, size int) []byte { return Code(2, I64(int64(size)), ascii(path)) }

// RelFile is a RelativeFileStateHandle.
func RelFile(path string, size int) []byte { return Code(6, ascii(path), I64(int64(size))) }

// payload is a Kafka split without its frame.
func payload(topic string, partition int, start, stop int64) []byte {
	return Cat(ascii(topic), I32(partition), I64(start), I64(stop))
}

// Element is a split as SourceReaderState holds it.
func Element(version int, payload []byte) []byte {
	return Cat(I32(8+len(payload)), I32(version), I32(len(payload)), payload)
}

// Large describes a large job's file of version 6: operators of keyed state, and one Kafka source among them.
type Large struct {
	Subtasks   int // with keyed state, over ten operators; a multiple of ten
	Partitions int // of the source, which has fifty readers
	// Keyed makes the keyed handle of a subtask.
	Keyed func(subtask int) []byte
	// Properties are the serialized CheckpointProperties, as a real file ends with them.
	Properties []byte
}

// Shape is a kind of keyed state.
type Shape struct {
	Name  string
	Keyed func(subtask int) []byte
}

// Shapes are the two kinds that differ for a reader: 10 kB that can be skipped, and 10 kB of which every byte is looked at.
func Shapes() []Shape {
	return []Shape{{"inline", InlineKeyed}, {"incremental", IncrementalKeyed}}
}

const handleID = "3f1b5c3a-8d0e-4d2a-9d0e-0d9b0e6f7a11"

// InlineKeyed is key groups and inline state, as a heap backend with small state has.
func InlineKeyed(int) []byte {
	var groups [][]byte
	for i := range 128 {
		groups = append(groups, I64(int64(i)*70))
	}
	return Code(12, I32(0), List(groups...), Inline(make([]byte, 8900)), ascii(handleID))
}

// IncrementalKeyed is handles on RocksDB's files.
func IncrementalKeyed(i int) []byte {
	var files [][]byte
	for k := range 76 {
		files = append(files, Cat(ascii(fmt.Sprintf("%06d.sst", k)), InFile(fmt.Sprintf(
			"s3://bucket/flink/checkpoints/5a15acc057ea89cab90181945de82119/shared/%08x-8d0e-4d2a-9d0e-%012x", i, k), 1<<26)))
	}
	return Code(11, I64(7), ascii(handleID), I32(0), I32(128), I64(5), RelFile("meta", 100), List(files...), List(), ascii("id"))
}

const (
	operators = 10
	readers   = 50
)

// Write writes the file. Partition n of topic a-topic-of-the-shop stands at n*1000.
func (l Large) Write(w io.Writer) error {
	out := &sticky{w: w}
	out.put(I32(0x4960672D), I32(6), I64(42), I32(0), I32(operators+1))
	per := l.Subtasks / operators
	for o := range operators {
		out.put(operator(fmt.Sprint("window ", o), fmt.Sprint("window-", o), byte(o), per))
		for i := range per {
			// Operator state, raw operator state, keyed state, raw keyed state, input and output channels.
			out.put(I32(i), I32(0), I32(0), l.Keyed(o*per+i), []byte{0}, I32(0), I32(0))
		}
		if o == operators/2 {
			l.source(out)
		}
	}
	out.put(l.Properties)
	return out.err
}

func operator(name, uid string, id byte, subtasks int) []byte {
	return Cat(ascii(name), ascii(uid), bytes.Repeat([]byte{id}, 16), I32(subtasks), I32(max(128, subtasks)), []byte{0}, I32(subtasks))
}

func (l Large) source(out *sticky) {
	out.put(operator("Source: orders", "orders", 0xF0, readers))
	for i := range readers {
		stream := Cat(I32(6), []byte{0}) // not compressed; elements are found by their offsets
		var at [][]byte
		for p := i; p < l.Partitions; p += readers {
			at = append(at, I64(int64(len(stream))))
			stream = append(stream, Element(0, payload("a-topic-of-the-shop", p, int64(p)*1000, -1<<63))...)
		}
		handle := Code(4, I32(1), ascii("SourceReaderState"), []byte{0}, List(at...), Inline(stream))
		out.put(I32(i), I32(1), handle, I32(0), []byte{0, 0}, I32(0), I32(0))
	}
}

// sticky keeps the first error.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) put(parts ...[]byte) {
	for _, p := range parts {
		if s.err == nil {
			_, s.err = s.w.Write(p)
		}
	}
}
