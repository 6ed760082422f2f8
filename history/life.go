package history

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// life is what the records of a group tell of its members.
type life struct {
	known  bool // some record told
	exists bool
	had    bool // it had members at some time
	kind   string
	epoch  int32
	proto  string
	// classic groups have all members in one record, the others a record each.
	whole   bool
	members map[string]Member

	dirty bool
	at    time.Time // of the change
	rec   int64
	told  *Life // the last that was told
	gone  bool  // and it was that the group is deleted
	// present is now's answer, made once for many commits.
	present        *Life
	presentMissing bool
}

// kindOf is the type of the groups that have records of a type.
func kindOf(t recordType) string {
	switch t {
	case classicRecord:
		return "classic"
	case consumerEpoch, consumerMember:
		return "consumer"
	case shareEpoch, shareMember:
		return "share"
	case streamsEpoch, streamsMember:
		return "streams"
	}
	return ""
}

// lifeRecord takes a record about a group's members. Other records of groups say nothing about them.
func (r *Replay) lifeRecord(g *groupState, t recordType, raw *Raw) error {
	kind := kindOf(t)
	if kind == "" {
		return nil
	}
	l := &g.life
	switch t {
	case classicRecord:
		if raw.Value == nil {
			l.remove(kind)
			break
		}
		v, err := classicValue(raw.Value)
		if err != nil {
			return err
		}
		l.begin(kind)
		l.epoch, l.proto = v.Generation, v.Protocol
		clear(l.members)
		for _, m := range v.Members {
			l.members[m.ID] = m
		}
	case consumerEpoch, shareEpoch, streamsEpoch:
		if raw.Value == nil {
			l.remove(kind)
			break
		}
		epoch, err := epochValue(raw.Value)
		if err != nil {
			return err
		}
		l.begin(kind)
		l.epoch = epoch
	default:
		id, err := memberKey(raw.Key)
		if err != nil {
			return err
		}
		if raw.Value == nil {
			delete(l.members, string(id))
			l.had = true // it was there, whether its record is left or not
			break
		}
		m, err := memberValue(t, id, raw.Value)
		if err != nil {
			return err
		}
		l.begin(kind)
		l.members[m.ID] = m
	}
	l.had = l.had || len(l.members) > 0
	l.present = nil
	l.at, l.rec = raw.Time, raw.Offset
	if !l.dirty {
		l.dirty = true
		r.dirty = append(r.dirty, g)
	}
	return nil
}

// begin notes that the group exists, as a kind: one that changed its kind begins without members.
func (l *life) begin(kind string) {
	if l.members == nil {
		l.members = map[string]Member{}
	}
	if l.kind != kind {
		clear(l.members)
		l.epoch, l.proto = 0, ""
	}
	l.known, l.exists, l.kind, l.whole = true, true, kind, kind == "classic"
}

// remove notes that the group is gone as a kind. A group that changes its kind is first written as the new one.
func (l *life) remove(kind string) {
	if l.kind != "" && l.kind != kind {
		return
	}
	clear(l.members)
	l.known, l.exists, l.kind = true, false, ""
}

// now is who is in the group; nil where that is not known. missing says that records are missing from the log so far.
func (l *life) now(missing bool) *Life {
	if !l.known && missing {
		return nil
	}
	if l.present == nil || l.presentMissing != missing {
		l.present, l.presentMissing = l.snapshot(missing), missing
	}
	return l.present
}

func (l *life) snapshot(missing bool) *Life {
	out := &Life{Type: l.kind, Generation: l.epoch, Protocol: l.proto, AtLeast: l.exists && !l.whole && missing}
	out.Members = slices.SortedFunc(maps.Values(l.members), func(a, b Member) int {
		if c := strings.Compare(a.ClientID, b.ClientID); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// flush tells of the groups whose members changed.
func (r *Replay) flush() {
	if len(r.dirty) == 0 {
		return
	}
	dirty := r.dirty
	r.dirty = nil
	for _, g := range dirty {
		l := &g.life
		l.dirty = false
		now := l.now(r.coverage.missing)
		if l.told != nil && l.gone == !l.exists && l.told.same(now) {
			continue
		}
		r.event = Event{Kind: Members, Group: g.name, At: l.at, Written: l.at, Record: l.rec, Life: now}
		if !l.exists {
			r.event.Kind = GroupDeleted
		}
		if l.exists || !l.gone { // one that is gone is not gone again
			r.each(&r.event)
		}
		l.told, l.gone = now, !l.exists
	}
}

// same says that a reader would notice no difference. The epoch of a group counts up for reasons of its own; a classic group's
// generation is a rebalance.
func (l *Life) same(o *Life) bool {
	return l.Type == o.Type && slices.Equal(l.Members, o.Members) && (l.Type != "classic" || l.Generation == o.Generation)
}
