package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCombine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {9, 1}, {1000, 3}, {3, 70_000}, {100_000, 65_536}} {
		a, b := make([]byte, n[0]), make([]byte, n[1])
		for _, x := range [][]byte{a, b} {
			for i := range x {
				x[i] = byte(rnd.Uint32())
			}
		}
		if got, want := combine(crc32.ChecksumIEEE(a), crc32.ChecksumIEEE(b), int64(len(b))), crc32.ChecksumIEEE(append(a, b...)); got != want {
			t.Errorf("%v: %08x, want %08x", n, got, want)
		}
	}
}

// The pieces are one member: a reader that stops after the first has everything.
func TestWriteGzipIsOneMember(t *testing.T) {
	var pieces []deflated
	want := ""
	for i, text := range []string{strings.Repeat("metric{label=\"value\"} 1\n", 5000), "", "x", strings.Repeat("other 2\n", 20_000)} {
		want += text
		d, err := deflate(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		if err != nil {
			t.Fatal(err)
		}
		var back bytes.Buffer
		if err := d.inflate(&back); err != nil || back.String() != text {
			t.Errorf("piece %d: %v, %d bytes, want %d", i, err, back.Len(), len(text))
		}
		pieces = append(pieces, d)
	}
	var out bytes.Buffer
	if err := writeGzip(&out, pieces...); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(&out)
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	got, err := io.ReadAll(z)
	if err != nil || string(got) != want {
		t.Errorf("%v: %d bytes, want %d", err, len(got), len(want))
	}
	if rest, _ := io.ReadAll(in); len(rest) != 0 {
		t.Errorf("%d bytes after the member", len(rest))
	}
}
