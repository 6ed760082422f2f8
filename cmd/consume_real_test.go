//go:build realkafka

package cmd_test

// How a run with an end ends where a real broker holds something back, or is gone.

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// An open transaction holds the rest of a range back: the run says so and is not done. When it has ended the rest comes, once.
func TestRealHeldBack(t *testing.T) {
	k := real.Kafka(t)
	cl := k.Client(t)
	const topic = "held-back"
	kafkatest.CreateTopic(t, cl, topic, 2)
	kafkatest.Produce(t, cl, slices.Concat(kafkatest.Records(topic, 0, 7, kafkatest.F1Start, 1), kafkatest.Records(topic, 1, 5, kafkatest.F1Start, 1))...)
	x := kafkatest.NewTxn(t, cl, topic+"-txn")
	x.Begin()
	x.Produce(kafkatest.Records(topic, 0, 4, kafkatest.F1Start, 1)...)
	dir := t.TempDir()
	line := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code, errs := lineAt(t.Context(), dir, time.Now, &out, append([]string{"-b", k.Bootstrap()}, args...)...)
		if code != want {
			t.Fatalf("koffset %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, errs)
		}
		return errs
	}
	ranges, files := filepath.Join(dir, "r"), filepath.Join(dir, "files")
	line(0, "split", topic, "--parts", "1", "--out", ranges)
	consume := []string{"consume", "--range-file", ranges, "--part", "1", "-f", `%p:%o\n`, "--to-files", files, "--job-name", "held", "--checkpoint-interval", "1h",
		"--checkpoint-dir", filepath.Join(dir, "ck")}
	if errs := line(4, consume...); !strings.Contains(errs, "held-back:0 is read to 7 of 11: an open transaction holds the rest back") {
		t.Errorf("what is held back is not said:\n%s", errs)
	}
	// The latest of read_committed is before the transaction: that end is reached.
	if errs := line(0, "consume", topic, "--from", "earliest", "--until", "latest", "-q"); !strings.Contains(errs, "open transactions hold back 4 offsets on 1 partition") {
		t.Errorf("until latest, what is held back is not said:\n%s", errs)
	}
	x.End(true)
	line(0, append(consume, "--restore", "latest")...)
	want := []string{"0:0", "0:1", "0:10", "0:2", "0:3", "0:4", "0:5", "0:6", "0:7", "0:8", "0:9", "1:0", "1:1", "1:2", "1:3", "1:4"}
	sameRecords(t, readFiles(t, files), want)
}

// killer is a standard output at whose first record all brokers are killed.
type killer struct {
	kill func()
	n    int
}

func (k *killer) Write(b []byte) (int, error) {
	if k.n += len(b); k.kill != nil {
		k.kill()
		k.kill = nil
	}
	return len(b), nil
}

// All brokers are killed while a run with an end reads: it says that nobody answers, and ends.
func TestRealAllBrokersKilled(t *testing.T) {
	k := kafkatest.Start(t, kafkatest.Options{})
	cl := k.Client(t)
	const topic = "all-killed"
	kafkatest.CreateTopic(t, cl, topic, 4)
	for p := range int32(4) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, 20_000, kafkatest.F1Start, 1)...)
	}
	out := &killer{kill: k.Kill}
	began := time.Now()
	code, errs := lineAt(t.Context(), t.TempDir(), time.Now, out, "-b", k.Bootstrap(), "consume", topic, "--from", "earliest", "--until", "latest", "--timeout", "5s")
	if code != 6 || !strings.Contains(errs, "no broker has answered for") || !strings.Contains(errs, "partitions not read to the end") {
		t.Errorf("exit status %d after %s\n%s", code, time.Since(began), errs)
	}
	if out.n == 0 {
		t.Error("nothing was read before")
	}
}
