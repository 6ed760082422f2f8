//go:build realkafka

package cmd_test

// A bounded read of many partitions into something slow: every record comes, however full the broker's responses are.

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// slowPipe counts lines, and does not read for a while at first: as `| (sleep 2; wc -l)`.
type slowPipe struct {
	lines int
	begun bool
	pause time.Duration
}

func (p *slowPipe) Write(b []byte) (int, error) {
	if !p.begun {
		p.begun = true
		<-time.After(p.pause)
	}
	p.lines += bytes.Count(b, []byte{'\n'})
	return len(b), nil
}

// A response holds 50 MiB at the most, and of a partition no batch above 1 MiB unless it is the first: with 144 MB, with records
// of 3 MB, and with batches of 900 KB all but some partitions are left empty in it.
func TestRealSlowPipe(t *testing.T) {
	k := real.Kafka(t)
	cl := k.Client(t)
	letters := make([]byte, 4<<20)
	for i := range letters {
		letters[i] = byte('A' + rand.IntN(58)) // not compressible below two thirds, and no line ends
	}
	for _, c := range []struct {
		name                   string
		partitions, each, size int
	}{{"small", 120, 12_000, 100}, {"large", 4, 3, 3_000_000}, {"full", 100, 2, 900_000}} {
		topic := "slow-pipe-" + c.name
		kafkatest.CreateTopic(t, cl, topic, int32(c.partitions), "max.message.bytes", "10000000")
		prod := k.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.MaxBufferedRecords(2_000_000), kgo.MaxBufferedBytes(64<<20), kgo.ProducerLinger(50*time.Millisecond))
		for i := range c.partitions * c.each {
			at := rand.IntN(len(letters) - c.size)
			prod.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: int32(i % c.partitions), Value: letters[at : at+c.size]}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := prod.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) {
			out, errs := &slowPipe{pause: 2 * time.Second}, &bytes.Buffer{}
			code := cmd.Run(t.Context(), []string{"-b", k.Bootstrap(), "consume", topic, "--from", "earliest", "--until", "latest"}, cli.App{
				Streams: &render.Streams{In: strings.NewReader(""), Out: out, Err: errs}, Environ: []string{"HOME=" + t.TempDir()}, Dir: t.TempDir()})
			if want := c.partitions * c.each; code != 0 || out.lines != want {
				t.Errorf("exit status %d with %d records of %d\n%s", code, out.lines, want, errs)
			}
		})
	}
}

// A work list of a topic whose partitions are of all kinds: whatever the parts are made equal by, together they bring every record once.
func TestRealSplitInParts(t *testing.T) {
	k := real.Kafka(t)
	const topic, partitions = "split-mixed", 40
	var want []string
	for p, offsets := range kafkatest.Mixed(t, k.Client(t), topic, partitions, 0) {
		for _, n := range offsets {
			want = append(want, fmt.Sprintf("%d:%d\n", p, n))
		}
	}
	slices.Sort(want)
	dir := t.TempDir()
	for _, by := range []string{"offsets", "bytes"} {
		file := filepath.Join(dir, by)
		if code, errs := lineAt(t.Context(), dir, time.Now, io.Discard, "-b", k.Bootstrap(), "split", topic, "--parts", "3", "--by", by, "--out", file); code != 0 {
			t.Fatalf("by %s: exit status %d\n%s", by, code, errs)
		}
		var out bytes.Buffer
		for part := range 3 {
			code, errs := lineAt(t.Context(), dir, time.Now, &out, "-b", k.Bootstrap(), "consume", "--range-file", file, "--part", fmt.Sprint(part+1), "-f", `%p:%o\n`, "-q")
			if code != 0 {
				t.Fatalf("by %s, part %d: exit status %d\n%s", by, part+1, code, errs)
			}
		}
		sameRecords(t, slices.Sorted(strings.Lines(out.String())), want)
	}
}
