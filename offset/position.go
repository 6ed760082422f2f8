package offset

import (
	"strconv"
	"strings"
)

// Kind is what sort of position was asked for.
type Kind uint8

// The kinds of position. The comment is the word for it.
const (
	Earliest     Kind = iota + 1 // earliest, start
	Latest                       // latest, end
	Current                      // current: the group's commit
	Exact                        // 1234
	FromStart                    // start+10
	FromEnd                      // end-10
	FromCurrent                  // current+10, current-10, and in a reset +10, -10
	AtTime                       // @2026-11-29T10:00:00Z, @-2h, @-1h/h
	MaxTimestamp                 // max-timestamp
	LocalStart                   // earliest-local (tiered storage)
	TieredEnd                    // latest-tiered
	OfGroup                      // group:G
	OfFile                       // file:F
	OfCheckpoint                 // checkpoint:DIR
	OfStore                      // store:URL
	CurrentAt                    // current@2026-11-29T10:00:00Z, current@-2h: what the group had committed then
	OfGroupAt                    // group:G@2026-11-29T10:00:00Z: what another group had committed then
	ByPartition                  // orders:0=42,orders:1=@-2h
	AfterStart                   // +10 as an end: counted from the resolved start
)

// Position is what was asked for, before anything is known about a partition.
type Position struct {
	Kind Kind
	// N is the offset of Exact (not negative), or the distance of FromStart, FromEnd (both not negative), FromCurrent
	// (either sign) and AfterStart, in offsets.
	N int64
	// At is the instant of AtTime, CurrentAt and OfGroupAt. It was computed once, when the word was read, so that every partition and every retry
	// asks for the same one.
	At Instant
	// Ref is the group, file, directory or URL of the Of… kinds.
	Ref string
	// Map holds the positions of ByPartition; none of them is itself a map.
	Map map[Partition]Position
	// Text is the word as it was given, and Ref may hold a password: neither is for showing, String is.
	Text string
}

// For is the position that applies to one partition: the entry of a map, or the position itself. ok is false where a map
// has no entry.
func (p Position) For(part Partition) (pos Position, ok bool) {
	if p.Kind != ByPartition {
		return p, true
	}
	pos, ok = p.Map[part]
	return pos, ok
}

// TurnedRound says that p is a start and end an end that lies before it, whatever is in the log: both are times, for all partitions or
// for one that both name.
func (p Position) TurnedRound(end Position) (from, until Instant, yes bool) {
	pairs := [][2]Position{{p, end}}
	for _, m := range []map[Partition]Position{p.Map, end.Map} {
		for part := range m {
			a, named := p.For(part)
			b, too := end.For(part)
			if named && too {
				pairs = append(pairs, [2]Position{a, b})
			}
		}
	}
	for _, x := range pairs {
		if x[0].Kind == AtTime && x[1].Kind == AtTime && x[1].At.Time.Before(x[0].At.Time) {
			return x[0].At, x[1].At, true
		}
	}
	return Instant{}, Instant{}, false
}

// Source names what a position of an Of… kind reads, with its secrets: to tell two apart, never to show.
func (p Position) Source() string {
	if p.Kind.past() {
		return strconv.Itoa(int(p.Kind)) + ":" + FormatTime(p.At.Time) + ":" + p.Ref
	}
	return strconv.Itoa(int(p.Kind)) + ":" + p.Ref
}

// past says that a position is where a group stood at an instant.
func (k Kind) past() bool { return k == CurrentAt || k == OfGroupAt }

// HasInstant says that the position names a point in time.
func (p Position) HasInstant() bool { return p.Kind == AtTime || p.Kind.past() }

// NeedsGroup says that the position means something only for a group: its commit, now or at an instant.
func (p Position) NeedsGroup() bool {
	n := p.Needs()
	return n.OwnPast || n.Committed && !n.Foreign
}

// String is the canonical word, without the password that a store's URL may hold.
func (p Position) String() string {
	n := strconv.FormatInt(p.N, 10)
	switch p.Kind {
	case Earliest:
		return "earliest"
	case Latest:
		return "latest"
	case Current:
		return "current"
	case Exact:
		return n
	case FromStart:
		return "start+" + n
	case FromEnd:
		return "end-" + n
	case FromCurrent:
		if p.N >= 0 {
			n = "+" + n
		}
		return "current" + n
	case AtTime:
		return "@" + FormatTime(p.At.Time)
	case MaxTimestamp:
		return "max-timestamp"
	case LocalStart:
		return "earliest-local"
	case TieredEnd:
		return "latest-tiered"
	case OfGroup:
		return "group:" + p.Ref
	case OfFile:
		return "file:" + p.Ref
	case OfCheckpoint:
		return "checkpoint:" + p.Ref
	case OfStore:
		return "store:" + Mask(p.Ref)
	case CurrentAt:
		return "current@" + FormatTime(p.At.Time)
	case OfGroupAt:
		return "group:" + QuoteName(p.Ref) + "@" + FormatTime(p.At.Time)
	case AfterStart:
		return "+" + n
	case ByPartition:
		return Mask(p.Text)
	}
	return ""
}

// Needs is what must be known about a partition to resolve a position on it.
type Needs struct {
	Committed    bool
	Time         bool
	MaxTimestamp bool
	LocalStart   bool
	TieredEnd    bool
	Foreign      bool
	// OwnPast is a part of Foreign: what is read is the history of the group itself.
	OwnPast bool
}

// Needs says which facts beside the bounds, which are always needed, Resolve will look at.
func (p Position) Needs() Needs {
	switch p.Kind {
	case Current, FromCurrent:
		return Needs{Committed: true}
	case AtTime:
		return Needs{Time: true}
	case MaxTimestamp:
		return Needs{MaxTimestamp: true}
	case LocalStart:
		return Needs{LocalStart: true}
	case TieredEnd:
		return Needs{TieredEnd: true}
	case OfGroup, OfFile, OfCheckpoint, OfStore:
		// A checkpoint's "committed" marker can be answered by the group's commit.
		return Needs{Foreign: true, Committed: true}
	case CurrentAt:
		return Needs{Foreign: true, OwnPast: true}
	case OfGroupAt:
		return Needs{Foreign: true}
	case ByPartition:
		var n Needs
		for _, e := range p.Map {
			m := e.Needs()
			n.Committed = n.Committed || m.Committed
			n.Time = n.Time || m.Time
			n.MaxTimestamp = n.MaxTimestamp || m.MaxTimestamp
			n.LocalStart = n.LocalStart || m.LocalStart
			n.TieredEnd = n.TieredEnd || m.TieredEnd
			n.Foreign = n.Foreign || m.Foreign
			n.OwnPast = n.OwnPast || m.OwnPast
		}
		return n
	}
	return Needs{}
}

// Role is where a position word is used: a few words mean something else, or nothing, in some places.
type Role uint8

// The places where position words are read.
const (
	RoleTarget Role = iota // reset, resolve: a bare +10 is a shift of the commit
	RoleStart              // consume --from, split --from: a bare +10 is refused, other tools mean "the last ten"
	RoleEnd                // --until: +10 counts from the resolved start
)

func refKind(word string) (Kind, string, bool) {
	for _, k := range []struct {
		prefix string
		kind   Kind
	}{{"group:", OfGroup}, {"file:", OfFile}, {"checkpoint:", OfCheckpoint}, {"store:", OfStore}} {
		if ref, ok := strings.CutPrefix(word, k.prefix); ok {
			return k.kind, ref, true
		}
	}
	return 0, "", false
}

// ofGroup reads what follows group:. A name in quotes is taken as it is; otherwise what follows its last @ is a time if it can be
// read as one, and part of the name if not.
func ofGroup(ref string, clock Clock) (Position, error) {
	name, at, timed := ref, "", false
	if i := strings.LastIndexByte(ref, '@'); i > 0 && !(strings.HasPrefix(ref, `"`) && strings.HasSuffix(ref, `"`)) {
		name, at, timed = ref[:i], ref[i+1:], true
	}
	if timed {
		if i, err := parseAt(at, clock); err == nil {
			name, err := UnquoteName(name)
			return Position{Kind: OfGroupAt, Ref: name, At: i}, err
		}
		name = ref
	}
	if !strings.HasSuffix(name, `"`) {
		return Position{Kind: OfGroup, Ref: name}, nil
	}
	name, err := UnquoteName(name)
	return Position{Kind: OfGroup, Ref: name}, err
}
