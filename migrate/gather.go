package migrate

// Reading what Translate needs to know about the target. Cheap questions come first, and only rows that they leave open
// are searched for: first the next record, then the last one read, then farther ones.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Mapping says where rows go.
type Mapping struct {
	Topics, Groups Renames
	// MM2Source is the alias that MirrorMaker 2 has for the source: topics that no rule of Topics names are looked for as
	// ALIAS.topic first, and by their own name then (IdentityReplicationPolicy).
	MM2Source string
}

// Query says what to translate, and how.
type Query struct {
	Rows     []Row
	Header   Header // of the export they are from
	Name     string // of its file, for messages
	Mapping  Mapping
	Rules    Rules
	Window   int // records a search compares; 0 is DefaultWindow
	MM2      *MM2
	Table    map[offset.Partition][]Sync // by source partition, sorted
	Phase    Phase                       // bounds one stretch of talk with Kafka; nil sets no bound
	Progress func(done, total int)       // may be nil; called from one goroutine
	// Covers says whether Rows would have those of a source group on a topic, and Partial are source groups whose rows are not all
	// known: sync tells by them what it carried and the source has no more. Without Covers nothing is missing.
	Covers  func(group, topic string) bool
	Partial []string
}

// Item is one row with its place on the target.
type Item struct {
	Row      Row
	Group    string // on the target
	Target   offset.Partition
	TopicID  string // the target topic's
	Logs     Logs   // with the source topic's
	Evidence Evidence
	// Current is what the target group has stored there now, nil where nothing.
	Current *offset.Committed
	// Finished is how many offsets from Current on a share group has finished there; nil where the broker does not tell.
	Finished *int64
	// Unstable says that a transaction holds a commit for it.
	Unstable bool
	// Refresh commits again what is there, before it expires.
	Refresh bool
	// moved is what lies between what sync committed, by that offset, and Current.
	moved map[int64]Between
	Translation
}

// Result is a translated set of rows.
type Result struct {
	ClusterID string
	Items     []*Item // sorted by target group and partition
	// Said is what must be said of the whole export; what is not known about one row is in its translation.
	Said []offset.Finding
}

// target is the cluster that positions are carried to.
type target struct {
	cl      *kgo.Client
	cluster inspect.Cluster
	topics  map[string]inspect.Topic
	log     inspect.Log
	share   map[string]inspect.ShareOffsets // of the share groups that rows go to
	window  int
	from    offset.Comparison // the rows' origin, held against the target
}

func newTarget(cl *kgo.Client, window int) *target {
	if window <= 0 {
		window = DefaultWindow
	}
	return &target{cl: cl, window: window}
}

// TranslateAll reads the evidence from the target cluster and translates every row. The error is set where the target
// cannot be read at all, or where two rows would go to one place; what concerns one row is in its translation.
func TranslateAll(ctx context.Context, cl *kgo.Client, q Query) (*Result, error) {
	t := newTarget(cl, q.Window)
	items, err := t.look(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		i.Evidence.Window = t.window
		i.Evidence.Syncs = q.MM2.Syncs(i.Row.Partition)
		i.Evidence.Table = q.Table[i.Row.Partition]
		if c := i.Row.Committed; c != nil {
			i.Evidence.Checkpoint = q.MM2.Checkpoint(i.Row.Group, i.Target, c.Offset)
		}
	}
	if slices.Contains(q.Rules.Strategies, ByRecord) {
		if err := t.search(ctx, items, q); err != nil {
			return nil, err
		}
	}
	for _, i := range items {
		i.Translation = Translate(i.Row, i.Evidence, q.Rules)
	}
	res := &Result{ClusterID: t.cluster.ID, Items: items}
	for _, f := range t.from.Said() {
		if f.Mismatch == offset.Unsealed {
			res.Said = append(res.Said, f)
		}
	}
	return res, nil
}

// look reads everything but the searches: a few requests a broker.
func (t *target) look(ctx context.Context, q Query) ([]*Item, error) {
	ctx, cancel := q.Phase.begin(ctx, "read the target")
	defer cancel()
	var err error
	if t.cluster, err = inspect.ReadCluster(ctx, t.cl); err != nil {
		return nil, err
	}
	items, err := t.place(ctx, q)
	if err != nil {
		return nil, err
	}
	t.readCommits(ctx, items)
	t.readBounds(ctx, items)
	t.finish(items)
	if slices.Contains(q.Rules.Strategies, Same) {
		t.readSame(ctx, items)
	}
	if slices.Contains(q.Rules.Strategies, ByTimestamp) {
		t.readNextTimes(ctx, items)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return items, nil
}

// place names each row's group and partition on the target and reads the topics' metadata.
func (t *target) place(ctx context.Context, q Query) ([]*Item, error) {
	names := map[string]bool{}
	for _, r := range q.Rows {
		to, ruled := q.Mapping.Topics.Apply(r.Topic)
		names[to] = true
		if !ruled && q.Mapping.MM2Source != "" {
			names[q.Mapping.MM2Source+"."+to] = true
		}
	}
	var err error
	if t.topics, err = inspect.ReadTopics(ctx, t.cl, slices.AppendSeq([]string{}, maps.Keys(names))); err != nil {
		return nil, err
	}
	t.from = t.origin(q)
	type key struct {
		group string
		offset.Partition
	}
	taken := map[key]*Item{}
	sources := map[string]string{}
	for _, topic := range q.Header.Topics {
		sources[topic.Name] = topic.ID
	}
	items := make([]*Item, 0, len(q.Rows))
	for _, r := range q.Rows {
		i := &Item{Row: r, Target: r.Partition}
		i.Group, _ = q.Mapping.Groups.Apply(r.Group)
		to, ruled := q.Mapping.Topics.Apply(r.Topic)
		if mm2 := q.Mapping.MM2Source + "." + to; !ruled && q.Mapping.MM2Source != "" && t.topics[mm2].Err == nil {
			to = mm2
		}
		i.Target.Topic = to
		k := key{i.Group, i.Target}
		if other := taken[k]; other != nil {
			return nil, &ConflictError{Group: i.Group, Partition: i.Target, First: other.Row, Second: r}
		}
		taken[k] = i
		i.Evidence.Err = t.check(q.Header, i)
		i.TopicID = t.topics[to].TopicID()
		i.Logs = Logs{Source: sources[r.Topic], Target: i.TopicID}
		items = append(items, i)
	}
	sortItems(items)
	return items, nil
}

// origin holds the rows to the target by the rule that all offsets from elsewhere are held to. Here nothing is refused by it:
// another log is what rows are translated to, and a row that cannot be is unresolved.
func (t *target) origin(q Query) offset.Comparison {
	used := make(map[offset.Partition]offset.Foreign, len(q.Rows))
	for _, r := range q.Rows {
		used[r.Partition] = offset.Foreign{Provisional: r.Provisional}
	}
	return q.Header.Origin(q.Name).Compare(inspect.Here(t.cluster.ID, t.topics), used, offset.AllowOrigin{offset.OtherCluster, offset.OtherTopic, offset.Provisional})
}

func sortItems(items []*Item) {
	slices.SortFunc(items, func(a, b *Item) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		return a.Target.Compare(b.Target)
	})
}

// ConflictError says that two rows of the source would become one on the target.
type ConflictError struct {
	Group     string
	Partition offset.Partition
	First     Row
	Second    Row
}

// ErrorKind is always usage.
func (e *ConflictError) ErrorKind() offset.ErrorKind { return offset.KindUsage }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("group %s on %s and group %s on %s would both become group %s on %s", offset.NameText(e.First.Group), e.First.Partition,
		offset.NameText(e.Second.Group), e.Second.Partition, offset.NameText(e.Group), e.Partition)
}

// check says why a row's topic cannot take it, and fills in what is known about the two clusters.
func (t *target) check(h Header, i *Item) error {
	topic := t.topics[i.Target.Topic]
	source, known := h.Topic(i.Row.Topic)
	e := &i.Evidence
	e.SameCluster = h.ClusterID != "" && h.ClusterID == t.cluster.ID
	switch {
	case i.Target != i.Row.Partition:
		e.Renamed = e.SameCluster
	case t.from.Same(i.Row.Topic):
		e.SameTopic = true
	case t.from.OtherTopic(i.Row.Topic):
		e.Recreated = e.SameCluster
	}
	switch {
	case errors.Is(topic.Err, kerr.UnknownTopicOrPartition):
		return &NoTopicError{Topic: i.Target.Topic}
	case topic.Err != nil:
		return fmt.Errorf("topic %s: %w", i.Target.Topic, topic.Err)
	case known && source.Partitions > 0 && source.Partitions != len(topic.Partitions):
		return &PartitionsError{Topic: i.Row.Topic, Source: source.Partitions, TargetTopic: i.Target.Topic, Target: len(topic.Partitions)}
	}
	return topic.PartitionErr(i.Target.Partition)
}

// NoTopicError says that a topic is not on the target. A broker that hides one answers another error.
type NoTopicError struct{ Topic string }

func (e *NoTopicError) Error() string {
	return fmt.Sprintf("topic %s does not exist on the target, or may not be described there", e.Topic)
}

// PartitionsError says that a topic has another number of partitions on the target.
type PartitionsError struct {
	Topic, TargetTopic string
	Source, Target     int
}

func (e *PartitionsError) Error() string {
	return fmt.Sprintf("topic %s has %s at the source and %d on the target (%s): a record's partition is another one there",
		e.Topic, text.Plural(e.Source, "partition"), e.Target, e.TargetTopic)
}

func (t *target) readCommits(ctx context.Context, items []*Item) {
	var groups, share []string
	for n, i := range items {
		switch {
		case n > 0 && items[n-1].Group == i.Group:
		case i.Row.Share:
			share = append(share, i.Group)
		default:
			groups = append(groups, i.Group)
		}
	}
	t.readShare(ctx, share, items)
	commits := map[string]inspect.Commits{}
	for _, c := range inspect.ReadCommits(ctx, t.cl, groups) {
		commits[c.Group] = c
	}
	for _, i := range items {
		if i.Row.Share {
			continue
		}
		c := commits[i.Group]
		if c.Err != nil {
			i.Evidence.Err = fmt.Errorf("group %s: %w", offset.NameText(i.Group), c.Err)
		}
		if row, ok := c.Find(i.Target); ok {
			i.Current, i.Unstable = row.Committed(), row.Unstable()
		}
	}
}

func (t *target) readBounds(ctx context.Context, items []*Item) {
	parts := inspect.Partitions{}
	for _, i := range items {
		if i.Evidence.Err == nil {
			parts.Add(i.Target)
		}
	}
	parts.Compact()
	t.log = inspect.ReadBounds(ctx, t.cl, parts)
	for _, i := range items {
		if i.Evidence.Err != nil {
			continue
		}
		l, _ := t.log.At(i.Target)
		if l.Err != nil {
			i.Evidence.Err = l.Err
			continue
		}
		b := l.Bounds
		i.Evidence.Bounds = &b
	}
}

// readSame reads the target's records at the offsets that the fingerprints have at the source, and the first one that lies where
// the source has none between them and the position.
func (t *target) readSame(ctx context.Context, items []*Item) {
	var walks []records.Walk
	var of []*Item
	for _, i := range items {
		e, a := &i.Evidence, i.Row.Around
		if e.Err != nil || e.Bounds == nil || a == nil || e.SameTopic || e.Recreated || e.Renamed {
			continue
		}
		want := map[int64]bool{}
		low, high := int64(-1), int64(-1)
		for _, f := range a.Sought() {
			if f.Offset < e.Bounds.Start || f.Offset >= e.Bounds.End {
				continue
			}
			want[f.Offset] = true
			if low < 0 || f.Offset < low {
				low = f.Offset
			}
			high = max(high, f.Offset)
		}
		if low < 0 {
			continue
		}
		e.AtSame = map[int64]Fingerprint{}
		from, until := i.Row.gap()
		filled := false
		span := records.Span{Partition: i.Target, From: min(low, max(from, e.Bounds.Start)), Until: max(high+1, min(until, e.Bounds.End))}
		walks = append(walks, records.Walk{Span: span, Bytes: searchBytes, Visit: func(r records.Record) bool {
			inGap := r.Offset >= from && r.Offset < until
			if want[r.Offset] || inGap && !filled {
				e.AtSame[r.Offset] = fingerprintOf(r)
			}
			filled = filled || inGap
			return true
		}})
		of = append(of, i)
	}
	for n, end := range t.reader().Walk(ctx, walks) {
		if end.Err != nil {
			of[n].Evidence.AtSame = nil // the other strategies will say what is wrong
		}
	}
}

func (t *target) reader() records.Reader {
	return records.Reader{Client: t.cl, Isolation: offset.ReadUncommitted}
}

func (t *target) readNextTimes(ctx context.Context, items []*Item) {
	var asks []*ask
	for _, i := range items {
		if e, a := &i.Evidence, i.Row.Around; e.Err == nil && a != nil && !a.EarliestUnread.IsZero() {
			asks = append(asks, &ask{part: i.Target, at: a.EarliestUnread, set: func(l inspect.Lookup) { e.NextTime = l.Record }})
		}
	}
	lookupTimes(ctx, t.cl, asks)
}

// search reads the stretches that hold the records around the positions.
func (t *target) search(ctx context.Context, items []*Item, q Query) error {
	var open []*Item
	for _, i := range items {
		if i.wantsSearch(q.Rules) {
			open = append(open, i)
		}
	}
	done := len(items) - len(open)
	for part := range slices.Chunk(open, searchBatch) {
		if q.Progress != nil {
			q.Progress(done, len(items))
		}
		round, cancel := q.Phase.begin(ctx, "find the records on the target")
		t.searchBatch(round, part)
		err := context.Cause(round)
		cancel()
		if err != nil {
			return err
		}
		done += len(part)
	}
	if q.Progress != nil {
		q.Progress(done, len(items))
	}
	round, cancel := q.Phase.begin(ctx, "look up times on the target")
	defer cancel()
	t.readUnread(round, open)
	t.readElsewhere(round, items)
	return context.Cause(round)
}

// searchBatch is how many positions are searched for at once.
const searchBatch = 4096

// searchBatch searches from the earliest time of a position's records on, and where that lies too far back, from later ones.
func (t *target) searchBatch(ctx context.Context, items []*Item) {
	for try := 0; len(items) > 0 && try < searchTries; try++ {
		searches := make([]*search, 0, len(items))
		for _, i := range items {
			searches = append(searches, newSearch(i.Target, i.Row.Around, t.window))
		}
		t.stretches(ctx, searches, func(s *search) time.Time { return since(s.a, try) })
		var again []*Item
		for n, i := range items {
			i.Evidence.Stretch = searches[n].got
			if s := searches[n].got; s.Err == nil && !s.AtEnd && !s.Stamped {
				if _, settled := decide(i.Row, i.Evidence); !settled {
					again = append(again, i)
				}
			}
		}
		items = again
	}
}

// searchTries is how many times of a position's records are tried.
const searchTries = 3

// since is the time from which a try searches: of the earliest record, of the last one read, of the next one.
func since(a *Surroundings, try int) time.Time {
	all := times(a)
	switch {
	case len(all) == 0:
		return time.Time{}
	case try == 1 && len(a.Before) > 0 && !a.Before[0].Time.IsZero():
		return a.Before[0].Time
	case try == 2 && len(a.At) > 0 && !a.At[0].Time.IsZero():
		return a.At[0].Time
	}
	return all[0]
}

// readUnread asks, for rows that look-alikes leave open, for the first record as late as any unread one.
func (t *target) readUnread(ctx context.Context, items []*Item) {
	var asks []*ask
	for _, i := range items {
		e, a := &i.Evidence, i.Row.Around
		if e.Err != nil || e.Stretch == nil || !a.UnreadTimes || a.EarliestUnread.IsZero() {
			continue
		}
		if _, settled := decide(i.Row, *e); !settled {
			asks = append(asks, &ask{part: i.Target, at: a.EarliestUnread, set: func(l inspect.Lookup) { e.Unread = l.Record }})
		}
	}
	lookupTimes(ctx, t.cl, asks)
}

// wantsSearch says that the strategies before record leave the row open, and that there is something to search for.
func (i *Item) wantsSearch(rules Rules) bool {
	r, e := i.Row, i.Evidence
	if r.Committed == nil || r.Gone || r.Around == nil || e.Err != nil || e.Bounds == nil || len(r.Around.At)+len(r.Around.Before) == 0 {
		return false
	}
	x := translator{r: r, e: e, p: r.Committed.Offset, rules: rules}
	if x.outside() != "" {
		return false
	}
	for _, s := range rules.Strategies {
		if s == ByRecord {
			break
		}
		rules.Strategies = []Strategy{s}
		if Translate(r, e, rules).Resolved() {
			return false
		}
	}
	return true
}
