//go:build realkafka

package cmd_test

// inspect, check, watch and serve beside each other while something happens on a real broker: a static member that makes no
// progress and one that is gone, a user who may see half of the topics, a topic that is made anew, and brokers that go away and
// come back.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// running is a command line that runs in this process until it is stopped.
type running struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
	stop func()
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *running) String() string { r.mu.Lock(); defer r.mu.Unlock(); return r.text.String() }

func keep(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	r.stop = func() { cancel(); <-ended }
	home := t.TempDir()
	go func() {
		defer close(ended)
		cmd.Run(ctx, args, cli.App{Streams: &render.Streams{In: strings.NewReader(""), Out: r, Err: r}, Environ: []string{"HOME=" + home}, Dir: home})
	}()
	t.Cleanup(r.stop)
	return r
}

// address is where a serve serves.
func (r *running) address() string {
	r.t.Helper()
	re, found := regexp.MustCompile(`serving http://(\S+)/metrics`), ""
	kafkatest.Until(r.t, "serve serves", func() bool {
		if m := re.FindStringSubmatch(r.String()); m != nil {
			found = m[1]
		}
		return found != ""
	})
	return found
}

// watched is what a `watch -o jsonl` printed at its last look.
type watched struct {
	Error  *string
	Groups []struct {
		Group, Verdict string
		Partitions     []struct {
			Topic, Verdict string
			Partition      int32
			Start          *int64   `json:"log_start_offset"`
			Seconds        *float64 `json:"lag_seconds"`
		}
	}
}

func (r *running) last() (w watched, ok bool) {
	lines := strings.Split(r.String(), "\n")
	if len(lines) < 2 {
		return w, false
	}
	return w, json.Unmarshal([]byte(lines[len(lines)-2]), &w) == nil
}

// samples are the lines of a scrape that match.
func samples(t *testing.T, address, pattern string) []string {
	t.Helper()
	return regexp.MustCompile(`(?m)^(`+pattern+`)$`).FindAllString(string(fetch(t, "http://"+address+"/metrics")), -1)
}

// A static member keeps its partitions while it lives, however little it does, and after it is gone until its session times
// out: what it holds and does not commit is an alarm in all four, and only once it has left is the group one that nobody reads.
func TestStaticMemberWithoutProgress(t *testing.T) {
	protocols(t, func(t *testing.T, protocol string) {
		b := newLook(t, "static-"+protocol)
		topic, g := b.topic("t", 2, 10), b.prefix+"g"
		kafkatest.Commit(t, b.cl, g, kafkatest.At(topic, 0, 2))
		m := b.join(protocol, kafkatest.MemberOptions{Group: g, Topics: []string{topic}, InstanceID: "i1"}) // it reads, and commits nothing
		broker := []string{"-b", b.kafka.Bootstrap()}
		fast := []string{"--interval", "300ms", "--stall-after", "1s"}
		serve := keep(t, slices.Concat(broker, []string{"serve", g, "--listen", "127.0.0.1:0"}, fast)...)
		watch := keep(t, slices.Concat(broker, []string{"watch", g, "-o", "jsonl"}, fast)...)
		address := serve.address()

		says := func(what string, first, second string, stuck string, check ...string) {
			t.Helper()
			kafkatest.Until(t, what+": serve says "+first+" and "+second, func() bool {
				return len(samples(t, address, `koffset_group_partition_verdict\{.*,partition="0",verdict="`+first+`"\} 1`)) == 1 &&
					len(samples(t, address, `koffset_group_partition_verdict\{.*,partition="1",verdict="`+second+`"\} 1`)) == 1 &&
					len(samples(t, address, `koffset_group_stuck_partitions\{.*\} `+stuck)) == 1
			})
			kafkatest.Until(t, what+": watch says so too", func() bool {
				w, ok := watch.last()
				return ok && len(w.Groups) == 1 && len(w.Groups[0].Partitions) == 2 && w.Groups[0].Partitions[0].Verdict == first && w.Groups[0].Partitions[1].Verdict == second
			})
			r := runLine(t, slices.Concat(broker, []string{"check", g, "--no-stall", "--for", "1s"})...)
			for _, want := range check {
				if r.code != 8 || !strings.Contains(r.out, want) {
					t.Errorf("%s: check: exit status %d, and %q is wanted\n%s%s", what, r.code, want, r.out, r.err)
				}
			}
			in := runLine(t, slices.Concat(broker, []string{"inspect", g, "--fail-on", "unhealthy"})...)
			if in.code != 8 || !regexp.MustCompile(topic+` +1 .* never-committed`).MatchString(in.out) {
				t.Errorf("%s: inspect: exit status %d\n%s%s", what, in.code, in.out, in.err)
			}
			if one := strings.Contains(in.out, "stopped"); one != (first == "stopped") {
				t.Errorf("%s: inspect says stopped: %v\n%s%s", what, one, in.out, in.err)
			}
		}
		says("alive", "stalled", "never-committed", "2", "stalled: ", "max-uncommitted")
		m.Close()
		members := runJSON(t, 0, slices.Concat(broker, []string{"inspect", g, "--by", "member"})...).Members
		if len(members) != 1 || members[0].InstanceID != "i1" {
			t.Fatalf("the static member is not there any more: %+v", members)
		}
		says("gone, and not timed out", "stalled", "never-committed", "2", "stalled: ", "max-uncommitted")
		kafkatest.Until(t, "the instance is removed", func() bool {
			_, err := kadm.NewClient(b.cl).LeaveGroup(t.Context(), kadm.LeaveGroup(g).InstanceIDs("i1"))
			return err == nil
		})
		says("left", "stopped", "never-committed", "0", "stopped: ", "max-uncommitted")
	})
}

// A user who may see one of two topics: of what a live member holds, the hidden half is unknown, in each of the four, and never
// "all is well"; of a group without members a broker does not even tell that there is another half.
func TestHalfOfTheTopicsVisible(t *testing.T) {
	b := newLook(t, "half")
	seen, hidden := b.topic("seen", 1, 10), b.topic("hidden", 1, 10)
	live, empty := b.prefix+"live", b.prefix+"empty"
	for _, g := range []string{live, empty} {
		kafkatest.Commit(t, b.cl, g, kafkatest.At(seen, 0, 10), kafkatest.At(hidden, 0, 3))
		b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, g, kmsg.ACLOperationDescribe)
	}
	b.join("classic", kafkatest.MemberOptions{Group: live, Topics: []string{seen, hidden}})
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, seen, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	user := []string{"-b", b.kafka.Secure().SASLAddr, "--command-config", b.kafka.CommandConfig(t, kafkatest.LimitedUser)}
	as := func(code int, want string, args ...string) {
		t.Helper()
		r := runLine(t, append(slices.Clone(user), args...)...)
		if r.code != code || !regexp.MustCompile(want).MatchString(r.out+r.err) {
			t.Errorf("%s: exit status %d, want %d and %q\n%s%s", strings.Join(args, " "), r.code, code, want, r.out, r.err)
		}
	}
	as(4, hidden+`.*TOPIC_AUTHORIZATION_FAILED`, "inspect", live)
	as(4, hidden, "check", live, "--max-lag", "100")
	as(8, hidden, "check", live, "--max-lag", "100", "--unknown", "fail")
	as(4, `unknown`, "watch", live, "--count", "1", "--plain")
	as(0, `may not describe`, "inspect", empty)
	as(4, hidden, "check", empty, "--max-lag", "100", "--expect-topics", seen+","+hidden)

	serve := keep(t, append(slices.Clone(user), "serve", live, empty, "--listen", "127.0.0.1:0", "--interval", "300ms")...)
	address := serve.address()
	kafkatest.Until(t, "serve has refreshed", func() bool { return len(samples(t, address, `koffset_up 1`)) == 1 })
	for pattern, want := range map[string]int{
		`koffset_group_verdict\{group="` + live + `",verdict="unknown"\} 1`:                    1,
		`koffset_group_partitions\{group="` + live + `",verdict="unknown"\} 1`:                 1,
		`koffset_group_partition_lag\{group="` + live + `",topic="` + seen + `".* 0`:           1,
		`koffset_group_partition_lag(_seconds)?\{group="` + live + `",topic="` + hidden + `.*`: 0,
		`koffset_topic_partition_log_end_offset\{topic="` + hidden + `.*`:                      0,
		`koffset_group_verdict\{group="` + live + `",verdict="ok"\} 1`:                         0,
	} {
		if got := samples(t, address, pattern); len(got) != want {
			t.Errorf("%s: %d of %d: %v", pattern, len(got), want, got)
		}
	}
}

// While watch and serve run, retention removes records, and then the topic is deleted and made anew: an age is always of a
// record that is there, and of a topic that is gone no series is left.
func TestTopicMadeAnewWhileWatched(t *testing.T) {
	b := newLook(t, "anew")
	topic, g := b.topic("t", 1, 0), b.prefix+"g"
	aged := func(hours ...float64) {
		for _, h := range hours {
			kafkatest.Produce(t, b.cl, kafkatest.Record(topic, 0, time.Now().Add(-time.Duration(h*float64(time.Hour))).UnixMilli(), "x"))
		}
		kafkatest.Commit(t, b.cl, g, kafkatest.At(topic, 0, 0))
	}
	aged(5, 5, 3, 3)
	serve := keep(t, "-b", b.kafka.Bootstrap(), "serve", g, "--listen", "127.0.0.1:0", "--interval", "300ms")
	watch := keep(t, "-b", b.kafka.Bootstrap(), "watch", g, "-o", "jsonl", "--interval", "300ms")
	address := serve.address()
	served := func() (hours float64, ok bool) {
		got := samples(t, address, `koffset_group_partition_lag_seconds\{.*\} .*`)
		if len(got) != 1 {
			return 0, false
		}
		seconds, err := strconv.ParseFloat(got[0][strings.LastIndexByte(got[0], ' ')+1:], 64)
		return seconds / 3600, err == nil
	}
	seen := func() (hours float64, ok bool) {
		w, ok := watch.last()
		if !ok || len(w.Groups) != 1 || len(w.Groups[0].Partitions) != 1 || w.Groups[0].Partitions[0].Seconds == nil {
			return 0, false
		}
		return *w.Groups[0].Partitions[0].Seconds / 3600, true
	}
	about := func(want float64) {
		t.Helper()
		for name, age := range map[string]func() (float64, bool){"serve": served, "watch": seen} {
			kafkatest.Until(t, fmt.Sprintf("%s says about %v hours", name, want), func() bool {
				got, ok := age()
				return ok && got >= want && got < want+0.1
			})
		}
	}
	about(5)
	kafkatest.DeleteRecords(t, b.cl, topic, 0, 2)
	about(3)

	if _, err := kadm.NewClient(b.cl).DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	kafkatest.Until(t, "no series of the topic is left", func() bool { return len(samples(t, address, `.*topic="`+topic+`.*`)) == 0 })
	kafkatest.Until(t, "watch has no age of it", func() bool { _, ok := seen(); return !ok })
	kafkatest.CreateTopic(t, b.cl, topic, 1)
	aged(1, 1, 1, 1)
	old := 0
	kafkatest.Until(t, "serve and watch know the new topic", func() bool {
		a, okA := served()
		w, okW := seen()
		if a > 1.5 || w > 1.5 {
			old++
		}
		return okA && okW && a >= 1 && w >= 1
	})
	if old > 0 {
		t.Errorf("%d times the age was of the records of the topic before", old)
	}
	if got := samples(t, address, `koffset_topic_partition_log_start_offset\{.*topic="`+topic+`".* 0`); len(got) != 1 {
		t.Errorf("log start: %v", got)
	}
}

// Brokers that go away and come back leave nothing behind in serve and watch: no goroutine, no descriptor, no memory.
func TestMonitorsWhileBrokersComeAndGo(t *testing.T) {
	k := real.Trio(t)
	cl, topic := k.Client(t), "leaks"
	kafkatest.CreateTopic(t, cl, topic, 3)
	kafkatest.Produce(t, cl, kafkatest.Records(topic, 0, 10, kafkatest.F1Start, 1)...)
	kafkatest.Commit(t, cl, topic, kafkatest.At(topic, 0, 4), kafkatest.At(topic, 1, 0), kafkatest.At(topic, 2, 0))
	broker := []string{"-b", k.Bootstrap(), "--timeout", "3s"}
	serve := keep(t, slices.Concat(broker, []string{"serve", topic, "--listen", "127.0.0.1:0", "--interval", "100ms"})...)
	watch := keep(t, slices.Concat(broker, []string{"watch", topic, "-o", "jsonl", "--interval", "100ms"})...)
	address := serve.address()
	up := func(want string, failed bool) {
		t.Helper()
		kafkatest.Until(t, "koffset_up is "+want+", and watch knows", func() bool {
			w, ok := watch.last()
			return ok && (w.Error != nil) == failed && len(samples(t, address, "koffset_up "+want)) == 1
		})
	}
	round := func() {
		up("1", false)
		for _, p := range k.Proxies() {
			p.Refuse()
		}
		up("0", true)
		for _, p := range k.Proxies() {
			kafkatest.Until(t, "the port is free again", func() bool { return p.Resume() == nil })
		}
		up("1", false)
	}
	round()
	before := usedNow(t)
	for range 2 {
		began := time.Now()
		round()
		t.Logf("a round of %s", time.Since(began))
	}
	var after used
	kafkatest.Until(t, "nothing is left behind", func() bool {
		after = usedNow(t)
		return after.goroutines <= before.goroutines+12 && after.files <= before.files+8 && after.heap <= before.heap+8<<20
	})
	t.Logf("before %+v, after two more %+v", before, after)
}

// used is what this process has.
type used struct {
	goroutines, files int
	heap              uint64
}

func usedNow(t *testing.T) used {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return used{runtime.NumGoroutine(), len(fds), m.HeapAlloc}
}
