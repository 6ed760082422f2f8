package migrate

// Reading where groups stand, and what is there.

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
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// ExportOptions say what an export holds.
type ExportOptions struct {
	// Groups are the groups to export, as the list has them. Of share groups their start offsets are exported.
	Groups []inspect.Group
	// Topics restricts the rows; nil is every topic that a group has commits on.
	Topics *offset.Matcher
	// Fingerprints reads the records around each position.
	Fingerprints bool
	// RequireIdle refuses groups that have members: their commits move on while they are carried.
	RequireIdle bool
	// LookAhead is how many records after a position are searched for look-alikes; 0 is DefaultLookAhead.
	LookAhead int
	// Expect are topics that must be among those that the groups have commits on. Brokers leave topics that may not be
	// described out of their answers without a word.
	Expect []string
	// Phase bounds one stretch of talk with Kafka; nil sets no bound.
	Phase Phase
	// CreatedAt and Version go into the header.
	CreatedAt time.Time
	Version   string
}

// Phase bounds one stretch of talk with Kafka. what names it in the error of a context that ended.
type Phase func(ctx context.Context, what string) (context.Context, context.CancelFunc)

func (p Phase) begin(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	if p == nil {
		return context.WithCancel(ctx)
	}
	return p(ctx, what)
}

// Sink takes an export as it is read.
type Sink struct {
	Begin func(Header) error
	Group func(Group) error
}

// exportBatch is how many rows get their fingerprints together: enough to fill the requests, few enough for the memory.
const exportBatch = 4096

// ReadGroups reads the groups and hands them to the sink, sorted by name. incomplete says that something could not be
// read: it is in the groups and rows as such. The error is the sink's, or set where nothing could be read.
func ReadGroups(ctx context.Context, cl *kgo.Client, o ExportOptions, to Sink) (incomplete bool, err error) {
	snapshot, cancel := o.Phase.begin(ctx, "read the groups")
	defer cancel()
	cluster, err := inspect.ReadCluster(snapshot, cl)
	if err != nil {
		return true, err
	}
	snap, err := inspect.Read(snapshot, cl, inspect.Query{Groups: o.Groups, Topics: o.Topics})
	if err == nil && snapshot.Err() != nil {
		err = context.Cause(snapshot) // the rows would all say so
	}
	if err != nil {
		return true, err
	}
	cancel()
	if err := o.check(snap); err != nil {
		return true, err
	}
	h := Header{CreatedAt: o.CreatedAt, Version: o.Version, ClusterID: cluster.ID, Fingerprints: o.Fingerprints, Source: "groups", Topics: topicsOf(snap.Topics)}
	if err := to.Begin(h); err != nil {
		return true, err
	}
	var batch []Group
	rows := 0
	flush := func() error {
		if o.Fingerprints {
			records, cancel := o.Phase.begin(ctx, "read the records around the positions")
			printRows(records, cl, h, snap.Log, batch, o.LookAhead)
			err := records.Err()
			if err != nil {
				err = context.Cause(records)
			}
			cancel()
			if err != nil {
				return err
			}
		}
		for _, g := range batch {
			incomplete = incomplete || g.incomplete()
			if err := to.Group(g); err != nil {
				return err
			}
		}
		batch, rows = batch[:0], 0
		return nil
	}
	for _, d := range snap.Groups {
		g := groupOf(snap, d)
		batch, rows = append(batch, g), rows+len(g.Rows)
		if rows >= exportBatch {
			if err := flush(); err != nil {
				return true, err
			}
		}
	}
	if err := flush(); err != nil {
		return true, err
	}
	return incomplete, nil
}

// LiveError says that groups have members, and RequireIdle was asked for.
type LiveError struct {
	Groups []string // with who is in them
}

// ErrorKind is always refused.
func (e *LiveError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func (e *LiveError) Error() string {
	shown := strings.Join(e.Groups[:min(5, len(e.Groups))], "; ")
	if n := len(e.Groups) - 5; n > 0 {
		shown += fmt.Sprintf("; and %d more", n)
	}
	return shown
}

// HiddenError says that expected topics are not among those that the groups have commits on, as far as may be seen.
type HiddenError struct{ Topics []string }

// ErrorKind is always not found.
func (e *HiddenError) ErrorKind() offset.ErrorKind { return offset.KindNotFound }

func (e *HiddenError) Error() string {
	return fmt.Sprintf("no group of the export has a visible commit on %s", strings.Join(e.Topics, ", "))
}

func (o ExportOptions) check(snap *inspect.Snapshot) error {
	var live LiveError
	seen := map[string]bool{}
	for _, d := range snap.Groups {
		if d.Active() {
			live.Groups = append(live.Groups, "group "+offset.NameText(d.Name)+": "+reset.Activity(d))
		}
		for _, t := range snap.Commits(d.Name).Topics {
			seen[t.Topic] = true
		}
		for _, r := range snap.Share[d.Name].Rows {
			seen[r.Topic] = seen[r.Topic] || r.Start != nil
		}
	}
	if o.RequireIdle && len(live.Groups) > 0 {
		return &live
	}
	var hidden HiddenError
	for _, t := range o.Expect {
		if !seen[t] || snap.Topics[t].Err != nil {
			hidden.Topics = append(hidden.Topics, t)
		}
	}
	if len(hidden.Topics) > 0 {
		return &hidden
	}
	return nil
}

func (g Group) incomplete() bool {
	return g.Error != "" || slices.ContainsFunc(g.Rows, func(r Row) bool { return r.Error != "" })
}

func topicsOf(topics map[string]inspect.Topic) []Topic {
	out := make([]Topic, 0, len(topics))
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		t := topics[name]
		e := Topic{Name: name, ID: t.TopicID(), Partitions: len(t.Partitions)}
		if t.Err != nil {
			e.Error, e.Partitions = t.Err.Error(), 0
		}
		out = append(out, e)
	}
	return out
}

func groupOf(snap *inspect.Snapshot, d inspect.Description) Group {
	g := Group{Name: d.Name, Type: string(d.Type), State: d.State, Members: len(d.Members), Live: d.Active()}
	if err := snap.GroupErr(d); err != nil {
		g.Error = err.Error()
	}
	share := d.Type == inspect.TypeShare
	committed := map[string]bool{}
	for _, t := range snap.Commits(d.Name).Topics {
		committed[t.Topic] = true
	}
	for r := range snap.Rows(d) {
		if !committed[r.Topic] && !share {
			continue // a member reads it, and nothing was stored
		}
		row := Row{Group: d.Name, Partition: r.Partition, Bounds: r.Bounds, Share: share, Acknowledged: r.Acknowledged}
		switch {
		case r.ShareStart != nil:
			row.Committed = &offset.Committed{Offset: *r.ShareStart}
		case r.Status == inspect.StatusUnstable:
			row.Provisional, row.Error = true, "a transaction that is open holds a commit for it: what is stored then is not known yet"
		case r.Committed != nil && r.Committed.Offset < 0:
			row.Error = fmt.Sprintf("the stored number %d is not a valid offset", r.Committed.Offset)
		default:
			row.Committed = r.Committed
		}
		if row.Gone = r.Status == inspect.StatusUnknownTopic; row.Gone {
			row.Error = ""
		} else if r.Err != nil {
			row.Error = strings.ReplaceAll(r.Err.Error(), "\n", "; ")
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// printRows reads the fingerprints of all rows that have an offset and bounds, of the topics that the header names.
func printRows(ctx context.Context, cl *kgo.Client, h Header, log inspect.Log, groups []Group, ahead int) {
	var places []Place
	each := func(do func(*Row)) {
		for i := range groups {
			for j := range groups[i].Rows {
				if r := &groups[i].Rows[j]; r.Committed != nil && r.Bounds != nil {
					do(r)
				}
			}
		}
	}
	each(func(r *Row) { places = append(places, Place{r.Partition, r.Committed.Offset}) })
	got := ReadSurroundings(ctx, cl, log, places, ahead)
	compacted := readCompacted(ctx, cl, places)
	for p, read := range got { // it was compacted once, whatever it is now
		compacted[p.Topic] = compacted[p.Topic] || read.Holes
	}
	replaced := readReplaced(ctx, cl, h, places)
	each(func(r *Row) {
		read := got[Place{r.Partition, r.Committed.Offset}]
		if why := replaced[r.Topic]; why != "" && read.Err == nil {
			read.Err = errors.New(why)
		}
		if read.Err != nil {
			if r.Error == "" {
				r.Error = fmt.Sprintf("its records could not be read: %v", read.Err)
				if errors.Is(read.Err, kerr.TopicAuthorizationFailed) {
					r.Error += " (reading them needs READ on the topic)"
				}
			}
			return
		}
		r.Around = &read.Surroundings
		r.Around.Gapless = !compacted[r.Topic]
		r.Around.Whole = r.Around.Gapless && read.Start == 0
		if read.Start > r.Bounds.Start { // records were removed meanwhile
			r.Bounds = &offset.Bounds{Start: read.Start, End: max(read.Start, r.Bounds.End), LastStable: max(read.Start, r.Bounds.LastStable)}
		}
	})
}

// readReplaced says which topics of places are not those that the header names any more, after their records were read: a commit and
// the records at its number are of two logs then. A topic whose id is not known is not compared.
func readReplaced(ctx context.Context, cl *kgo.Client, h Header, places []Place) map[string]string {
	out, ids, names := map[string]string{}, map[string]string{}, []string{}
	for _, t := range h.Topics {
		ids[t.Name] = t.ID
	}
	for _, p := range places {
		if ids[p.Topic] != "" && !slices.Contains(names[max(0, len(names)-1):], p.Topic) {
			names = append(names, p.Topic)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return out
	}
	topics, err := inspect.ReadTopics(ctx, cl, names)
	for _, name := range names {
		switch t := topics[name]; {
		case err != nil:
			out[name] = fmt.Sprintf("whether the topic was replaced meanwhile is not known: %v", err)
		case t.Err != nil:
			out[name] = fmt.Sprintf("whether the topic was replaced meanwhile is not known: %v", t.Err)
		case t.TopicID() != ids[name]:
			out[name] = "the topic was deleted and created again meanwhile"
		}
	}
	return out
}

// ReadPositions exports positions, by group, that do not come from the groups themselves, such as those of a savepoint or a
// store, as if the groups had committed them. They are held against the cluster by offset's rule of origins, since the export
// says that they are of this one; allow is what that lets pass, and said hears what a user must be told. source says in words
// where they are from. The error may be an *offset.OriginError.
func ReadPositions(ctx context.Context, cl *kgo.Client, o ExportOptions, source string, from map[string]offset.Saved, allow offset.AllowOrigin, said func([]offset.Finding), to Sink) (incomplete bool, err error) {
	cluster, err := inspect.ReadCluster(ctx, cl)
	if err != nil {
		return true, err
	}
	names := map[string]bool{}
	for _, one := range from {
		for p := range one.Offsets {
			if o.Topics == nil || o.Topics.Match(p.Topic) {
				names[p.Topic] = true
			}
		}
	}
	topics, err := inspect.ReadTopics(ctx, cl, slices.AppendSeq([]string{}, maps.Keys(names)))
	if err != nil {
		return true, err
	}
	parts := inspect.Partitions{}
	var groups []Group
	for _, name := range slices.Sorted(maps.Keys(from)) {
		taken, findings, err := from[name].Take(inspect.Here(cluster.ID, topics), nil, allow)
		if err != nil {
			return true, err
		}
		said(findings)
		groups = append(groups, groupAt(name, taken, topics, parts))
	}
	parts.Compact() // several groups may be on one partition
	log := inspect.ReadBounds(ctx, cl, parts)
	for _, g := range groups {
		for i := range g.Rows {
			g.Rows[i].setBounds(log)
		}
	}
	h := Header{CreatedAt: o.CreatedAt, Version: o.Version, ClusterID: cluster.ID, Fingerprints: o.Fingerprints, Source: source, Topics: topicsOf(topics)}
	if err := to.Begin(h); err != nil {
		return true, err
	}
	if o.Fingerprints {
		printRows(ctx, cl, h, log, groups, o.LookAhead)
	}
	for _, g := range groups {
		incomplete = incomplete || g.incomplete()
		if err := to.Group(g); err != nil {
			return true, err
		}
	}
	return incomplete, nil
}

// groupAt makes the rows of one group; the partitions whose logs are to be read go to parts.
func groupAt(name string, at map[offset.Partition]offset.Foreign, topics map[string]inspect.Topic, parts inspect.Partitions) Group {
	g := Group{Name: name}
	for _, p := range slices.SortedFunc(maps.Keys(at), offset.Partition.Compare) {
		if _, wanted := topics[p.Topic]; !wanted {
			continue
		}
		f := at[p]
		row := Row{Group: name, Partition: p, Marker: f.Marker}
		if f.Marker == "" {
			c := f.Committed
			row.Committed = &c
		}
		if err := topics[p.Topic].PartitionErr(p.Partition); err != nil {
			row.Error = err.Error()
		} else {
			parts.Add(p)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (r *Row) setBounds(log inspect.Log) {
	if r.Error != "" {
		return
	}
	l, ok := log.At(r.Partition)
	switch {
	case !ok:
	case l.Err != nil:
		r.Error = l.Err.Error()
	default:
		b := l.Bounds
		r.Bounds = &b
	}
}

// Collect makes an export in memory.
func Collect(read func(Sink) (bool, error)) (*Export, error) {
	x := &Export{}
	var err error
	x.Incomplete, err = read(Sink{
		Begin: func(h Header) error { x.Header = h; return nil },
		Group: func(g Group) error {
			g.Rows = slices.Clone(g.Rows)
			x.Groups = append(x.Groups, g)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}
