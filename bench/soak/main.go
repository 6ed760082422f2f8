//go:build realkafka

// Command soak uses koffset on three nodes of a real Kafka for a long time while leaders and coordinators move: the engine is killed
// again and again and its files must have each record of the log once; a reset is killed again and again and its undo must put back
// what was there; serve and watch run for minutes while groups, members and topics come and go, and must not grow. Each part says how
// many leaders were elected, and fails where none was.
//
//	go run -tags realkafka ./bench/soak                                     all of it, some 20 minutes
//	go run -tags realkafka ./bench/soak -kills 5 -resets 5 -minutes 1       that it works
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/bench/internal/measure"
	"github.com/koffset/koffset/internal/kafkatest"
)

const (
	topic         = "soak"
	partitions    = 6
	offsetsTopic  = "__consumer_offsets"
	offsetsNumber = 6
)

func main() {
	kills := flag.Int("kills", 200, "how often the engine is killed")
	resets := flag.Int("resets", 100, "how often a reset is killed")
	minutes := flag.Int("minutes", 8, "how long serve and watch run")
	flag.Parse()
	if err := run(context.Background(), *kills, *resets, *minutes); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is the cluster, and what moves in it.
type soak struct {
	dir, bin string
	kafka    *kafkatest.Kafka
	cl       *kgo.Client
	adm      *kadm.Client
	rnd      *rand.Rand
	topicID  kadm.TopicID
}

func run(ctx context.Context, kills, resets, minutes int) error {
	w, err := measure.Open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	seed := uint64(time.Now().UnixNano())
	fmt.Println("seed", seed)
	s := &soak{dir: w.Dir, bin: w.Bin, rnd: rand.New(rand.NewPCG(seed, 1))}
	if s.kafka, err = kafkatest.StartKafka(ctx, kafkatest.TrioOptions()); err != nil {
		return err
	}
	defer s.kafka.Close()
	if s.cl, err = kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond)); err != nil {
		return err
	}
	defer s.cl.Close()
	s.adm = kadm.NewClient(s.cl)
	s.adm.SetTimeoutMillis(5000)
	keep := "-1"
	made, err := s.adm.CreateTopic(ctx, partitions, 3, map[string]*string{"retention.ms": &keep}, topic)
	if err != nil {
		return err
	}
	s.topicID = made.ID
	for _, part := range []struct {
		much int // none of it leaves the part out
		do   func() error
	}{
		{kills, func() error { return s.engine(ctx, kills) }},
		{resets, func() error { return s.resets(ctx, resets) }},
		{minutes, func() error { return s.long(ctx, time.Duration(minutes)*time.Minute) }},
	} {
		if part.much == 0 {
			continue
		}
		before, err := s.elections(ctx)
		if err != nil {
			return err
		}
		if err := part.do(); err != nil {
			return err
		}
		after, err := s.elections(ctx)
		if err != nil || after <= before {
			return fmt.Errorf("no leader moved: %w", err)
		}
		fmt.Printf("    %d elections of leaders meanwhile\n", after-before)
	}
	return nil
}

// shake moves leaders, and now and then coordinators, until it is stopped.
func (s *soak) shake(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.lead(ctx, topic, partitions, n)
			if n%8 == 0 { // a coordinator loads its groups before it answers
				s.lead(ctx, offsetsTopic, offsetsNumber, n/8)
			}
		}
	})
	return func() { cancel(); over.Wait() }
}

// elections are how many elections of leaders there have been on the topics that move.
func (s *soak) elections(ctx context.Context) (n int32, err error) {
	topics, err := s.adm.ListTopicsWithInternal(ctx, topic, offsetsTopic)
	for _, t := range topics {
		for _, p := range t.Partitions {
			n += p.LeaderEpoch
		}
	}
	return n, err
}

// lead puts the leader of each partition n nodes further; what fails is tried again in the next round.
func (s *soak) lead(ctx context.Context, topic string, partitions, n int) {
	var req kadm.AlterPartitionAssignmentsReq
	set := kadm.TopicsSet{}
	for p := range partitions {
		at := int32(p + n)
		req.Assign(topic, int32(p), []int32{at%3 + 1, (at+1)%3 + 1, (at+2)%3 + 1})
		set.Add(topic, int32(p))
	}
	_, _ = s.adm.AlterPartitionAssignments(ctx, req)
	_, _ = s.adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
}

func (s *soak) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.bin, append([]string{"-b", s.kafka.Bootstrap(), "--state-dir", filepath.Join(s.dir, "state")}, args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_CONFIG_HOME="+filepath.Join(s.dir, "config"))
	return cmd
}

// killed runs a command for a while and kills it. ended says that it had ended by itself, which is an error where it failed.
func (s *soak) killed(ctx context.Context, after time.Duration, args ...string) (ended bool, err error) {
	cmd := s.command(ctx, args...)
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	kill.Stop()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 0:
		return true, nil
	case code > 0:
		return true, fmt.Errorf("koffset %v: status %d\n%s", args, code, out.text)
	}
	return false, nil
}

// limited keeps the beginning of an output.
type limited struct{ text []byte }

func (l *limited) Write(b []byte) (int, error) {
	l.text = append(l.text, b[:min(len(b), max(0, 8192-len(l.text)))]...)
	return len(b), nil
}
