package inspect

import (
	"math"
	"sync"
	"time"

	"github.com/koffset/koffset/offset"
)

// History turns snapshots, taken one after the other, into the windows that verdicts rest on. It holds about 370 bytes a
// partition of a group and 850 a partition of a topic, however long it runs. It is used by one goroutine at a time.
type History struct {
	rules     Rules
	looks     int // snapshots so far
	times     [WindowSamples]time.Time
	groups    map[string]*groupTrack
	logs      map[string]*topicTrack
	retention map[string]Retention
	denied    map[string]bool // topics that may not be fetched from
	suspects  []Suspect
	turn      int    // where among all suspects those of this look begin
	seeds     []seed // what fetches found, for the topics' timelines
	judges    [2]assessor
}

// seed is the time of a record of a topic.
type seed struct {
	offset.Partition
	id     string // of the topic when it was looked at
	at     time.Time
	offset int64
}

// assessor judges some of the groups, one row after the other. What the present row is made of is in one place: made anew for
// each of 100,000 rows it would be 40 MB of garbage a look.
type assessor struct {
	h         *History
	scratch   [WindowSamples]Sample
	row       Row
	diagnosis Diagnosis
	suspects  []Suspect
	wanted    int // suspects, of which at most maxSuspects are in the list
}

// NewHistory makes an empty history that judges by the rules.
func NewHistory(r Rules) *History {
	return &History{rules: r, groups: map[string]*groupTrack{}, logs: map[string]*topicTrack{}, denied: map[string]bool{}}
}

// Rules are what the history judges by.
func (h *History) Rules() Rules { return h.rules }

// groupTrack and topicTrack hold their partitions by number.
type groupTrack struct {
	seen   int
	topics map[string][]partTrack
}

type topicTrack struct {
	seen  int
	id    string // of the topic, empty where the broker tells none
	since int    // the first look at the topic of this id
	parts []logTrack
}

// partTrack is one partition of one group: a ring of commits, one slot a look.
type partTrack struct {
	first, seen int32 // the looks at which it was seen; seen 0 is never
	flat        int32 // since this look it was seen every time, with the same commit
	commits     [WindowSamples]int64
	memory      Memory
	// A fetch from probedFrom found the record at recordAt, written at recordMs; or, with recordAt below zero, none before
	// drainedUntil. A log start that moves past probedFrom makes it void: the record is gone.
	probed                                 probe
	probedFrom, drainedUntil, recordAt, ms int64
}

// probe is what a fetch from a partition found.
type probe uint8

const (
	probeNone     probe = iota // not fetched from
	probeDrained               // no record
	probeTimed                 // a record with a time
	probeTimeless              // a record without
)

// logTrack is one partition of a topic.
type logTrack struct {
	seen   int
	flat   int // as of partTrack
	ends   [WindowSamples]int64
	line   Timeline
	starts [4]timePoint // where the log start was seen to move to, and when
	moves  int
	start  int64
}

// slots that hold no number. A commit may be any number that a client stored, so these are at the end of the range.
const (
	slotUnread   = -1 << 63
	slotNoCommit = -1<<63 + 1
)

// GroupPartition is one partition of one group.
type GroupPartition struct {
	Group string
	offset.Partition
}

// Suspect is a partition that looks stalled or stopped, or soon will, or that seems to lack a commit, or whose lag is older
// than the samples. A fetch at From tells whether there is a record at all, and of when: see History.Probed.
type Suspect struct {
	GroupPartition
	From, End int64
	TopicID   string // empty where the broker tells none
}

// SetRetention tells what is known about the topics' retention.
func (h *History) SetRetention(r map[string]Retention) { h.retention = r }

// SetDenied tells that a topic may not be fetched from, so that ages there are unknown for that reason; AllowAll that this was
// long ago, and that any topic may be asked for again.
func (h *History) SetDenied(topic string) { h.denied[topic] = true }

// AllowAll takes back every SetDenied.
func (h *History) AllowAll() { clear(h.denied) }

// maxSuspects bounds the fetches after one look: 500 partitions cost about 10 ms, and a cluster full of groups that nobody
// reads is looked into step by step, another 500 at the next look.
const maxSuspects = 500

// Suspects are partitions that the last Observe would have looked into, without those that were; at most 500, and others at
// the next look.
func (h *History) Suspects() []Suspect { return h.suspects }

// Probed tells what a fetch at the suspect's From found: a record, or nil for none before End. It counts from the next
// Observe on.
func (h *History) Probed(s Suspect, found *offset.Record) {
	p := &h.track(s.Group, s.Topic, s.Partition.Partition, 0)[s.Partition.Partition]
	p.probed, p.probedFrom, p.drainedUntil = probeDrained, s.From, s.End
	if found == nil {
		return
	}
	p.recordAt = found.Offset
	if p.probed = probeTimeless; !found.Time.IsZero() {
		p.probed, p.ms = probeTimed, found.Time.UnixMilli()
		h.seeds = append(h.seeds, seed{s.Partition, s.TopicID, found.Time, found.Offset})
	}
}

// track returns a group's partitions of a topic, with room for the number n, and for want numbers where any are added.
func (h *History) track(group, topic string, n int32, want int) []partTrack {
	g := h.groups[group]
	if g == nil {
		g = &groupTrack{seen: h.looks, topics: map[string][]partTrack{}}
		h.groups[group] = g
	}
	return g.track(topic, n, want)
}

func (g *groupTrack) track(topic string, n int32, want int) []partTrack {
	parts := g.topics[topic]
	if int(n) >= len(parts) {
		// In one piece: growing by doubling would waste a quarter of what a large cluster needs.
		parts = append(make([]partTrack, 0, max(int(n)+1, want)), parts...)
		parts = parts[:cap(parts)]
		g.topics[topic] = parts
	}
	return parts
}

// unseen are the rows of a first snapshot whose next record would have to be fetched to know its age: fetched before the first
// Observe, they make its ages exact.
func (h *History) unseen(s *Snapshot) []Suspect {
	var out []Suspect
	for _, d := range s.Groups {
		for x := range s.waiting(d) {
			if out = append(out, x); len(out) == maxSuspects {
				return out
			}
		}
	}
	return out
}

// Observe takes in a snapshot of a moment, and tells every row with its verdict, group by group. The pointers to row and
// diagnosis are valid during the call only.
func (h *History) Observe(at time.Time, s *Snapshot, each func(d *Description, r *Row, dg *Diagnosis)) {
	h.observe(at, s, each)
}

// ObserveHalves is Observe by two goroutines: the first half of the rows, in their order, is told to first and the second to
// second, at the same time. No group is in both.
func (h *History) ObserveHalves(at time.Time, s *Snapshot, first, second func(d *Description, r *Row, dg *Diagnosis)) {
	h.observe(at, s, first, second)
}

func (h *History) observe(at time.Time, s *Snapshot, each ...func(d *Description, r *Row, dg *Diagnosis)) {
	h.looks++
	slot := h.looks % WindowSamples
	h.times[slot] = at
	h.observeLogs(at, s, slot)
	h.plant()
	total := 0
	for i := range s.Groups {
		name := s.Groups[i].Name
		if h.groups[name] == nil {
			h.groups[name] = &groupTrack{topics: map[string][]partTrack{}}
		}
		h.groups[name].seen = h.looks
		total += s.commits[name].Len()
	}
	// The groups are cut where half of the commits are.
	cut, seen := len(s.Groups), 0
	if len(each) == 2 {
		for cut = 0; cut < len(s.Groups) && seen < total/2; cut++ {
			seen += s.commits[s.Groups[cut].Name].Len()
		}
	}
	var wg sync.WaitGroup
	for i, groups := range [][]Description{s.Groups[:cut], s.Groups[cut:]} {
		j := &h.judges[i]
		j.h, j.suspects, j.wanted = h, j.suspects[:0], 0
		if len(groups) > 0 {
			wg.Go(func() { j.observe(at, s, groups, each[i]) })
		}
	}
	wg.Wait()
	h.choose()
	h.forget()
}

// choose takes suspects of both halves in turn. What did not fit comes at a later look: those that are asked about again at
// every look, since their commits move, would otherwise keep the rest from ever being asked about.
func (h *History) choose() {
	a, b := &h.judges[0], &h.judges[1]
	fromA := min(len(a.suspects), max(maxSuspects/2, maxSuspects-len(b.suspects)))
	h.suspects = append(h.suspects[:0], a.suspects[:fromA]...)
	h.suspects = append(h.suspects, b.suspects[:min(len(b.suspects), maxSuspects-fromA)]...)
	if h.turn += maxSuspects / 2; h.turn >= max(a.wanted, b.wanted) {
		h.turn = 0
	}
}

// suspect notes a suspect, if its turn has come.
func (j *assessor) suspect(s Suspect) {
	if j.wanted++; j.wanted > j.h.turn && len(j.suspects) < maxSuspects {
		j.suspects = append(j.suspects, s)
	}
}

// plant tells the timelines what fetches found. What was found in a topic that has been made anew since says nothing about
// this one.
func (h *History) plant() {
	for _, x := range h.seeds {
		if t := h.logs[x.Topic]; t != nil && t.id == x.id && int(x.Partition.Partition) < len(t.parts) {
			t.parts[x.Partition.Partition].line.Seed(x.at, x.offset)
		}
	}
	h.seeds = h.seeds[:0]
}

func (j *assessor) observe(at time.Time, s *Snapshot, groups []Description, each func(*Description, *Row, *Diagnosis)) {
	h := j.h
	for i := range groups {
		d := &groups[i]
		g, readers := h.groups[d.Name], groupReadersOf(*d)
		if s.Commits(d.Name).Err != nil || s.Share[d.Name].Err != nil {
			continue // what a member is assigned would look as if nothing were committed; the gap stays a gap
		}
		topic, expected, since, parts := "", false, 0, []partTrack(nil)
		for r := range s.Rows(*d) {
			if r.Topic != topic || parts == nil {
				topic, parts, since = r.Topic, g.topics[r.Topic], 0
				expected = s.commitsTo(d.Name, topic)
				if t := h.logs[topic]; t != nil {
					since = t.since
				}
			}
			if n := int(r.Partition.Partition); n >= len(parts) {
				parts = g.track(topic, r.Partition.Partition, len(s.Log[topic]))
			}
			p := &parts[r.Partition.Partition]
			if p.seen != 0 && int(p.seen) < since {
				*p = partTrack{} // another topic of that name
			}
			j.row = r
			j.judge(p, Window{Isolation: s.Query.Isolation, Readers: readers.of(r.Member), Expected: expected, Share: d.Type == TypeShare}, at)
			each(d, &j.row, &j.diagnosis)
		}
	}
}

func (h *History) observeLogs(at time.Time, s *Snapshot, slot int) {
	for topic, log := range s.Log {
		t := h.logs[topic]
		if t == nil {
			t = &topicTrack{}
			h.logs[topic] = t
		}
		if id := s.Topics[topic].id; id != t.id {
			// Made anew, the topic has other records at the same offsets.
			*t = topicTrack{id: id, since: h.looks}
		}
		t.seen = h.looks
		if len(t.parts) < len(log) {
			t.parts = append(make([]logTrack, 0, len(log)), t.parts...)[:len(log)]
		}
		for n := range log {
			if log[n].Err != nil || log[n].known == 0 {
				continue
			}
			b, p := &log[n].Bounds, &t.parts[n]
			end := b.EndFor(s.Query.Isolation)
			fill(&p.ends, p.seen, h.looks, slotUnread)
			if p.seen != h.looks-1 || p.ends[(h.looks-1)%WindowSamples] != end {
				p.flat = h.looks
			}
			p.ends[slot] = end
			p.line.Add(at, end)
			if p.seen > 0 && b.Start > p.start {
				p.line.Removed(b.Start)
				p.starts[p.moves%len(p.starts)] = timePoint{at.UnixMilli(), b.Start}
				p.moves++
			} else if b.Start < p.start {
				p.moves = 0
			}
			p.start, p.seen = b.Start, h.looks
		}
	}
}

// fill marks the looks at which something was not seen.
func fill(ring *[WindowSamples]int64, seen, now int, with int64) {
	for i := max(seen+1, now-WindowSamples+1); i < now; i++ {
		ring[i%WindowSamples] = with
	}
}

// judge puts the present row into its track, and the verdict on it into j.diagnosis. w has what the group says about it.
func (j *assessor) judge(p *partTrack, w Window, at time.Time) {
	h, r, iso := j.h, &j.row, w.Isolation
	if p.seen == 0 {
		p.first = int32(h.looks)
	}
	seen := int(p.seen)
	fill(&p.commits, seen, h.looks, slotUnread)
	p.seen = int32(h.looks)
	w.Status, w.Bounds, w.Unstable, w.Retention = r.Status, r.Bounds, r.Unstable, h.retention[r.Topic]
	value, now := r.sample(iso, at)
	if seen != h.looks-1 || p.commits[(h.looks-1)%WindowSamples] != value {
		p.flat = int32(h.looks)
	}
	p.commits[h.looks%WindowSamples] = value
	probed := !now.Unread && p.probedAt(r, value, now, iso)
	w.Drained = probed && p.probed == probeDrained
	p.memory.next(now, w.Drained)
	w.Memory = p.memory
	var l *logTrack
	if t := h.logs[r.Topic]; t != nil && int(r.Partition.Partition) < len(t.parts) {
		l = &t.parts[r.Partition.Partition]
	}
	w.Samples = h.window(j.scratch[:0], p, l, now)
	if now.Unread {
		j.diagnosis = Diagnose(w, h.rules)
		return
	}
	from := r.from(value, now)
	if l != nil && !now.NoCommit {
		w.Age = l.line.Age(from, at)
		if w.Retention.BySize {
			w.StartRate = l.startRate()
		}
	}
	if probed {
		w.Age = p.age(w.Age, at)
	} else if h.denied[r.Topic] && (!w.Age.Known || w.Age.D == 0 && w.Age.Basis == LagAtLeast) {
		w.Age = UnknownAge(AgeDenied)
	}
	j.diagnosis = Diagnose(w, h.rules)
	if d := &j.diagnosis; !probed && now.End > from && (d.worthAFetch(w.Age) || d.Lag > 0 && l != nil && l.line.guessed(from)) {
		j.suspect(Suspect{GroupPartition{r.Group, r.Partition}, from, now.End, r.TopicID})
	}
}

// from is where the reader of a row that was read goes on, or would begin.
func (r *Row) from(value int64, now Sample) int64 {
	if now.NoCommit {
		return r.Bounds.Start
	}
	return max(value, r.Bounds.Start)
}

// probedAt says that what a fetch found holds for the present row.
func (p *partTrack) probedAt(r *Row, value int64, now Sample, iso offset.Isolation) bool {
	if r.Bounds.EndFor(iso) < p.drainedUntil {
		p.probed = probeNone // the log was cut off below what the fetch saw, and other records come to the same offsets
	}
	return p.probed != probeNone && p.probedFrom == r.from(value, now) && (p.probed != probeDrained || now.End <= p.drainedUntil)
}

// worthAFetch says that a fetch would tell more: a commit stands still, or is missing, or its age is not known well.
func (d *Diagnosis) worthAFetch(age LagTime) bool {
	return d.Verdicts.Has(HealthNeverCommitted) ||
		d.Lag > 0 && (d.Still > 0 && d.Still >= d.Threshold/2 || d.Health == HealthStopped || !age.Known || age.Basis == LagAtLeast)
}

// age is what the record that a fetch found says; what the samples say where that has no time, or one ahead of now.
func (p *partTrack) age(sampled LagTime, now time.Time) LagTime {
	var exact LagTime
	switch p.probed {
	case probeTimed:
		exact = AgeOf(offset.Record{Offset: p.recordAt, Time: time.UnixMilli(p.ms)}, now)
	case probeTimeless:
		exact = UnknownAge(AgeNoTimestamp)
	default:
		return sampled
	}
	if exact.Known || !sampled.Known || sampled.Basis == LagAtLeast && sampled.D == 0 {
		return exact
	}
	return sampled
}

// sample is the row as a slot of the ring and as a sample.
func (r *Row) sample(iso offset.Isolation, at time.Time) (int64, Sample) {
	if r.Bounds == nil || r.Status == StatusError || r.Status == StatusUnknownTopic {
		return slotUnread, Sample{At: at, Unread: true}
	}
	value := int64(slotUnread)
	switch {
	case r.Committed != nil:
		value = r.Committed.Offset
	case r.ShareStart != nil:
		value = *r.ShareStart
	case !r.Unstable:
		value = slotNoCommit
	}
	now := sampleOf(at, value, r.Bounds.EndFor(iso))
	if r.Lag != nil && r.ShareStart != nil {
		now.End = value + *r.Lag // a share group's own count leaves out what is acknowledged already
	}
	return value, now
}

func sampleOf(at time.Time, value, end int64) Sample {
	switch value {
	case slotUnread:
		return Sample{At: at, Unread: true}
	case slotNoCommit:
		return Sample{At: at, NoCommit: true, End: end}
	}
	return Sample{At: at, Committed: value, End: end}
}

// window appends the ring's samples, oldest first.
func (h *History) window(out []Sample, p *partTrack, l *logTrack, now Sample) []Sample {
	first := max(int(p.first), h.looks-WindowSamples+1)
	// Most partitions of a large cluster do not move: nothing is between the oldest of such samples and the newest.
	skip := l != nil && max(int(p.flat), l.flat) <= first
	for i := first; i < h.looks; i++ {
		if skip && i > first && i < h.looks-1 {
			continue
		}
		k := i % WindowSamples
		s := Sample{At: h.times[k], Unread: true}
		if l != nil && l.ends[k] != slotUnread {
			s = sampleOf(h.times[k], p.commits[k], l.ends[k])
		}
		out = append(out, s)
	}
	return append(out, now)
}

// startRate is how fast retention moves the log start, in offsets a second: between the first and the last of the moves
// that are remembered. One move says nothing: a segment that held a day's records goes at once.
func (l *logTrack) startRate() float64 {
	n := len(l.starts)
	if l.moves < 2 {
		return 0
	}
	newest := l.starts[(l.moves-1)%n]
	oldest := l.starts[max(0, l.moves-n)%n]
	if newest.ms <= oldest.ms {
		return 0
	}
	return float64(newest.end-oldest.end) / (float64(newest.ms-oldest.ms) / 1000)
}

// Window is the window of one partition, as of the last Observe; nil where it was not seen then.
func (h *History) Window(p GroupPartition) []Sample {
	g, t := h.groups[p.Group], h.logs[p.Topic]
	if g == nil || t == nil || int(p.Partition.Partition) >= len(g.topics[p.Topic]) || int(p.Partition.Partition) >= len(t.parts) {
		return nil
	}
	track, l := &g.topics[p.Topic][p.Partition.Partition], &t.parts[p.Partition.Partition]
	if int(track.seen) != h.looks || l.seen != h.looks {
		return nil
	}
	k := h.looks % WindowSamples
	all := *track
	all.flat = int32(h.looks) // every sample, for who draws them
	return h.window(nil, &all, l, sampleOf(h.times[k], track.commits[k], l.ends[k]))
}

// forget drops what was not seen for a whole window.
func (h *History) forget() {
	for name, g := range h.groups {
		if g.seen <= h.looks-WindowSamples {
			delete(h.groups, name)
		}
	}
	for name, t := range h.logs {
		if t.seen <= h.looks-WindowSamples {
			delete(h.logs, name)
		}
	}
}

// AppendLags appends the lags of a partition's window, oldest first; NaN where a look did not see it.
func (h *History) AppendLags(dst []float64, p GroupPartition) []float64 {
	for _, s := range h.Window(p) {
		if s.Unread || s.NoCommit {
			dst = append(dst, math.NaN())
			continue
		}
		dst = append(dst, float64(max(0, s.End-s.Committed)))
	}
	return dst
}
