package cmd_test

// A koffset that is killed at any moment leaves every partition at its old or its new offset, and a journal by which undo
// restores what was there.

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/kafkatest"
)

// koffset is a command line as a process of its own: the test binary under the name that testscript knows.
func koffset(t testing.TB, home string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe)
	c.Args = append([]string{"koffset"}, args...)
	c.Dir = home
	c.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME="+home)
	return c
}

// crash kills a process when the broker has seen so many of its requests: before the request is handled, or a moment after.
type crash struct {
	c     *kfake.Cluster
	left  atomic.Int64
	kill  atomic.Pointer[func()]
	after atomic.Bool
	pause atomic.Int64
	// writes counts from the first write on alone.
	writes atomic.Bool
	// dead is the kill that has happened: what was on its way from the process then is lost. Requests are sent many at once, and with
	// all of them carried out the process might as well have been killed at its end.
	dead atomic.Pointer[func()]
}

func newCrash(c *kfake.Cluster) *crash {
	x := &crash{c: c}
	c.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		kill := x.kill.Load()
		if kill != nil && kill == x.dead.Load() {
			return nil, errors.New("the process is dead"), true
		}
		if kill != nil && x.writes.Load() {
			switch req.(type) {
			case *kmsg.OffsetCommitRequest, *kmsg.OffsetDeleteRequest, *kmsg.DeleteGroupsRequest:
			default:
				return nil, nil, false
			}
			x.writes.Store(false)
		}
		if kill == nil || x.left.Add(-1) != 0 {
			return nil, nil, false
		}
		if x.after.Load() {
			// The request is handled first: its answer may or may not be read.
			time.AfterFunc(time.Duration(x.pause.Load()), func() {
				(*kill)()
				x.dead.Store(kill)
			})
			return nil, nil, false
		}
		(*kill)()
		x.dead.Store(kill)
		return nil, nil, false
	})
	return x
}

func TestKilledAtAnyMoment(t *testing.T) { killedAt(t, 60) }

func killedAt(t *testing.T, points int) {
	t.Helper()
	t.Parallel()
	c, cl := kafkatest.FakeClient(t)
	const partitions = 4
	var groups, args []string
	for i := range 12 {
		groups = append(groups, fmt.Sprintf("g%d", i))
		args = append(args, "--group", groups[i])
	}
	args = append(args, "-b", strings.Join(c.ListenAddrs(), ","), "--topic", "t", "--to-offset", "7", "--impact=false", "--execute")
	kafkatest.CreateTopic(t, cl, "t", partitions)
	for p := range int32(partitions) {
		kafkatest.Produce(t, cl, kafkatest.Records("t", p, 10, kafkatest.F1Start, 1)...)
	}
	old := func(g string, p int32) (n int64, has bool) { return int64(p) % 5, p < partitions-1 }
	x := newCrash(c)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	seen := map[string]int{}
	for i := range points {
		for _, g := range groups {
			for p := range int32(partitions) {
				if n, has := old(g, p); has {
					kafkatest.Commit(t, cl, g, kafkatest.Committed{Topic: "t", Partition: p, Offset: n, LeaderEpoch: 0, Metadata: "m" + g})
				}
			}
		}
		home := t.TempDir()
		cmd := koffset(t, home, append([]string{"reset"}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := func() { _ = cmd.Process.Kill() } // only fails where it has ended
		x.after.Store(r.IntN(2) == 0)
		x.pause.Store(r.Int64N(int64(4 * time.Millisecond)))
		// Half of the kills anywhere in the run, which has some 40 requests; half while it writes and reads back.
		x.writes.Store(r.IntN(2) == 0)
		x.left.Store(1 + r.Int64N(40))
		if x.writes.Load() {
			x.left.Store(1 + r.Int64N(14))
		}
		x.kill.Store(&kill)
		_ = cmd.Wait() // killed, or ended before its moment came
		x.kill.Store(nil)

		entries, bad := checkpointfile.ReadJournal(filepath.Join(home, "state", "koffset"))
		for _, err := range bad {
			if !strings.Contains(err.Error(), "before it sent anything") {
				t.Fatalf("run %d: the journal cannot be read: %v", i, err)
			}
		}
		var e *checkpointfile.Entry
		if len(entries) > 0 {
			e = entries[0]
		}
		state := "nothing"
		moved := 0
		for _, g := range groups {
			got := kafkatest.Commits(t, cl, g)["t"]
			for p := range int32(partitions) {
				n, has := old(g, p)
				now, is := got[p]
				switch {
				case is && now.Offset == 7:
					moved++
				case is != has || is && (now.Offset != n || now.Metadata != "m"+g):
					t.Fatalf("run %d: %s t:%d is %+v (%v): neither old nor new", i, g, p, now, is)
				}
			}
		}
		if moved > 0 && e == nil {
			t.Fatalf("run %d: %d partitions moved and the journal knows nothing:\n%s", i, moved, errs.String())
		}
		if e != nil {
			state = checkJournal(t, cl, i, e)
			out, err := koffset(t, home, "-b", strings.Join(c.ListenAddrs(), ","), "undo", e.ID, "--execute").CombinedOutput()
			if err != nil {
				t.Fatalf("run %d: undo: %v\n%s", i, err, out)
			}
		}
		seen[fmt.Sprintf("%s, %d of %d moved", state, moved, len(groups)*partitions)]++
		for _, g := range groups {
			got := kafkatest.Commits(t, cl, g)["t"]
			for p := range int32(partitions) {
				n, has := old(g, p)
				if now, is := got[p]; is != has || is && (now.Offset != n || now.Metadata != "m"+g || now.LeaderEpoch != 0) {
					t.Fatalf("run %d: after the undo %s t:%d is %+v (%v), want %d (%v)", i, g, p, now, is, n, has)
				}
			}
		}
	}
	t.Logf("after the kill: %v", seen)
	if len(seen) < min(points, 5) {
		t.Errorf("the kills hit %v alone: they are not spread over the run", seen)
	}
}

// Every command that writes is killed at each request from its first write on, before the broker handles it and after: what was
// there comes back with undo, as it was.
func TestEveryWriteKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"reset":        {"reset", "g", "--topic", "t", "--to-offset", "7", "--impact=false"},
		"apply":        {"apply", "plan.json"},
		"delete":       {"delete", "g"},
		"delete topic": {"delete", "g", "--topic", "t:0,1"},
		"undo":         {"undo", "last"},
		"import":       {"migrate", "import", "export.jsonl", "--allow-rewind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killedAtEachRequest(t, name, append(args, "--execute", "-o", "json"))
		})
	}
}

func killedAtEachRequest(t *testing.T, name string, args []string) {
	c, cl := kafkatest.FakeClient(t)
	b := []string{"-b", strings.Join(c.ListenAddrs(), ",")}
	kafkatest.CreateTopic(t, cl, "t", 4)
	for p := range int32(4) {
		kafkatest.Produce(t, cl, kafkatest.Records("t", p, 10, kafkatest.F1Start, 1)...)
	}
	before := []kafkatest.Committed{{Topic: "t", Partition: 0, Offset: 3, LeaderEpoch: 0, Metadata: "m"}, {Topic: "t", Partition: 1, Offset: 4, LeaderEpoch: 0},
		{Topic: "t", Partition: 2, Offset: 5, LeaderEpoch: 0, Metadata: "n"}}
	kafkatest.Commit(t, cl, "g", before...)
	prepared := t.TempDir()
	must := func(home string, args ...string) string {
		t.Helper()
		out, err := koffset(t, home, append(args, b...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("koffset %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	switch name {
	case "apply":
		must(prepared, "reset", "g", "--topic", "t", "--to-offset", "8", "--plan-out", "plan.json")
	case "import":
		kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 1), kafkatest.At("t", 1, 9))
		must(prepared, "migrate", "export", "g", "--out", "export.jsonl")
		kafkatest.Commit(t, cl, "g", before...)
	}
	x := newCrash(c)
	ended, changed := 0, 0
	for point := int64(1); ended < 2; point++ {
		if point > 40 {
			t.Fatal("it never ends")
		}
		ended = 0
		for _, after := range []bool{false, true} {
			home := t.TempDir()
			if err := os.CopyFS(home, os.DirFS(prepared)); err != nil {
				t.Fatal(err)
			}
			if name == "undo" {
				must(home, "reset", "g", "--topic", "t", "--to-offset", "7", "--execute", "--impact=false")
			}
			was := kafkatest.Commits(t, cl, "g")
			cmd := koffset(t, home, append(args, b...)...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill := func() { _ = cmd.Process.Kill() } // only fails where it has ended
			x.after.Store(after)
			x.pause.Store(0)
			x.writes.Store(true)
			x.left.Store(point)
			x.kill.Store(&kill)
			if err := cmd.Wait(); err == nil {
				ended++
			} else if cmd.ProcessState.ExitCode() >= 0 {
				t.Fatalf("point %d: %v\n%s", point, err, errs.String())
			}
			x.kill.Store(nil)
			if now := kafkatest.Commits(t, cl, "g"); fmt.Sprint(now) != fmt.Sprint(was) {
				changed++
				if entries, _ := checkpointfile.ReadJournal(filepath.Join(home, "state", "koffset")); len(entries) == 0 {
					t.Fatalf("point %d: %v became %v and the journal knows nothing:\n%s", point, was, now, errs.String())
				}
			}
			out, err := koffset(t, home, append([]string{"undo", "last", "--execute"}, b...)...).CombinedOutput()
			if code := koffsetStatus(err); code != 0 && !(name == "undo" && code == 5) {
				t.Fatalf("point %d (after: %v): undo has status %d\n%s", point, after, code, out)
			}
			if got := fmt.Sprint(kafkatest.Commits(t, cl, "g")["t"]); got != fmt.Sprint(byPartition(before)) {
				t.Fatalf("point %d (after: %v): after the undo it is %s\n%s", point, after, got, out)
			}
		}
	}
	if changed == 0 {
		t.Error("nothing was ever changed")
	}
}

func byPartition(cs []kafkatest.Committed) map[int32]kafkatest.Committed {
	out := map[int32]kafkatest.Committed{}
	for _, c := range cs {
		out[c.Partition] = c
	}
	return out
}

// koffsetStatus is the exit status of a process that ended by itself.
func koffsetStatus(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// checkJournal holds what the journal says to be known against what is stored.
func checkJournal(t *testing.T, cl *kgo.Client, run int, e *checkpointfile.Entry) string {
	t.Helper()
	for i, row := range e.Changes {
		now, is := kafkatest.Commits(t, cl, row.Group)["t"][row.Partition.Partition]
		switch e.States[i] {
		case checkpointfile.StateVerified, checkpointfile.StateCommitted:
			if !is || now.Offset != row.To.Offset {
				t.Fatalf("run %d: %s is %s in the journal and %+v (%v) in Kafka", run, row.Key(), e.States[i], now, is)
			}
		case checkpointfile.StatePlanned:
		default:
			t.Fatalf("run %d: %s is %s in the journal: %s", run, row.Key(), e.States[i], e.Errors[i])
		}
	}
	if e.Outcome != "" {
		return e.Outcome
	}
	return "cut off"
}
