//go:build realkafka

package cmd_test

// Everything moves while koffset looks, writes, carries and reads: what it says is right, or it says that it does not know, and
// no command takes longer than it was given.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/kafkatest"
)

// movesBed is awayBed with a group that only looks and one that is moved; the world stays as newAway made it: 10 records on each of
// three partitions, commits at 4, 5 and 6.
type movesBed struct {
	*awayBed
	adm   *kadm.Client
	dir   string
	still string // its commits stay
	moved string
	probe string // of the same partition of the offsets topic as moved
	to    int64  // where moved was put last
	what  string
}

// movesTimeout is what each phase of a command may take, movesMost a whole command: it connects, reads, writes and reads back.
const movesTimeout, movesMost = 15 * time.Second, 40 * time.Second

func TestMovesUnderEveryVerb(t *testing.T) {
	b := &movesBed{awayBed: newAway(t, "moving"), dir: t.TempDir()}
	b.adm, b.still, b.moved = kadm.NewClient(b.cl), b.groups[1], b.groups[2]
	for n := 0; b.probe == "" || history.PartitionOf(b.probe, offsetsPartitions) != history.PartitionOf(b.moved, offsetsPartitions); n++ {
		b.probe = fmt.Sprintf("probe-%d", n)
	}
	b.adm.SetTimeoutMillis(2000)
	for _, event := range []struct {
		name string
		once func(ctx context.Context, n int)
	}{
		{"leader elections", b.electLeaders},
		{"coordinator moves", b.moveCoordinators},
		{"reassignments", b.reassign},
		{"partitions added", b.addPartitions},
	} {
		t.Run(event.name, func(t *testing.T) {
			b.t, b.what = t, event.name
			before := b.epochs()
			stop := shake(event.once)
			for _, verb := range []struct {
				name string
				do   func()
			}{
				{"inspect", b.inspect}, {"resolve", b.resolve}, {"reset dry", b.resetDry}, {"reset and undo", b.resetAndUndo},
				{"delete", b.deleteAndUndo}, {"migrate", b.migrate}, {"consume", b.consume}, {"watch", b.watch}, {"serve", b.serve},
			} {
				start := time.Now()
				verb.do()
				t.Logf("%s: %s", verb.name, time.Since(start).Round(10*time.Millisecond))
			}
			stop()
			if after := b.epochs(); after == before {
				t.Errorf("nothing moved: %s", after)
			}
		})
	}
	b.t = t
	for n := range int32(offsetsPartitions) {
		kafkatest.Replicas(t, b.cl, offsetsTopic, n, ringFrom(n)...)
	}
}

// shake does something again and again until it is stopped.
func shake(once func(ctx context.Context, n int)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				once(ctx, n)
			}
		}
	})
	return func() { cancel(); over.Wait() }
}

// epochs are the leader epochs and numbers of partitions of the topics that move.
func (b *movesBed) epochs() string {
	topics, err := b.adm.ListTopicsWithInternal(b.t.Context(), b.topic, offsetsTopic)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			out = append(out, fmt.Sprintf("%s:%d epoch %d on %v", t.Topic, p.Partition, p.LeaderEpoch, p.Replicas))
		}
	}
	return strings.Join(out, "\n")
}

// lead puts partitions on nodes and has the first of them elected; what fails is tried again in the next round.
func (b *movesBed) lead(ctx context.Context, topic string, partitions int32, nodes func(p int32) []int32) {
	var req kadm.AlterPartitionAssignmentsReq
	set := kadm.TopicsSet{}
	for p := range partitions {
		req.Assign(topic, p, nodes(p))
		set.Add(topic, p)
	}
	_, _ = b.adm.AlterPartitionAssignments(ctx, req)
	_, _ = b.adm.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
}

func (b *movesBed) electLeaders(ctx context.Context, n int) {
	b.lead(ctx, b.topic, 3, func(p int32) []int32 { return ringFrom(p + int32(n)) })
}

func (b *movesBed) moveCoordinators(ctx context.Context, n int) {
	if n%5 == 1 { // a coordinator loads its groups before it answers
		b.lead(ctx, offsetsTopic, offsetsPartitions, func(p int32) []int32 { return ringFrom(p + int32(n/5)) })
	}
}

func (b *movesBed) reassign(ctx context.Context, n int) {
	b.lead(ctx, b.topic, 3, func(p int32) []int32 { return ringFrom(p + int32(n))[:2] })
}

func (b *movesBed) addPartitions(ctx context.Context, n int) {
	if n%10 == 1 {
		_, _ = b.adm.CreatePartitions(ctx, 1, b.topic)
	}
}

// say runs a command that may end with one of the statuses.
func (b *movesBed) say(codes []int, args ...string) lineEnd {
	b.t.Helper()
	r := runLine(b.t, append([]string{"-b", b.kafka.Bootstrap(), "--timeout", movesTimeout.String(), "--state-dir", b.dir}, args...)...)
	if !slices.Contains(codes, r.code) {
		b.t.Errorf("koffset %s: exit status %d, want one of %v\n%s%s", strings.Join(args, " "), r.code, codes, r.out, r.err)
	}
	if r.took > movesMost {
		b.t.Errorf("koffset %s: it took %s", strings.Join(args, " "), r.took)
	}
	if slices.Contains(args, "json") && r.out != "" {
		if err := json.Unmarshal([]byte(r.out), &r.shown); err != nil {
			b.t.Errorf("koffset %s: %v\n%s", strings.Join(args, " "), err, r.out)
		}
	}
	return r
}

var looked, wrote = []int{0, 4}, []int{0, 3, 4, 6}

func (b *movesBed) inspect() {
	for range 4 {
		r := b.say(looked, "inspect", b.still, "-o", "json")
		known, added := 0, 0 // added are those whose leader is not there yet
		for _, p := range r.Partitions {
			want := int64(4) + int64(p.Partition)
			switch {
			case p.Status == "error" && p.Partition > 2:
				added++
			case p.Status == "error":
			case p.Partition > 2 && (p.Committed != nil || p.End == nil || *p.End != 0):
				b.t.Errorf("a partition that was added: %+v", p)
			case p.Partition <= 2 && (p.Committed == nil || *p.Committed != want || p.Start == nil || *p.Start != 0 || p.End == nil || *p.End != 10 || *p.Lag != 10-want):
				b.t.Errorf("%+v, committed %s", p, dash(p.Committed))
			case p.Partition <= 2:
				known++
			}
		}
		if (known < 3 || added > 0) != (r.code == 4) || r.code == 0 && r.Incomplete {
			b.t.Errorf("%d of 3 partitions are known, exit status %d, incomplete %t\n%s%s", known, r.code, r.Incomplete, r.out, r.err)
		}
		all := b.say(looked, "inspect", "--group-match", b.topic+"-g.*", "-o", "json")
		fine, failed := b.mine(all)
		if missing := len(b.groups) - 1 - len(fine) - len(failed); missing > 0 && (all.code == 0 || !all.Incomplete) {
			b.t.Errorf("%d groups are missing, exit status %d, incomplete %t\n%s%s", missing, all.code, all.Incomplete, all.out, all.err)
		}
	}
}

func (b *movesBed) resolve() {
	for range 4 {
		r := b.say(looked, "resolve", b.topic+":0-2", "--to", "latest", "-o", "json")
		known := 0
		for _, p := range r.Partitions {
			switch {
			case p.Error != "":
			case p.Offset == nil || *p.Offset != 10:
				b.t.Errorf("%+v", p)
			default:
				known++
			}
		}
		if (known == 3) != (r.code == 0) {
			b.t.Errorf("%d of 3 are known, exit status %d\n%s%s", known, r.code, r.out, r.err)
		}
	}
}

// planned is the JSON of what plans and executes.
type planned struct {
	Changes []struct {
		Group, Topic, Result, Error string
		Partition                   int32
		From                        *int64 `json:"from_offset"`
		To                          *int64 `json:"to_offset"`
	}
}

func (b *movesBed) plan(r lineEnd) (out planned) {
	b.t.Helper()
	if r.out != "" {
		if err := json.Unmarshal([]byte(r.out), &out); err != nil {
			b.t.Errorf("%v\n%s", err, r.out)
		}
	}
	return out
}

func (b *movesBed) resetDry() {
	for range 2 {
		r := b.say(wrote, "reset", b.still, "--topic", b.topic+":0-2", "--to", "9", "-o", "json")
		rows := b.plan(r).Changes
		for _, c := range rows {
			if c.Error == "" && (c.From == nil || *c.From != 4+int64(c.Partition) || c.To == nil || *c.To != 9) {
				b.t.Errorf("%+v", c)
			}
		}
		if r.code == 0 && len(rows) != 3 {
			b.t.Errorf("%d rows\n%s%s", len(rows), r.out, r.err)
		}
	}
}

// stored are the commits of moved on the three partitions.
func (b *movesBed) stored() map[int32]int64 {
	return kafkatest.AgreedOffsets(b.t, b.cl, ringFrom(0), b.moved, b.probe, b.topic)
}

// held looks whether what a write said of its rows, of which there are so many at least, is what is stored now.
func (b *movesBed) held(r lineEnd, before map[int32]int64, least int) (done bool) {
	b.t.Helper()
	now := b.stored()
	if r.code == 3 || r.code == 6 {
		if !maps.Equal(before, now) {
			b.t.Errorf("exit status %d, and %v became %v\n%s%s", r.code, before, now, r.out, r.err)
		}
		return false
	}
	rows := b.plan(r).Changes
	for _, c := range rows {
		at, has := now[c.Partition]
		was, had := before[c.Partition]
		switch c.Result {
		case "changed":
			if has != (c.To != nil) || has && at != *c.To {
				b.t.Errorf("partition %d is said to be changed to %s and stands at %d (%t)", c.Partition, dash(c.To), at, has)
			}
		case "failed", "refused":
			if has != had || at != was {
				b.t.Errorf("partition %d is %s, and went from %d to %d", c.Partition, c.Result, was, at)
			}
		}
		if r.code == 0 && c.Result != "changed" && c.Result != "unchanged" {
			b.t.Errorf("exit status 0: %+v", c)
		}
	}
	if r.code == 0 && len(rows) < least {
		b.t.Errorf("%d rows\n%s%s", len(rows), r.out, r.err)
	}
	return r.code == 0
}

func (b *movesBed) resetAndUndo() {
	for range 2 {
		before := b.stored()
		b.to = (b.to + 1) % 10
		if len(before) == 3 && before[0] == b.to && before[1] == b.to && before[2] == b.to {
			b.to++
		}
		b.undone(b.say(wrote, "reset", b.moved, "--topic", b.topic+":0-2", "--to", strconv.FormatInt(b.to, 10), "--if-no-commit", "earliest", "--execute", "--yes", "-o", "json"), before)
	}
}

// undone undoes what was done, and looks whether everything is as before.
func (b *movesBed) undone(r lineEnd, before map[int32]int64) {
	b.t.Helper()
	if !b.held(r, before, 3) {
		return
	}
	after := b.stored()
	u := b.say(wrote, "undo", "last", "--execute", "--yes", "-o", "json")
	if b.held(u, after, 1) && !maps.Equal(before, b.stored()) {
		b.t.Errorf("%v is undone to %v\n%s%s", before, b.stored(), u.out, u.err)
	}
}

func (b *movesBed) deleteAndUndo() {
	kafkatest.Commit(b.t, b.cl, b.moved, kafkatest.At(b.topic, 0, 1), kafkatest.At(b.topic, 1, 2), kafkatest.At(b.topic, 2, 3))
	before := b.stored()
	b.undone(b.say(wrote, "delete", b.moved, "--topic", b.topic+":0-2", "--execute", "--yes", "-o", "json"), before)
}

func (b *movesBed) migrate() {
	file := filepath.Join(b.dir, b.what+".jsonl")
	_ = os.Remove(file)
	r := b.say(looked, "migrate", "export", b.still, "--out", file)
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	rows := 0
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		var group struct {
			Partitions json.RawMessage // of a topic their number, of a group its rows
		}
		if err := json.Unmarshal(sc.Bytes(), &group); err != nil {
			b.t.Fatalf("%v\n%s", err, sc.Text())
		}
		var list []shownPartition
		if json.Unmarshal(group.Partitions, &list) != nil {
			continue
		}
		for _, p := range list {
			if p.Offset != nil && p.Error == "" {
				rows++
				if *p.Offset != 4+int64(p.Partition) {
					b.t.Errorf("exported %s", sc.Text())
				}
			}
		}
	}
	if r.code == 0 && rows != 3 {
		b.t.Errorf("%d of 3 rows are exported\n%s", rows, data)
	}
	if r.code != 0 {
		return
	}
	before := b.stored()
	in := b.say(append(wrote, 1), "migrate", "import", file, "--map-group", b.still+"="+b.moved, "--allow-rewind", "--execute", "--yes", "-o", "json")
	if now := b.stored(); in.code == 0 && (now[0] != 4 || now[1] != 5 || now[2] != 6) || (in.code == 3 || in.code == 6) && !maps.Equal(before, now) {
		b.t.Errorf("import: exit status %d, %v became %v\n%s%s", in.code, before, now, in.out, in.err)
	}
}

func (b *movesBed) consume() {
	r := b.say([]int{0, 1, 4, 6}, "consume", b.topic, "--from", "earliest", "--until", "latest", "-f", `%p:%o\n`, "-q")
	seen := map[string]bool{}
	next := map[string]int{}
	for line := range strings.Lines(r.out) {
		line = strings.TrimSpace(line)
		p, at, _ := strings.Cut(line, ":")
		if n, err := strconv.Atoi(at); err != nil || n != next[p] || seen[line] {
			b.t.Errorf("record %s, want offset %d", line, next[p])
		}
		seen[line] = true
		next[p]++
	}
	if r.code == 0 && len(seen) != 30 {
		b.t.Errorf("%d records and exit status 0\n%s", len(seen), r.err)
	}
}

func (b *movesBed) watch() {
	r := b.say(looked, "watch", b.still, "--count", "4", "--interval", "300ms", "-o", "jsonl")
	looks := 0
	for line := range strings.Lines(r.out) {
		var look struct {
			Kind   string
			Groups []struct {
				Partitions []shownPartition
			}
		}
		if err := json.Unmarshal([]byte(line), &look); err != nil {
			b.t.Errorf("%v\n%s", err, line)
		}
		if look.Kind != "look" {
			continue
		}
		looks++
		for _, g := range look.Groups {
			for _, p := range g.Partitions {
				if p.Partition <= 2 && (p.Committed != nil && *p.Committed != 4+int64(p.Partition) || p.End != nil && *p.End != 10 || p.Lag != nil && *p.Lag != 6-int64(p.Partition)) {
					b.t.Errorf("%s", line)
				}
			}
		}
	}
	if looks == 0 {
		b.t.Errorf("no look\n%s%s", r.out, r.err)
	}
}

// A topic that is deleted and made anew while koffset works: no offset of the old one is ever left on the new one.
func TestMovesTopicMadeAnew(t *testing.T) {
	b := &movesBed{awayBed: newAway(t, "anew"), dir: t.TempDir()}
	b.adm = kadm.NewClient(b.cl)
	b.adm.SetTimeoutMillis(5000)
	const topic = "anew-again"
	group := topic + "-g"
	remake := func(records int) {
		_, _ = b.adm.DeleteTopics(t.Context(), topic)
		kafkatest.Until(t, "the topic is made", func() bool {
			_, err := b.adm.CreateTopic(t.Context(), 1, 3, nil, topic)
			return err == nil // until then its deletion is not over
		})
		kafkatest.WaitLeaders(t, b.cl, topic, 1)
		kafkatest.Produce(t, b.cl, kafkatest.Records(topic, 0, records, kafkatest.F1Start, 1)...)
	}
	codes := []int{0, 1, 3, 4, 5, 6}
	for n, line := range []string{
		"reset GROUP --topic TOPIC --to latest --if-no-commit earliest --execute --yes -o json",
		"inspect GROUP -o json",
		"reset GROUP --topic TOPIC --to latest --if-no-commit earliest --execute --yes -o json",
		"migrate export GROUP",
		"reset GROUP --topic TOPIC --to latest --if-no-commit earliest --execute --yes -o json",
		"consume TOPIC --from earliest --until latest -g GROUP --auto-commit -q",
		"consume TOPIC --from earliest --until latest -g GROUP --auto-commit -q",
		"watch GROUP --count 3 --interval 100ms -o jsonl",
		"delete GROUP --topic TOPIC --execute --yes -o json",
		"reset GROUP --topic TOPIC --to latest --if-no-commit earliest --execute --yes -o json",
	} {
		remake(10)
		kafkatest.Commit(t, b.cl, group, kafkatest.At(topic, 0, 2))
		var over sync.WaitGroup
		over.Go(func() {
			b.say(codes, strings.Fields(strings.NewReplacer("GROUP", group, "TOPIC", topic).Replace(line))...)
		})
		<-time.NewTimer(time.Duration(n) * 15 * time.Millisecond).C // before, between and after what it asks
		remake(3)
		over.Wait()
		if at, ok := kafkatest.CommittedOffsets(t, b.cl, group, topic)[0]; ok && at > 3 {
			t.Errorf("%s: the group stands at %d of a topic with 3 records", line, at)
		}
	}
}
