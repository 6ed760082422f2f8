//go:build realkafka

package cmd_test

// What an operator tries on a run before trusting it: no right to commit, nowhere to write, the same job twice.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
)

// operatorBed is a topic of two partitions of 50 records on the shared broker, and every record of it as `%p:%o`.
func operatorBed(t *testing.T, topic string) (k *kafkatest.Kafka, cl *kgo.Client, want []string) {
	k = real.Kafka(t)
	cl = k.Client(t)
	kafkatest.CreateTopic(t, cl, topic, 2)
	for p := range int32(2) {
		list := kafkatest.Records(topic, p, 50, kafkatest.F1Start, 1)
		kafkatest.Produce(t, cl, list...)
		for _, r := range list {
			want = append(want, fmt.Sprintf("%d:%d", r.Partition, r.Offset))
		}
	}
	slices.Sort(want)
	return k, cl, want
}

// Without READ on the group nothing of a run could be committed: it fails before its first record, whoever commits, and so does
// its plan. A group that does not exist yet is no exception.
func TestRealNoRightToCommit(t *testing.T) {
	const topic, group = "no-commit-right", "no-commit-right-group"
	k, cl, _ := operatorBed(t, topic)
	k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, group, kmsg.ACLOperationDescribe)
	run := func(args ...string) (code int, out, errs string) {
		t.Helper()
		var b bytes.Buffer
		dir := t.TempDir()
		base := []string{"-b", k.Secure().SASLAddr, "--command-config", k.CommandConfig(t, kafkatest.LimitedUser), "consume", topic, "-g", group}
		if !slices.Contains(args, "--join") {
			base = append(base, "--from", "earliest", "--until", "latest")
		}
		code, errs = lineAt(t.Context(), dir, time.Now, &b, append(base, args...)...)
		return code, b.String(), errs
	}
	ways := map[string][]string{
		"by interval":      {"--auto-commit"},
		"on checkpoint":    {"--checkpoint-interval", "1h"},
		"as a member":      {"--join"},
		"a member's plan":  {"--join", "--dry-run"},
		"only the plan":    {"--auto-commit", "--dry-run"},
		"nothing commits":  nil,
		"not on a restart": {"--checkpoint-interval", "1h", "-X", "commit.offsets.on.checkpoint=false"},
	}
	for name, args := range ways {
		code, out, errs := run(args...)
		if name == "nothing commits" || name == "not on a restart" {
			if code != 0 || strings.Count(out, "\n") != 100 {
				t.Errorf("%s: exit status %d, %d lines\n%s", name, code, strings.Count(out, "\n"), errs)
			}
			continue
		}
		if code != 7 || strings.Contains(out, "\n0") || !strings.Contains(errs, "GROUP_AUTHORIZATION_FAILED") || !strings.Contains(errs, "READ on the group") {
			t.Errorf("%s: exit status %d\n%s%s", name, code, out, errs)
		}
	}
	k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, group, kmsg.ACLOperationRead)
	if code, _, errs := run("--auto-commit"); code != 0 {
		t.Errorf("with the right: exit status %d\n%s", code, errs)
	}
	if got := kafkatest.CommittedOffsets(t, cl, group, topic); got[0] != 50 || got[1] != 50 {
		t.Errorf("committed %v", got)
	}
}

// What cannot be written was not delivered: the run fails, says where, commits nothing of it, and a restore begins there.
func TestRealDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full on this system")
	}
	defer full.Close()
	const topic, group = "disk-full", "disk-full-group"
	k, cl, want := operatorBed(t, topic)
	dir := t.TempDir()
	args := []string{"-b", k.Bootstrap(), "consume", topic, "-g", group, "--from", "earliest", "--until", "latest", "-f", `%p:%o\n`, "-q"}
	job := []string{"--checkpoint-interval", "50ms", "--checkpoint-dir", filepath.Join(dir, "ck"), "--restore", "latest"}
	for _, how := range [][]string{{"--auto-commit"}, job} {
		code, errs := lineAt(t.Context(), dir, time.Now, full, append(slices.Clone(args), how...)...)
		if code != 1 || !strings.Contains(errs, "no space left on device") {
			t.Errorf("%v: exit status %d\n%s", how, code, errs)
		}
		for p, n := range kafkatest.CommittedOffsets(t, cl, group, topic) {
			if n > 0 {
				t.Errorf("%v: partition %d is committed at %d, and nothing was written", how, p, n)
			}
		}
	}
	var out bytes.Buffer
	if code, errs := lineAt(t.Context(), dir, time.Now, &out, append(slices.Clone(args), job...)...); code != 0 {
		t.Fatalf("exit status %d\n%s", code, errs)
	}
	sameRecords(t, slices.Sorted(strings.Lines(out.String())), lines(want))
}

// The same command twice at once, in one job's folder: one runs, the other is refused before it reads, and can take over later.
func TestRealSameJobTwice(t *testing.T) {
	const topic = "same-job"
	k, _, want := operatorBed(t, topic)
	dir := t.TempDir()
	args := []string{"-b", k.Bootstrap(), "consume", topic, "--from", "earliest", "-f", `%p:%o\n`, "-q", "--to-files", filepath.Join(dir, "out"),
		"--checkpoint-interval", "100ms", "--checkpoint-dir", filepath.Join(dir, "ck"), "--restore", "latest"}
	first := func() (stop func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan string, 1)
		go func() {
			_, errs := lineAt(ctx, dir, time.Now, io.Discard, args...)
			done <- errs
		}()
		t.Cleanup(func() { cancel(nil) })
		kafkatest.Until(t, "the first has read", func() bool {
			parts, _ := filepath.Glob(filepath.Join(dir, "out", "part-*"))
			return slices.ContainsFunc(parts, func(p string) bool { i, err := os.Stat(p); return err == nil && i.Size() > 0 })
		})
		return func() {
			cancel(consume.ErrSuspended)
			if errs := <-done; errs != "" && strings.Contains(errs, "error") {
				t.Errorf("the first ended with\n%s", errs)
			}
		}
	}
	stop := first()
	code, errs := lineAt(t.Context(), dir, time.Now, io.Discard, append(slices.Clone(args), "--until", "latest")...)
	if code != 3 || !strings.Contains(errs, "another process runs this job") {
		t.Errorf("the second: exit status %d\n%s", code, errs)
	}
	stop()
	if code, errs := lineAt(t.Context(), dir, time.Now, io.Discard, append(slices.Clone(args), "--until", "latest")...); code != 0 {
		t.Errorf("after the first has ended: exit status %d\n%s", code, errs)
	}
	sameRecords(t, readFiles(t, filepath.Join(dir, "out")), want)
}

// A right that is taken away while a run reads is named with the exit status of a right that is missing; when it is back, a restore has
// every record once, and the group is never ahead of what was written.
func TestRealRightTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		kind kmsg.ACLResourceType
		says string
	}{
		"commit": {kmsg.ACLResourceTypeGroup, "READ on the group"},
		"fetch":  {kmsg.ACLResourceTypeTopic, "READ on the topic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := "taken-" + name
			k, cl, want := operatorBed(t, topic)
			k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
			k.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, topic, kmsg.ACLOperationRead)
			dir := t.TempDir()
			args := []string{"-b", k.Secure().SASLAddr, "--command-config", k.CommandConfig(t, kafkatest.LimitedUser), "consume", topic, "-g", topic, "--from", "earliest",
				"-f", `%p:%o\n`, "--to-files", filepath.Join(dir, "out"), "--checkpoint-interval", "50ms", "--checkpoint-dir", filepath.Join(dir, "ck"), "--restore", "latest"}
			slow := append(slices.Clone(args), "--rate", "40/s")
			if c.kind == kmsg.ACLResourceTypeGroup {
				slow = append(slow, "--until", "latest") // the last commit is what fails; without an end each one is told, and tried again
			}
			type end struct {
				code int
				errs string
			}
			ended := make(chan end, 1)
			go func() {
				code, errs := lineAt(t.Context(), dir, time.Now, io.Discard, slow...)
				ended <- end{code, errs}
			}()
			kafkatest.Until(t, "the run commits", func() bool { return kafkatest.CommittedOffsets(t, cl, topic, topic)[0] > 0 })
			k.TakeBack(t, kafkatest.LimitedUser, c.kind, topic, kmsg.ACLOperationRead)
			var e end
			select {
			case e = <-ended:
			case <-time.After(kafkatest.Deadline):
				t.Fatal("the run does not end")
			}
			if e.code != 7 || !strings.Contains(e.errs, c.says) {
				t.Errorf("exit status %d\n%s", e.code, e.errs)
			}
			written := int64(len(readFiles(t, filepath.Join(dir, "out"))))
			committed := int64(0)
			for _, n := range kafkatest.CommittedOffsets(t, cl, topic, topic) {
				committed += n
			}
			if committed == 0 || committed > written {
				t.Errorf("%d records are committed, %d are written", committed, written)
			}
			k.Allow(t, kafkatest.LimitedUser, c.kind, topic, kmsg.ACLOperationRead)
			if code, errs := lineAt(t.Context(), dir, time.Now, io.Discard, append(args, "--until", "latest")...); code != 0 {
				t.Errorf("with the right: exit status %d\n%s", code, errs)
			}
			sameRecords(t, readFiles(t, filepath.Join(dir, "out")), want)
			if got := kafkatest.CommittedOffsets(t, cl, topic, topic); got[0] != 50 || got[1] != 50 {
				t.Errorf("committed %v at the end", got)
			}
		})
	}
}
