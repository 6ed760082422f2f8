package history

import (
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/records"
	"github.com/koffset/koffset/offset"
)

// followedPart is a partition of [Topic], read up to next.
type followedPart struct {
	offset.Partition
	replay *Replay // nil where nothing is known of the log
	next   int64
	epoch  int32 // of the leader
	groups map[string]*followedGroup
	// ask says that all of its groups are in doubt, and gap that records were missed: what they committed meanwhile is not known.
	ask, gap bool
	err      error // why it is not followed now
	orphans  int64 // transactions so far that began before what was read
	damaged  int64
	// at is when the end was read that next is, or is to become, and before the one of the look before where it is read on from that.
	at, before time.Time
	until      int64
	unstable   []mark
}

// mark is a commit that is marked as unstable.
type mark struct {
	group *followedGroup
	at    offset.Partition
}

// followedGroup is what is known of a group.
type followedGroup struct {
	name    string
	ask     bool // its commits are to be asked for
	commits inspect.Commits
	// described says that d holds: nothing of it has changed since.
	described bool
	d         inspect.Description
	fresh     bool // d was read at the last look, after the place in the log where the records of this look begin
	inspect.Activity
	recent int64 // commits since the last look
	life   *Life // who was in it at its last commit, where it was not described
}

func newFollowedPart(n int32) *followedPart {
	return &followedPart{Partition: offset.Partition{Topic: Topic, Partition: n}, groups: map[string]*followedGroup{}}
}

// due takes the bounds of the log, and says whether there is something to read.
func (p *followedPart) due(log inspect.Log, epoch int32, now time.Time) bool {
	p.ask, p.gap = false, false
	for _, m := range p.unstable {
		m.group.commits.SetUnstable(m.at, false)
	}
	p.unstable = p.unstable[:0]
	for _, g := range p.groups {
		g.recent = 0
	}
	l, ok := log.At(p.Partition)
	if p.err = l.Err; !ok || l.Err != nil {
		p.replay, p.ask, p.gap = nil, true, true
		return false
	}
	p.before, p.at, p.until = p.at, now, l.Bounds.End
	switch {
	case p.replay == nil || l.Bounds.Start > p.next || l.Bounds.End < p.next:
		p.begin(epoch)
		return true
	case epoch != p.epoch: // one that was elected without having had everything may have another log up to next
		p.ask, p.epoch = true, epoch
	}
	return p.next < p.until
}

// begin starts anew at the log's end. The record before it is read, which shows whether any may be.
func (p *followedPart) begin(epoch int32) {
	p.next, p.epoch, p.replay = max(p.until-1, 0), epoch, nil
}

func (p *followedPart) walk() records.Walk {
	w := records.Walk{Span: records.Span{Partition: p.Partition, From: p.next, Until: p.until}}
	if p.replay == nil {
		w.Visit = func(records.Record) bool { return true }
		return w
	}
	var raw Raw
	w.Visit = func(rec records.Record) bool {
		raw = Raw{Offset: rec.Offset, Time: rec.Timestamp, Key: rec.Key, Value: rec.Value, Transaction: rec.Attrs.IsTransactional(), Producer: rec.ProducerID}
		p.replay.Record(&raw)
		return true
	}
	w.Marker = func(m records.Marker) { p.replay.Marker(Marker(m)) }
	return w
}

// walked takes how reading ended. What was not read is left out, from now on too: it is asked for instead.
func (p *followedPart) walked(end records.End) {
	begun := p.replay == nil
	missed := end.Err != nil || end.Until() < p.until || end.Holes && !begun
	if missed || begun {
		p.ask, p.gap = true, true
		p.replay = NewReplay(Options{From: p.until}, p.event)
		p.replay.touched = p.touched
		p.orphans, p.damaged = 0, 0
	}
	p.next = p.until
	c := p.replay.Counts()
	if c.Orphans > p.orphans || c.Damaged > p.damaged {
		p.ask, p.gap = true, true
	}
	p.orphans, p.damaged = c.Orphans, c.Damaged
}

// mark marks the commits that transactions are about to change.
func (p *followedPart) mark() {
	if p.replay == nil {
		return
	}
	p.replay.eachOpen(func(group string, at offset.Partition) {
		if g := p.groups[group]; g != nil && !g.ask {
			g.commits.SetUnstable(at, true)
			p.unstable = append(p.unstable, mark{g, at})
		}
	})
}

// event applies what happened to a group. Records that cannot be read are counted, and put the whole partition in doubt.
func (p *followedPart) event(e *Event) {
	g := p.groups[e.Group]
	if g == nil {
		return
	}
	switch e.Kind {
	case Commit, Transactional:
		g.committed(e)
	case Deleted:
		g.commits.Remove(e.Partition)
		delete(g.Parts, e.Partition)
	}
}

func (g *followedGroup) committed(e *Event) {
	g.recent++
	g.Commits++
	g.Parts[e.Partition] = e.At
	if !e.At.Before(g.Last) {
		g.Last = e.At
		g.By, g.HasBy, g.life = g.d.Members, g.described, e.Life
	}
	if !g.commits.Has(e.Topic) {
		g.ask = true // the broker leaves out topics that the user may not see
		return
	}
	g.commits.Set(e.Partition, *e.Commit)
}

// touched is told that the members of a group changed, or what they read.
func (p *followedPart) touched(group string) {
	g := p.groups[group]
	if g == nil {
		return
	}
	if g.fresh && g.recent > 0 { // it may be what the description had already, after the commits so far
		g.By, g.HasBy = nil, false
	}
	g.described = false
}

// group is what is known of a group.
func (p *followedPart) group(of inspect.Group) *followedGroup {
	g := p.groups[of.Name]
	if g == nil {
		g = &followedGroup{name: of.Name, ask: true, Activity: inspect.Activity{Since: p.at, Parts: map[offset.Partition]time.Time{}}}
		p.groups[of.Name] = g
	}
	if p.gap {
		g.Since, g.Last, g.HasBy, g.By, g.life = p.at, time.Time{}, false, nil, nil
		clear(g.Parts)
	}
	return g
}

// asks is what has to be asked for of a group.
func (p *followedPart) asks(g *followedGroup, of inspect.Group) inspect.Ask {
	unsure := p.ask || !of.Listed
	return inspect.Ask{
		Commits:  unsure || g.ask || of.Type == inspect.TypeShare, // what a share group has finished is not in the topic
		Describe: unsure || !g.described || g.d.Group != of,
	}
}

// answered takes what was asked for, and puts what is known into the result.
func (p *followedPart) answered(g *followedGroup, of inspect.Group, ask inspect.Ask, s *inspect.Standing) {
	if g.fresh = ask.Describe; ask.Describe {
		g.d = s.Groups[g.name]
		g.described = g.d.Err == nil && !g.d.NotFound && g.d.Group == of && (of.State == "Stable" || of.State == "Empty")
	} else {
		s.Groups[g.name] = g.d
	}
	if of.Type != inspect.TypeShare {
		if ask.Commits {
			c, ok := s.Commits[g.name]
			g.commits, g.ask = c, !ok || c.Err != nil || c.Unstable()
		} else {
			s.Commits[g.name] = g.commits
		}
	}
	if p.err != nil || p.replay == nil || of.Type == inspect.TypeShare { // what a share group finishes is not in the topic: that there was nothing says nothing
		return
	}
	a := g.Activity
	if gap := p.at.Sub(p.before).Seconds(); !p.before.Before(g.Since) && gap > 0 {
		a.Rate, a.HasRate = float64(g.recent)/gap, true
	}
	if l := g.life; l != nil && !g.HasBy && !l.AtLeast {
		a.HasBy = true
		for _, m := range l.Members {
			a.By = append(a.By, inspect.Member{ID: m.ID, ClientID: m.ClientID, InstanceID: m.InstanceID, Host: m.Host})
		}
	}
	s.Activity[g.name] = &a
}

// settle forgets groups that are not chosen any more, or do not exist.
func (p *followedPart) settle(of map[string]*followedGroup) {
	for name := range p.groups {
		if of[name] == nil {
			delete(p.groups, name)
		}
	}
	if p.replay != nil {
		p.replay.forget(func(group string) bool { return p.groups[group] != nil })
	}
}
