package consume

// Where a run starts: Flink's five modes, and koffset's words.

import (
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/offset"
)

// Mode is a start mode, by Flink's name.
type Mode string

// The five start modes.
const (
	ModeEarliest     Mode = "earliest-offset"
	ModeLatest       Mode = "latest-offset"
	ModeGroupOffsets Mode = "group-offsets"
	ModeTimestamp    Mode = "timestamp"
	ModeSpecific     Mode = "specific-offsets"
)

// Modes are all start modes.
func Modes() []Mode {
	return []Mode{ModeEarliest, ModeLatest, ModeGroupOffsets, ModeTimestamp, ModeSpecific}
}

// Start is where a run starts. The zero value is that nobody chose: group-offsets, and the run says so.
type Start struct {
	// Position is what was asked for. The modes are positions too; see ParseStart.
	Position *offset.Position
}

// FromEarliest starts at the log start of every partition.
func FromEarliest() Start { return startAt(offset.Position{Kind: offset.Earliest}) }

// FromLatest starts at the log end of every partition.
func FromLatest() Start { return startAt(offset.Position{Kind: offset.Latest}) }

// FromGroup starts at the group's commits. Policies say what happens where there is none.
func FromGroup() Start { return startAt(offset.Position{Kind: offset.Current}) }

// At starts at the first record at or after an instant.
func At(t time.Time) Start {
	return startAt(offset.Position{Kind: offset.AtTime, At: offset.Instant{Time: t.UTC()}})
}

// FromOffset starts every partition at one offset.
func FromOffset(n int64) Start { return startAt(offset.Position{Kind: offset.Exact, N: n}) }

// FromOffsets starts each partition at its own offset. One that is read and not in the map is decided by
// Policies.IfNoCommit; one that is in it and not read is refused.
func FromOffsets(by map[offset.Partition]int64) Start {
	p := offset.Position{Kind: offset.ByPartition, Map: make(map[offset.Partition]offset.Position, len(by))}
	for part, n := range by {
		p.Map[part] = offset.Position{Kind: offset.Exact, N: n}
	}
	return startAt(p)
}

// UntilLatest ends at the log end of the moment in which the run starts.
func UntilLatest() End { return End{Until: &offset.Position{Kind: offset.Latest}} }

// UntilTime ends before the first record at or after an instant, which must be past.
func UntilTime(t time.Time) End {
	return End{Until: &offset.Position{Kind: offset.AtTime, At: offset.Instant{Time: t.UTC()}}}
}

func startAt(p offset.Position) Start { return Start{Position: &p} }

// IsChosen says that somebody chose where to start.
func (s Start) IsChosen() bool { return s.Position != nil }

func (s Start) position() offset.Position {
	if s.Position == nil {
		return offset.Position{Kind: offset.Current}
	}
	return *s.Position
}

// Mode is the start mode that the position stands for: specific-offsets for everything that names places.
func (s Start) Mode() Mode {
	switch s.position().Kind {
	case offset.Earliest:
		return ModeEarliest
	case offset.Latest:
		return ModeLatest
	case offset.Current:
		return ModeGroupOffsets
	case offset.AtTime:
		return ModeTimestamp
	}
	return ModeSpecific
}

// String is how the start is named in messages.
func (s Start) String() string {
	switch m := s.Mode(); m {
	case ModeTimestamp:
		return string(m) + " " + offset.FormatTime(s.Position.At.Time)
	case ModeSpecific:
		if s.Position.Kind != offset.ByPartition {
			return s.Position.String()
		}
		return string(m)
	default:
		return string(m)
	}
}

// ParseMode reads a start mode. The error is an *Error of kind Usage.
func ParseMode(s string) (Mode, error) {
	low := strings.ToLower(s)
	for _, m := range Modes() {
		if low == string(m) {
			return m, nil
		}
	}
	hint := "use earliest-offset, latest-offset, group-offsets, timestamp or specific-offsets"
	switch low {
	case "earliest", "latest":
		hint = "did you mean " + low + "-offset?"
	case "group", "committed":
		hint = "did you mean group-offsets?"
	case "specific":
		hint = "did you mean specific-offsets?"
	}
	return "", usagef(hint, "start mode %q is not one of the five", s)
}

// ParseStart reads a start mode with its companions: the milliseconds of timestamp, and the offsets of specific-offsets,
// whose partitions belong to the one topic unless they name their own. A companion that is missing is an error; one of
// another mode is returned in unused. The errors are an *Error of kind Usage or an *offset.SyntaxError.
func ParseStart(mode, millis, offsets, topic string) (s Start, unused []string, err error) {
	m, err := ParseMode(mode)
	if err != nil {
		return Start{}, nil, err
	}
	if millis != "" && m != ModeTimestamp {
		unused = append(unused, "timestamp-millis")
	}
	if offsets != "" && m != ModeSpecific {
		unused = append(unused, "specific-offsets")
	}
	p := offset.Position{Text: string(m)}
	switch m {
	case ModeEarliest:
		p.Kind = offset.Earliest
	case ModeLatest:
		p.Kind = offset.Latest
	case ModeGroupOffsets:
		p.Kind = offset.Current
	case ModeTimestamp:
		if millis == "" {
			return Start{}, nil, usagef("give it: {{startup-timestamp-millis}}, scan.startup.timestamp-millis, or {{start @TIME}}", "start mode timestamp needs its instant, in milliseconds since 1970")
		}
		p.Kind = offset.AtTime
		if p.At, err = parseMillis(millis); err != nil {
			return Start{}, nil, err
		}
	case ModeSpecific:
		if offsets == "" {
			return Start{}, nil, usagef("give them: {{startup-specific-offsets 'partition:0,offset:42;partition:1,offset:300'}}", "start mode specific-offsets needs its offsets")
		}
		p.Kind = offset.ByPartition
		if p.Map, err = ParseSpecificOffsets(offsets, topic); err != nil {
			return Start{}, nil, err
		}
	}
	return Start{Position: &p}, unused, nil
}

// parseMillis reads Flink's timestamp-millis: a plain number of milliseconds since 1970, of any size that is a time.
func parseMillis(s string) (offset.Instant, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return offset.Instant{}, usagef("write milliseconds since 1970, such as 1672502400000", "timestamp-millis %q is not a number of milliseconds", s)
	}
	t := time.UnixMilli(n).UTC()
	if t.Year() > 9999 {
		return offset.Instant{}, usagef("was the unit right?", "timestamp-millis %s is after the year 9999", s)
	}
	return offset.Instant{Time: t}, nil
}

// ParseSpecificOffsets reads Flink's form, partition:0,offset:42;partition:1,offset:300, with koffset's extension for
// several topics, topic:orders,partition:0,offset:42. Without a topic of its own an entry belongs to topic, which is empty
// where several are read. Spaces around entries and a last semicolon are allowed; a partition that stands twice is an
// error, where Flink takes the last. The error is an *Error of kind Usage.
func ParseSpecificOffsets(s, topic string) (map[offset.Partition]offset.Position, error) {
	const form = "write partition:0,offset:42;partition:1,offset:300, or topic:orders,partition:0,offset:42 with several topics"
	out := map[offset.Partition]offset.Position{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(s), ";"), ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			return nil, usagef(form, "specific-offsets %q has an empty entry", s)
		}
		fields := map[string]string{}
		for f := range strings.SplitSeq(entry, ",") {
			k, v, ok := strings.Cut(strings.TrimSpace(f), ":")
			if _, twice := fields[k]; !ok || twice || k != "topic" && k != "partition" && k != "offset" {
				return nil, usagef(form, "specific-offsets: %q is not a partition and an offset", entry)
			}
			fields[k] = strings.TrimSpace(v)
		}
		part := offset.Partition{Topic: topic}
		if t, own := fields["topic"]; own {
			part.Topic = t
		}
		if part.Topic == "" {
			return nil, usagef("with several topics write topic:NAME before each partition", "specific-offsets: %q names no topic", entry)
		}
		n, err := strconv.ParseInt(fields["partition"], 10, 32)
		if err != nil || n < 0 {
			return nil, usagef(form, "specific-offsets: %q has no partition number", entry)
		}
		part.Partition = int32(n)
		pos, err := offset.ParseOffset(fields["offset"])
		if err != nil {
			return nil, usagef(form, "specific-offsets: %q has no offset: %w", entry, err)
		}
		if _, twice := out[part]; twice {
			return nil, usagef("", "specific-offsets: %s is listed twice", part)
		}
		out[part] = pos
	}
	return out, nil
}
