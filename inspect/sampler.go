package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// Sampler looks at groups again and again and keeps the history that verdicts rest on. It is used by one goroutine.
type Sampler struct {
	Client *kgo.Client
	// Names are groups to read whether they are listed or not; Match chooses among the listed ones and may be nil.
	Names []string
	Match func(Group) bool
	// Query restricts topics and sets the isolation; its Groups are filled at each look.
	Query Query
	// AllTopics reads the bounds of every topic, whether a group commits to it or not.
	AllTopics bool
	// NoProbes leaves out the fetches that tell markers from records, for a principal without READ.
	NoProbes bool
	History  *History
	Now      func() time.Time
	// Standing says what groups are and have, nil for ReadStanding, which asks their coordinators at each look.
	Standing func(context.Context, []Group) Standing

	retention   map[string]Retention
	retentionOf map[string]string // the id of the topic whose retention it is
	retentionAt time.Time
	denied      map[string]bool // topics that may not be fetched from
}

// retentionEvery is how often the topics' configuration is read again, and what was denied is tried again: both rarely change.
const retentionEvery = 10 * time.Minute

// Look is one look at the cluster.
type Look struct {
	At       time.Time // when the ends were read
	Took     time.Duration
	Snapshot *Snapshot
	// Missing are brokers that did not answer when the groups were listed.
	Missing []error
}

// Look reads the groups, judges every row, and tells it to each as History.Observe does. The error is set only where
// nothing could be read; the history is then as it was.
func (s *Sampler) Look(ctx context.Context, each func(*Description, *Row, *Diagnosis)) (*Look, error) {
	return s.look(ctx, func(at time.Time, snap *Snapshot) { s.History.Observe(at, snap, each) })
}

// LookHalves is Look for large clusters, as History.ObserveHalves is Observe.
func (s *Sampler) LookHalves(ctx context.Context, first, second func(*Description, *Row, *Diagnosis)) (*Look, error) {
	return s.look(ctx, func(at time.Time, snap *Snapshot) { s.History.ObserveHalves(at, snap, first, second) })
}

func (s *Sampler) look(ctx context.Context, observe func(time.Time, *Snapshot)) (*Look, error) {
	began := s.Now()
	listed, missing, err := ListGroups(ctx, s.Client)
	if err != nil {
		return nil, err
	}
	q := s.Query
	q.Groups = nil
	named := make(map[string]bool, len(s.Names))
	for _, n := range s.Names {
		named[n] = true
	}
	for _, g := range listed {
		if named[g.Name] || s.Match != nil && s.Match(g) {
			q.Groups = append(q.Groups, g)
			delete(named, g.Name)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(named)) {
		q.Groups = append(q.Groups, Group{Name: n})
	}
	if s.Standing != nil {
		at := s.Standing(ctx, q.Groups)
		q.Standing = &at
	}
	snap, err := Read(ctx, s.Client, q)
	if err != nil {
		return nil, err
	}
	l := &Look{At: s.Now(), Snapshot: snap, Missing: missing}
	if s.AllTopics {
		if err := snap.readOthers(ctx, s.Client); err != nil {
			return nil, err
		}
	}
	s.readRetention(ctx, snap, l.At)
	if s.History.looks == 0 && !s.NoProbes {
		s.fetch(ctx, snap, s.History.unseen(snap)) // so that the first verdicts rest on records, not on nothing seen yet
	}
	observe(l.At, snap)
	l.Took = s.Now().Sub(began)
	return l, nil
}

// Probe looks into what the last look suspects. What it learns counts from the next look on.
func (s *Sampler) Probe(ctx context.Context, l *Look) {
	if !s.NoProbes {
		s.fetch(ctx, l.Snapshot, s.History.Suspects())
	}
}

func (s *Sampler) fetch(ctx context.Context, snap *Snapshot, suspects []Suspect) {
	if len(suspects) == 0 {
		return
	}
	asks := make([]records.Span, 0, len(suspects))
	for _, x := range suspects {
		if !s.denied[x.Topic] {
			asks = append(asks, probeSpan(x))
		}
	}
	found := records.Reader{Client: s.Client, Isolation: snap.Query.Isolation}.First(ctx, asks)
	for _, x := range suspects {
		got, asked := found[probeSpan(x)]
		switch {
		case !asked:
		case got.Err == nil && (got.Record != nil || got.Empty.Covers(x.From, x.End)):
			s.History.Probed(x, got.Record)
		case errors.Is(got.Err, kerr.TopicAuthorizationFailed):
			if s.denied == nil {
				s.denied = map[string]bool{}
			}
			s.denied[x.Topic] = true // a right that is missing is not asked for at every look
			s.History.SetDenied(x.Topic)
		}
	}
}

func probeSpan(x Suspect) records.Span {
	return records.Span{Partition: x.Partition, From: x.From, Until: records.ToEnd}
}

func (s *Sampler) readRetention(ctx context.Context, snap *Snapshot, now time.Time) {
	var ask []string
	stale := s.retention == nil || now.Sub(s.retentionAt) >= retentionEvery
	if stale {
		s.retention, s.retentionOf, s.retentionAt = map[string]Retention{}, map[string]string{}, now
		clear(s.denied)
		s.History.AllowAll()
	}
	for name, t := range snap.Topics {
		if id, known := s.retentionOf[name]; t.Err == nil && (!known || id != t.id) {
			ask = append(ask, name)
		}
	}
	if len(ask) == 0 {
		return
	}
	got, _ := ReadRetention(ctx, s.Client, ask)
	for _, name := range ask {
		s.retentionOf[name] = snap.Topics[name].id
		s.retention[name] = got[name] // what may not be read is asked for again with the rest, not at every look
	}
	s.History.SetRetention(s.retention)
}

// readOthers adds the topics that no group of the snapshot has to do with.
func (s *Snapshot) readOthers(ctx context.Context, cl *kgo.Client) error {
	all, err := ReadTopics(ctx, cl, nil)
	if err != nil {
		return err
	}
	parts := Partitions{}
	for name, t := range all {
		if _, have := s.Topics[name]; have || s.Query.Topics != nil && !s.Query.Topics.Match(name) {
			continue
		}
		s.Topics[name] = t
		for _, p := range t.Partitions {
			if t.Err == nil && p.Err == nil {
				parts.Add(offset.Partition{Topic: name, Partition: p.Number})
			}
		}
	}
	maps.Copy(s.Log, ReadBounds(ctx, cl, parts))
	return nil
}
