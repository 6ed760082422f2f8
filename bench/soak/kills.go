//go:build realkafka

package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// engine kills a run that writes files and checkpoints, while transactions, some of them aborted, are written to what it reads. The
// files have each committed record once, and nothing else, when a last run has read to the end.
func (s *soak) engine(ctx context.Context, kills int) error {
	start := time.Now()
	stop := s.shake(ctx)
	write, halt := context.WithCancel(ctx)
	var writing sync.WaitGroup
	var written error
	writing.Go(func() { written = s.write(write) })
	files := filepath.Join(s.dir, "files")
	args := []string{"consume", topic, "-g", "engine", "--from", "earliest", "--isolation", "read_committed", "-f", `%p:%o\n`, "--to-files", files, "--job-name", "soak",
		"--checkpoint-interval", "50ms", "--checkpoint-dir", filepath.Join(s.dir, "ck"), "--restore", "latest", "-q"}
	for n := range kills {
		// The first moments are its start; a busy machine takes longer for it.
		if ended, err := s.killed(ctx, time.Duration(200+s.rnd.IntN(1300))*time.Millisecond, args...); err != nil || ended {
			halt()
			writing.Wait()
			stop()
			return fmt.Errorf("engine, run %d ended by itself: %w", n, err)
		}
	}
	halt()
	writing.Wait()
	stop()
	if written != nil {
		return written
	}
	last := s.command(ctx, append(args, "--until", "latest", "--restore-with", "new")...)
	if out, err := last.CombinedOutput(); err != nil {
		return fmt.Errorf("the last run: %w\n%s", err, out)
	}
	log, err := s.log(ctx)
	if err != nil {
		return err
	}
	seen, lines, err := linesOf(files)
	if err != nil {
		return err
	}
	for line := range log {
		if seen[line] != 1 {
			return fmt.Errorf("engine: record %s is in the files %d times", line, seen[line])
		}
	}
	if lines != len(log) {
		return fmt.Errorf("engine: %d lines in the files, and %d records in the log", lines, len(log))
	}
	fmt.Printf("engine: %d kills, %d committed records, each in the files once; %s\n", kills, len(log), time.Since(start).Round(time.Second))
	return nil
}

// write writes transactions until it is stopped, every fifth of which is aborted.
func (s *soak) write(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("soak"), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	whole := context.WithoutCancel(ctx) // a transaction is ended, also the last one
	for n := 0; ctx.Err() == nil; n++ {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		var out []*kgo.Record
		for i := range 300 {
			out = append(out, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte("x")})
		}
		err := cl.ProduceSync(whole, out...).FirstErr()
		if end := cl.EndTransaction(whole, kgo.TransactionEndTry(err == nil && n%5 != 4)); end != nil {
			return end
		}
	}
	return nil
}

// log are the committed records of the topic.
func (s *soak) log(ctx context.Context) (map[string]bool, error) {
	ends, err := s.adm.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	out, open := map[string]bool{}, map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			open[o.Partition] = o.Offset
		}
	})
	for len(open) > 0 {
		f := cl.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			return nil, err
		}
		f.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				out[fmt.Sprintf("%d:%d", r.Partition, r.Offset)] = true
			}
			if r.Offset+1 >= open[r.Partition] {
				delete(open, r.Partition) // the last one is a marker
			}
		})
	}
	return out, nil
}

// linesOf counts the lines of the finished files below a folder.
func linesOf(dir string) (seen map[string]int, lines int, err error) {
	seen = map[string]int{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
			seen[sc.Text()]++
		}
		return nil
	})
	return seen, lines, err
}

// resets kills a reset of twelve groups: each partition is as it was or as it was to be, and undo puts back what was there.
func (s *soak) resets(ctx context.Context, kills int) error {
	start := time.Now()
	var groups []string
	args := []string{"reset", "--topic", topic, "--to-offset", "7", "--execute", "--yes", "--impact=false", "--timeout", "20s"}
	old := map[string]map[int32]string{}
	for g := range 12 {
		name := fmt.Sprintf("reset-%d", g)
		groups, args = append(groups, name), append(args, "--group", name)
		old[name] = map[int32]string{}
		offsets := kadm.Offsets{}
		for p := range int32(partitions - 1) { // none on the last one
			old[name][p] = fmt.Sprint(p+20, " ", name)
			offsets.Add(kadm.Offset{Topic: topic, Partition: p, At: int64(p) + 20, LeaderEpoch: -1, Metadata: name})
		}
		if err := s.adm.CommitAllOffsets(ctx, name, offsets); err != nil {
			return err
		}
	}
	args = append(args, "--if-no-commit", "skip")
	ends := map[string]int{}
	for n := range kills {
		stop := s.shake(ctx)
		ended, err := s.killed(ctx, time.Duration(50+s.rnd.IntN(1200))*time.Millisecond, args...)
		stop()
		moved, bad := s.compare(ctx, groups, old, "7 ")
		if bad != nil {
			return fmt.Errorf("reset %d: %w", n, bad)
		}
		how := "killed"
		if ended {
			how = "ended"
		}
		if err != nil {
			how = "refused" // a coordinator moved at that moment
		}
		switch {
		case moved == 0:
			how += ", nothing moved"
		case moved == len(groups)*partitions:
			how += ", all moved"
		default:
			how += ", some moved"
		}
		ends[how]++
		if err := s.undo(ctx, groups, old, moved > 0); err != nil {
			return fmt.Errorf("reset %d (%s): %w", n, how, err)
		}
	}
	fmt.Printf("reset: %d runs, every undo exact: %v; %s\n", kills, ends, time.Since(start).Round(time.Second))
	return nil
}

// compare counts the partitions that are at what a reset sets; what is neither that nor as before is an error.
func (s *soak) compare(ctx context.Context, groups []string, old map[string]map[int32]string, to string) (moved int, err error) {
	for _, g := range groups {
		got, err := s.stored(ctx, g)
		if err != nil {
			return 0, err
		}
		for p := range int32(partitions) {
			switch now := got[p]; {
			case strings.HasPrefix(now, to):
				moved++
			case now != old[g][p]:
				return 0, fmt.Errorf("%s %s:%d is %q, was %q", g, topic, p, now, old[g][p])
			}
		}
	}
	return moved, nil
}

// undo undoes what the journal has, until everything is as before: a group whose coordinator moves meanwhile is left for the next try.
func (s *soak) undo(ctx context.Context, groups []string, old map[string]map[int32]string, must bool) error {
	var said []byte
	for range 10 {
		said, _ = s.command(ctx, "undo", "last", "--execute", "--yes", "--timeout", "20s").CombinedOutput()
		same := true
		for _, g := range groups {
			got, err := s.stored(ctx, g)
			if err != nil {
				return err
			}
			same = same && maps.Equal(got, old[g])
		}
		if same {
			return nil
		}
	}
	return fmt.Errorf("it is not as before (something was moved: %t):\n%s", must, said)
}

// stored are the offsets and metadata of a group. A broker that has not yet heard that it is the coordinator no more answers from its
// memory, so every node is asked, until exactly one answers as the coordinator.
func (s *soak) stored(ctx context.Context, group string) (map[int32]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var answers []map[int32]string
		others := 0
		for node := 1; node <= 3; node++ {
			req := kmsg.NewPtrOffsetFetchRequest()
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group = group
			rt := kmsg.NewOffsetFetchRequestGroupTopic()
			rt.Topic, rt.TopicID = topic, s.topicID
			for p := range int32(partitions) {
				rt.Partitions = append(rt.Partitions, p)
			}
			rg.Topics = append(rg.Topics, rt)
			req.Groups = append(req.Groups, rg)
			resp, err := s.cl.Broker(node).Request(ctx, req)
			if err != nil {
				continue
			}
			switch got := resp.(*kmsg.OffsetFetchResponse).Groups[0]; kerr.ErrorForCode(got.ErrorCode) {
			case nil:
				if at, ok := offsetsOf(got); ok {
					answers = append(answers, at)
				}
			case kerr.NotCoordinator:
				others++
			}
		}
		if len(answers) == 1 && others == 2 {
			return answers[0], nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("group %s: %d coordinators answer: %w", group, len(answers), ctx.Err())
		case <-tick.C:
		}
	}
}

func offsetsOf(g kmsg.OffsetFetchResponseGroup) (map[int32]string, bool) {
	out := map[int32]string{}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				return nil, false
			}
			if p.Offset >= 0 && p.Metadata != nil {
				out[p.Partition] = fmt.Sprint(p.Offset, " ", *p.Metadata)
			}
		}
	}
	return out, true
}
