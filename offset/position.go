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
	ByPartition                  // orders:0=42,orders:1=@-2h
	AfterStart                   // +10 as an end: counted from the resolved start
)

// Position is what was asked for, before anything is known about a partition.
type Position struct {
	Kind Kind
	// N is the offset of Exact (not negative), or the distance of FromStart, FromEnd (both not negative), FromCurrent
	// (either sign) and AfterStart, in offsets.
	N int64
	// At is the instant of AtTime. It was computed once, when the word was read, so that every partition and every retry
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

// Source names what a position of an Of… kind reads, with its secrets: to tell two apart, never to show.
func (p Position) Source() string { return strconv.Itoa(int(p.Kind)) + ":" + p.Ref }

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
