package consume

// The range file: a work list that several processes share. It is text: comment lines that say where the ranges come from, a
// line a range with its part before it, and a last line with a digest over all lines before it, so that a file that was cut
// off or changed is not taken for a whole one.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/offset"
)

// The first line of a range file. Version 1 has neither topic ids nor an end, and is still read.
const (
	rangeFileHeader  = "# koffset ranges 2"
	rangeFileHeader1 = "# koffset ranges 1"
)

// RangeFile is a work list: ranges that together are read exactly once by the processes that take a part each.
type RangeFile struct {
	ClusterID string            // empty where it is not known
	TopicIDs  map[string]string // of the topics in the ranges; one that is not in it is not known
	CreatedAt time.Time
	Parts     [][]Range
	// Digest is the sum over the file as it was read; empty in one of version 1.
	Digest string
}

// Origin is where the ranges come from; name is the file's.
func (f RangeFile) Origin(name string) offset.Origin {
	return offset.Origin{From: "range file " + name, ClusterID: f.ClusterID, TopicIDs: f.TopicIDs, At: f.CreatedAt, Digest: f.Digest, Unsealed: f.Digest == ""}
}

// Write writes the file that ReadRangeFile reads.
func (f RangeFile) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, rangeFileHeader)
	if f.ClusterID != "" {
		fmt.Fprintln(&b, "# cluster "+f.ClusterID)
	}
	if !f.CreatedAt.IsZero() {
		fmt.Fprintln(&b, "# created "+offset.FormatTime(f.CreatedAt))
	}
	for _, t := range slices.Sorted(maps.Keys(f.TopicIDs)) {
		fmt.Fprintln(&b, "# topic "+t+" "+f.TopicIDs[t])
	}
	for i, rs := range f.Parts {
		for _, r := range rs {
			fmt.Fprintf(&b, "%d %s\n", i+1, r)
		}
	}
	fmt.Fprintf(&b, "# end %d parts %s\n", len(f.Parts), rangeDigest(b.Bytes()))
	_, err := w.Write(b.Bytes())
	return err
}

func rangeDigest(lines []byte) string {
	sum := sha256.Sum256(lines)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// rangeReader reads a range file line by line.
type rangeReader struct {
	name    string
	line    int
	version int
	before  bytes.Buffer // the lines so far, with their ends
	ended   bool
	f       RangeFile
}

func (r *rangeReader) bad(format string, args ...any) error {
	return usagef("make the file with koffset split", "%s:%d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

// ReadRangeFile reads a range file. Parts are numbered from 1 and may be empty. A file that was cut off or changed after it
// was written is refused. The error is an *Error of kind Usage.
func ReadRangeFile(in io.Reader, name string) (RangeFile, error) {
	r := &rangeReader{name: name, f: RangeFile{TopicIDs: map[string]string{}}}
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		r.line++
		if err := r.take(strings.TrimSpace(sc.Text())); err != nil {
			return RangeFile{}, err
		}
	}
	if err := sc.Err(); err != nil {
		return RangeFile{}, usagef("", "%s: %w", name, err)
	}
	switch {
	case r.line == 0:
		return RangeFile{}, usagef("make the file with koffset split", "%s is empty", name)
	case r.version > 1 && !r.ended:
		return RangeFile{}, r.bad("the file was cut off: its last line is not the one that ends it")
	}
	return r.f, nil
}

func (r *rangeReader) take(text string) error {
	if r.ended && text != "" {
		return r.bad("something follows the end of the file")
	}
	if rest, ok := strings.CutPrefix(text, "# end "); ok && r.version > 1 {
		return r.end(rest)
	}
	fmt.Fprintln(&r.before, text)
	word, rest, _ := strings.Cut(strings.TrimPrefix(text, "# "), " ")
	switch {
	case r.line == 1 && text == rangeFileHeader:
		r.version = 2
	case r.line == 1 && text == rangeFileHeader1:
		r.version = 1
	case r.line == 1:
		return r.bad("this is not a range file: its first line is not %q", rangeFileHeader)
	case text == "":
	case !strings.HasPrefix(text, "#"):
		return r.rangeLine(text)
	case word == "cluster":
		r.f.ClusterID = rest
	case word == "topic":
		topic, id, _ := strings.Cut(rest, " ")
		r.f.TopicIDs[topic] = id
	case word == "created":
		at, err := time.Parse(time.RFC3339, rest)
		if err != nil {
			return r.bad("%q is not a time", rest)
		}
		r.f.CreatedAt = at
	}
	return nil
}

func (r *rangeReader) rangeLine(text string) error {
	num, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(num)
	if err != nil || n < 1 || n > 1_000_000 {
		return r.bad("%q is not a part", num)
	}
	rg, err := ParseRange(strings.TrimSpace(rest))
	if err != nil {
		return r.bad("%v", err)
	}
	for len(r.f.Parts) < n {
		r.f.Parts = append(r.f.Parts, nil)
	}
	r.f.Parts[n-1] = append(r.f.Parts[n-1], rg)
	return nil
}

// end holds the lines so far to the digest, which no editor keeps right.
func (r *rangeReader) end(rest string) error {
	count, said, _ := strings.Cut(rest, " parts ")
	n, err := strconv.Atoi(count)
	if err != nil || n < len(r.f.Parts) || n > 1_000_000 {
		return r.bad("the file says it has %s parts, and %d were read", count, len(r.f.Parts))
	}
	if got := rangeDigest(r.before.Bytes()); got != said {
		return r.bad("the file was changed after it was written: its lines have digest %s, the last one says %s", got, said)
	}
	for len(r.f.Parts) < n {
		r.f.Parts = append(r.f.Parts, nil) // parts without a range
	}
	r.ended, r.f.Digest = true, said
	return nil
}
