package inspect

// Readers says who reads a partition for a group.
type Readers uint8

// A member that holds the partition is evidence that it should be read. A group that only commits (assign(), Flink, Spark)
// has no members while it runs, so nothing follows from their absence.
const (
	ReadersUnknown Readers = iota
	ReadersSome            // a member holds it, or the group has members and which one holds it is not told
	ReadersNone            // nobody does
	ReadersUnseen          // the group commits without members: whether its reader runs cannot be seen
)

// ReadersOf is what a group's description says about its readers as a whole.
func ReadersOf(d Description) Readers {
	switch {
	case d.Err != nil:
		return ReadersUnknown
	case len(d.Members) > 0:
		return ReadersSome
	case d.Application == AppOffsetsOnly:
		return ReadersUnseen
	case d.State == "" || d.Active():
		return ReadersUnknown
	}
	return ReadersNone
}

// readersOf is ReadersOf for one partition: in a stable group whose members tell what they hold, a partition that none of them
// names is read by nobody.
func (g groupReaders) of(m *Member) Readers {
	if g.all == ReadersSome && m == nil && g.told {
		return ReadersNone
	}
	return g.all
}

type groupReaders struct {
	all  Readers
	told bool // the assignment is complete
}

func groupReadersOf(d Description) groupReaders {
	g := groupReaders{all: ReadersOf(d)}
	if g.all == ReadersSome && d.State == "Stable" && d.Type != TypeShare {
		nothing := true // each of them is known to hold nothing
		for i := range d.Members {
			g.told = g.told || len(d.Members[i].Assigned) > 0
			nothing = nothing && d.Members[i].Told && len(d.Members[i].Assigned) == 0
		}
		g.told = g.told || nothing
	}
	return g
}

// commitsTo says that a group has a commit on some partition of a topic.
func (s *Snapshot) commitsTo(group, topic string) bool {
	for _, c := range s.commits[group].on(topic) {
		if c.has() && c.Offset >= 0 {
			return true
		}
	}
	return false
}
