package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// commitChunk is how many groups one OffsetFetch asks for. One request for everything makes a reply of 20 bytes an offset
// in one piece, which passes kgo's read limit near five million offsets and then fails for every group at once; fifty
// groups a request cost the same bytes in total and keep what is in memory small.
const commitChunk = 50

// Commits are one group's stored offsets. They are held compactly: 24 bytes a partition, so that ten million of them
// need a quarter of a gigabyte and not four.
type Commits struct {
	Group  string
	Topics []TopicCommits // sorted by topic
	// Err is why the group could not be read; Topics is empty then.
	Err error
}

// TopicCommits are a group's stored offsets on one topic, sorted by partition.
type TopicCommits struct {
	Topic string
	Rows  []CommitRow
}

// CommitRow is one stored offset.
type CommitRow struct {
	Offset      int64
	Partition   int32
	LeaderEpoch int32 // -1 for unknown: read it through Committed
	extra       *commitExtra
}

type commitExtra struct {
	metadata string
	unstable bool
	err      error
}

// Committed is the stored offset, nil where there is none.
func (r CommitRow) Committed() *offset.Committed {
	if !r.has() {
		return nil
	}
	c := r.value()
	return &c
}

func (r CommitRow) has() bool {
	return r.extra == nil || r.extra.err == nil && !(r.extra.unstable && r.Offset == noOffset)
}

func (r CommitRow) value() offset.Committed {
	c := offset.Committed{Offset: r.Offset, LeaderEpoch: offset.EpochOf(r.LeaderEpoch)}
	if r.extra != nil {
		c.Metadata = r.extra.metadata
	}
	return c
}

// Unstable says that a transaction holds a commit for the partition that is neither final nor void yet.
func (r CommitRow) Unstable() bool { return r.extra != nil && r.extra.unstable }

// Err is the broker's error for this partition.
func (r CommitRow) Err() error {
	if r.extra == nil {
		return nil
	}
	return r.extra.err
}

const noOffset = -1 // Kafka's marker for "no commit"; it does not leave this file

// Find returns the row of a partition.
func (c Commits) Find(p offset.Partition) (CommitRow, bool) {
	rows := c.on(p.Topic)
	j, ok := slices.BinarySearchFunc(rows, p.Partition, func(r CommitRow, n int32) int { return int(r.Partition - n) })
	if !ok {
		return CommitRow{}, false
	}
	return rows[j], true
}

// on are the rows of a topic.
func (c Commits) on(topic string) []CommitRow {
	i, ok := slices.BinarySearchFunc(c.Topics, topic, func(t TopicCommits, topic string) int { return strings.Compare(t.Topic, topic) })
	if !ok {
		return nil
	}
	return c.Topics[i].Rows
}

// Len is the number of stored offsets.
func (c Commits) Len() int {
	n := 0
	for _, t := range c.Topics {
		n += len(t.Rows)
	}
	return n
}

// Saved are the group's commits as offsets for another reader, read now from the cluster that they are used on. A commit that
// an open transaction may still change or take back is marked.
func (c Commits) Saved(clusterID string, now time.Time) offset.Saved {
	s := offset.Saved{Origin: offset.Origin{From: "group " + offset.NameText(c.Group), ClusterID: clusterID, At: now, Live: true}, Offsets: map[offset.Partition]offset.Foreign{}}
	for _, t := range c.Topics {
		for _, r := range t.Rows {
			p := offset.Partition{Topic: t.Topic, Partition: r.Partition}
			switch m := r.Committed(); {
			case m != nil:
				s.Offsets[p] = offset.Foreign{Committed: *m, Provisional: r.Unstable()}
			case r.Unstable():
				s.Offsets[p] = offset.Foreign{Provisional: true, NoValue: true}
			}
		}
	}
	return s
}

// ReadCommits reads every stored offset of the groups and returns them in the order of the names. A group that could not
// be read has its Err. A group that does not exist has no rows and no error, since the broker answers so: whether it
// exists is told by Describe. Topics that may not be described are left out by the broker without a word.
//
// It reads with RequireStable, so that a commit inside an open transaction is noticed (the broker answers
// UNSTABLE_OFFSET_COMMIT at once, it does not block), and reads the value of such partitions again without it.
func ReadCommits(ctx context.Context, cl *kgo.Client, groups []string) []Commits {
	return readCommits(ctx, cl, groups, nil, nil)
}

// coordinatorsOf are the coordinators that the list of groups told.
func coordinatorsOf(groups []Group) map[string]int32 {
	hints := make(map[string]int32, len(groups))
	for _, g := range groups {
		if g.Listed {
			hints[g.Name] = g.Coordinator
		}
	}
	return hints
}

// readCommits is ReadCommits with the coordinators that the list of groups told, and a wait that is shared with others.
func readCommits(ctx context.Context, cl *kgo.Client, groups []string, hints map[string]int32, p *patience) []Commits {
	r := commitReader{cl: cl, out: make(map[string]*Commits, len(groups)), names: map[string]string{}, single: map[int32]bool{}}
	for _, g := range groups {
		r.out[g] = &Commits{Group: g}
	}
	a := asker{cl: cl, chunk: commitChunk, hints: hints, reads: true, p: p, ask: r.read, fail: r.fail}
	a.run(ctx, groups)
	out := make([]Commits, len(groups))
	for i, g := range groups {
		out[i] = *r.out[g]
	}
	return out
}

// ReadCommitsOf is ReadCommits for one group; its Err is returned as the error.
func ReadCommitsOf(ctx context.Context, cl *kgo.Client, group string) (Commits, error) {
	c := ReadCommits(ctx, cl, []string{group})[0]
	return c, c.Err
}

type commitReader struct {
	cl     *kgo.Client
	mu     sync.Mutex
	out    map[string]*Commits
	names  map[string]string // one copy of each topic name, not one a group
	single map[int32]bool    // brokers that take one group a request
}

func (r *commitReader) fail(group string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out[group].Err = err
	r.out[group].Topics = nil
}

// offsetFetchV9 keeps the request below version 10, which names topics by id: the ids of topics that are gone, or that
// may not be described, cannot be turned back into names, and kgo would ask for the metadata of every topic of every group
// again to try.
type offsetFetchV9 struct{ *kmsg.OffsetFetchRequest }

func (offsetFetchV9) MaxVersion() int16 { return 9 }

func (r *commitReader) read(ctx context.Context, node int32, groups []string) map[string]error {
	resps, errs := r.fetch(ctx, node, groups, true)
	var unstable []string
	for _, g := range resps {
		if r.fold(g) {
			unstable = append(unstable, g.Group)
		}
	}
	if len(unstable) > 0 {
		again, moreErrs := r.fetch(ctx, node, unstable, false)
		for _, g := range again {
			r.fillUnstable(g)
		}
		for g, err := range moreErrs {
			errs[g] = err
		}
	}
	return errs
}

// fetch asks one broker. Brokers before 3.0 take one group a request: such a one is found out by the version of its answer,
// which spares every other broker a question about its versions.
func (r *commitReader) fetch(ctx context.Context, node int32, groups []string, stable bool) ([]kmsg.OffsetFetchResponseGroup, map[string]error) {
	if r.takesOne(node) {
		return r.fetchEach(ctx, node, groups, stable)
	}
	// Raw: kadm gives up where no coordinator is there yet, and version 10 cannot name the topic of a commit whose topic is gone.
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = stable
	for _, g := range groups {
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group = g
		req.Groups = append(req.Groups, rg)
	}
	resp, err := requestOnce[*kmsg.OffsetFetchResponse](ctx, r.cl, node, offsetFetchV9{req})
	switch {
	case err != nil:
		return nil, all(groups, err)
	case resp.Version < offsetFetchBatch:
		r.mu.Lock()
		r.single[node] = true
		r.mu.Unlock()
		return r.fetchEach(ctx, node, groups, stable)
	}
	errs := map[string]error{}
	var out []kmsg.OffsetFetchResponseGroup
	answered := map[string]bool{}
	for _, g := range resp.Groups {
		answered[g.Group] = true
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			// kfake says GROUP_ID_NOT_FOUND where a real broker answers with no rows; both mean that nothing is stored.
			if !errors.Is(err, kerr.GroupIDNotFound) {
				errs[g.Group] = err
			}
			continue
		}
		out = append(out, g)
	}
	for _, g := range groups {
		if !answered[g] {
			errs[g] = fmt.Errorf("broker %d left group %q out of its answer", node, g)
		}
	}
	return out, errs
}

// offsetFetchBatch is the version of OffsetFetch that takes several groups (Kafka 3.0).
const offsetFetchBatch = 8

func (r *commitReader) takesOne(node int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.single[node]
}

// fetchEach asks a broker that takes one group a request.
func (r *commitReader) fetchEach(ctx context.Context, node int32, groups []string, stable bool) ([]kmsg.OffsetFetchResponseGroup, map[string]error) {
	errs := map[string]error{}
	var out []kmsg.OffsetFetchResponseGroup
	for _, g := range groups {
		// Raw: as fetch, for brokers that take one group a request.
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.RequireStable = g, stable
		resp, err := requestOnce[*kmsg.OffsetFetchResponse](ctx, r.cl, node, offsetFetchV9{req})
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			errs[g] = err
			continue
		}
		out = append(out, singleGroup(g, resp))
	}
	return out, errs
}

func singleGroup(group string, resp *kmsg.OffsetFetchResponse) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = group, resp.ErrorCode
	for _, t := range resp.Topics {
		gt := kmsg.NewOffsetFetchResponseGroupTopic()
		gt.Topic = t.Topic
		for _, p := range t.Partitions {
			gp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			gp.Partition, gp.Offset, gp.LeaderEpoch, gp.Metadata, gp.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			gt.Partitions = append(gt.Partitions, gp)
		}
		g.Topics = append(g.Topics, gt)
	}
	return g
}

// fold keeps one group's answer and says whether a partition of it is unstable.
func (r *commitReader) fold(g kmsg.OffsetFetchResponseGroup) (unstable bool) {
	topics := make([]TopicCommits, 0, len(g.Topics))
	for _, t := range g.Topics {
		rows := make([]CommitRow, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			row := CommitRow{Offset: p.Offset, Partition: p.Partition, LeaderEpoch: p.LeaderEpoch}
			switch {
			case errors.Is(err, kerr.UnstableOffsetCommit):
				unstable = true
				row.extra = &commitExtra{unstable: true}
			case err != nil:
				row.extra = &commitExtra{err: err}
			case p.Metadata != nil && *p.Metadata != "":
				row.extra = &commitExtra{metadata: *p.Metadata}
			}
			rows = append(rows, row)
		}
		slices.SortFunc(rows, func(a, b CommitRow) int { return int(a.Partition - b.Partition) })
		topics = append(topics, TopicCommits{Topic: t.Topic, Rows: rows})
	}
	slices.SortFunc(topics, func(a, b TopicCommits) int { return strings.Compare(a.Topic, b.Topic) })
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range topics {
		name, ok := r.names[topics[i].Topic]
		if !ok {
			name = topics[i].Topic
			r.names[name] = name
		}
		topics[i].Topic = name
	}
	r.out[g.Group].Topics = topics
	return unstable
}

// fillUnstable puts the last final value into the rows that fold found unstable. Only this goroutine has the group.
func (r *commitReader) fillUnstable(g kmsg.OffsetFetchResponseGroup) {
	c := r.out[g.Group]
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			i, ok := slices.BinarySearchFunc(c.Topics, t.Topic, func(x TopicCommits, topic string) int { return strings.Compare(x.Topic, topic) })
			if !ok || p.ErrorCode != 0 {
				continue
			}
			rows := c.Topics[i].Rows
			j, ok := slices.BinarySearchFunc(rows, p.Partition, func(x CommitRow, n int32) int { return int(x.Partition - n) })
			if !ok || !rows[j].Unstable() {
				continue
			}
			rows[j].Offset, rows[j].LeaderEpoch = p.Offset, p.LeaderEpoch
			if p.Metadata != nil {
				rows[j].extra.metadata = *p.Metadata
			}
		}
	}
}
