package cmd_test

// Many partitions behind a broker that answers as it may, with most of them left empty in each response: whatever way records
// leave the program, each comes once.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// fullResponses is a broker with 120 partitions of ten batches of three records, and every record of it as `%p:%o`.
func fullResponses(t *testing.T) (broker string, want []string) {
	logs := make([]kafkatest.Log, 120)
	for p := range logs {
		for first := int64(0); first < 30; first += 3 {
			b := kafkatest.Batch{First: first, Last: first + 2, Records: []int64{first, first + 1, first + 2}}
			kafkatest.Encode(t, &b, 100, nil)
			logs[p].Batches = append(logs[p].Batches, b)
		}
		logs[p].HighEnd, logs[p].LastStable = 30, 30
		for n := range 30 {
			want = append(want, fmt.Sprintf("%d:%d", p, n))
		}
	}
	c := kafkatest.ServeLogs(t, "full", logs, kafkatest.Fickle{Empty: 60, Short: 60}, 1)
	slices.Sort(want)
	return c.ListenAddrs()[0], want
}

// fastLine is lineAt by a clock that goes a thousand times faster than time does, so that partitions count as idle while their
// records are on the way.
func fastLine(ctx context.Context, dir string, out io.Writer, args ...string) (code int, errs string) {
	began := time.Now()
	return lineAt(ctx, dir, func() time.Time { return began.Add(1000 * time.Since(began)) }, out, args...)
}

// lineAt runs a command line in a folder, until its context ends.
func lineAt(ctx context.Context, dir string, now func() time.Time, out io.Writer, args ...string) (code int, errs string) {
	var b bytes.Buffer
	code = cmd.Run(ctx, args, cli.App{Streams: &render.Streams{In: strings.NewReader(""), Out: out, Err: &b}, Environ: []string{"HOME=" + dir}, Dir: dir, Now: now})
	return code, b.String()
}

// readFiles are the lines of all the files that a run left in a folder, sorted.
func readFiles(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(path)
		lines = append(lines, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
	slices.Sort(lines)
	return lines
}

// sameRecords compares what came with what is there.
func sameRecords(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	count := map[string]int{}
	for _, at := range want {
		count[at]--
	}
	for _, at := range got {
		count[at]++
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 0 })
	wrong := slices.Sorted(maps.Keys(count))
	t.Errorf("%d records came, %d are there; %d came too seldom or too often, such as %v", len(got), len(want), len(wrong), wrong[:min(5, len(wrong))])
}

func TestManyPartitionsIntoFiles(t *testing.T) {
	t.Parallel()
	broker, want := fullResponses(t)
	dir := t.TempDir()
	code, errs := fastLine(t.Context(), dir, io.Discard, "-b", broker, "consume", "full", "--from", "earliest", "--until", "latest", "-f", `%p:%o\n`, "-q",
		"--to-files", filepath.Join(dir, "out"), "--checkpoint-interval", "20s", "--checkpoint-timeout", "10h", "--checkpoint-dir", filepath.Join(dir, "ck"), "-g", "g")
	if code != 0 {
		t.Fatalf("exit status %d\n%s", code, errs)
	}
	sameRecords(t, readFiles(t, filepath.Join(dir, "out")), want)
	cl := kafkatest.Client(t, []string{broker})
	for p, n := range kafkatest.CommittedOffsets(t, cl, "g", "full") {
		if n != 30 {
			t.Errorf("partition %d is committed at %d, its log ends at 30", p, n)
		}
	}
}

func TestManyPartitionsInParts(t *testing.T) {
	t.Parallel()
	broker, want := fullResponses(t)
	dir := t.TempDir()
	if code, errs := fastLine(t.Context(), dir, io.Discard, "-b", broker, "split", "full", "--parts", "7", "--out", filepath.Join(dir, "r")); code != 0 {
		t.Fatalf("exit status %d\n%s", code, errs)
	}
	var got bytes.Buffer
	for part := range 7 {
		code, errs := fastLine(t.Context(), dir, &got, "-b", broker, "consume", "--range-file", filepath.Join(dir, "r"), "--part", fmt.Sprint(part+1), "-f", `%p:%o\n`, "-q")
		if code != 0 {
			t.Fatalf("part %d: exit status %d\n%s", part+1, code, errs)
		}
	}
	sameRecords(t, slices.Sorted(strings.Lines(got.String())), lines(want))
}

// lines are texts with an end of line each.
func lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = s + "\n"
	}
	slices.Sort(out)
	return out
}

// stopper is a standard output that ends the run when it has seen so many lines.
type stopper struct {
	mu   sync.Mutex
	text bytes.Buffer
	left int
	stop func()
}

func (s *stopper) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left -= bytes.Count(b, []byte("\n")); s.left <= 0 {
		s.stop()
	}
	return s.text.Write(b)
}

// A run without an end that is stopped in the middle, again and again, and goes on each time.
func TestManyPartitionsStopped(t *testing.T) {
	t.Parallel()
	broker, want := fullResponses(t)
	dir := t.TempDir()
	args := []string{"-b", broker, "consume", "full", "--from", "earliest", "-f", `%p:%o\n`, "-q", "--checkpoint-interval", "1d", "--checkpoint-dir", filepath.Join(dir, "ck"),
		"--restore", "latest"}
	var got []string
	for len(got) < len(want) {
		ctx, cancel := context.WithCancelCause(t.Context())
		out := &stopper{left: min(1000, len(want)-len(got)), stop: func() { cancel(consume.ErrSuspended) }}
		if code, errs := fastLine(ctx, dir, out, args...); code != 130 && code != 143 {
			t.Fatalf("exit status %d\n%s", code, errs)
		}
		cancel(nil)
		before := len(got)
		if got = slices.AppendSeq(got, strings.Lines(out.text.String())); len(got) == before {
			t.Fatal("a run brought nothing")
		}
	}
	slices.Sort(got)
	sameRecords(t, got, lines(want))
}
