package offset

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Clock is what a position word needs to become an instant: the present, and the zone of times that name none (UTC when
// nil).
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

// zone is the zone of times that name none: UTC, if nothing else was said.
func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// mapEntry finds where an entry of a per-partition map begins, so that a comma inside a value does not end it.
var mapEntry = regexp.MustCompile(`(?:^|,)([^,=:\s]+):([0-9]+(?:-[0-9]+)?)=`)

// ParsePosition reads a position word. The error is a *SyntaxError with the form to use instead.
func ParsePosition(word string, role Role, clock Clock) (Position, error) {
	if loc := mapEntry.FindStringIndex(word); loc != nil && loc[0] == 0 {
		return parseMap(word, role, clock)
	}
	p, err := parseWord(word, role, clock)
	p.Text = word
	return p, err
}

func parseWord(word string, role Role, clock Clock) (Position, error) {
	const forms = "use earliest, latest, current, an offset, start+N, end-N, current+N, current-N, @TIME, @-2h, max-timestamp, current@TIME, group:G, group:G@TIME, file:F, checkpoint:DIR or store:URL"
	switch word {
	case "":
		return Position{}, syntaxf(word, forms, "the position is empty")
	case "earliest", "start", "earliest-offset", "beginning", "oldest", "smallest":
		return Position{Kind: Earliest}, nil
	case "latest", "end", "latest-offset", "newest", "largest":
		return Position{Kind: Latest}, nil
	case "current", "committed":
		return Position{Kind: Current}, nil
	case "max-timestamp":
		return Position{Kind: MaxTimestamp}, nil
	case "earliest-local":
		return Position{Kind: LocalStart}, nil
	case "latest-tiered":
		return Position{Kind: TieredEnd}, nil
	}
	if p, ok, err := parseElsewhere(word, clock); ok {
		return p, err
	}
	if at, ok := strings.CutPrefix(word, "@"); ok {
		i, err := parseAt(at, clock)
		return Position{Kind: AtTime, At: i}, err
	}
	if isBareTime(word) {
		i, err := parseAt(word, clock)
		return Position{Kind: AtTime, At: i}, err
	}
	for _, k := range []struct {
		prefix string
		kind   Kind
		sign   int64
	}{{"start+", FromStart, 1}, {"end-", FromEnd, 1}, {"current+", FromCurrent, 1}, {"current-", FromCurrent, -1}} {
		if rest, ok := strings.CutPrefix(word, k.prefix); ok {
			n, err := parseCount(word, rest)
			return Position{Kind: k.kind, N: k.sign * n}, err
		}
	}
	switch word[0] {
	case '+', '-':
		return parseSigned(word, role)
	}
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		if n > math.MaxInt64 {
			return Position{}, syntaxf(word, "", "offset %s is larger than any offset", word)
		}
		return Position{Kind: Exact, N: int64(n)}, nil
	}
	if strings.HasPrefix(word, "start-") || strings.HasPrefix(word, "end+") {
		return Position{}, syntaxf(word, "use start+N or end-N", "%q is outside the log", word)
	}
	return Position{}, syntaxf(word, meantWord(word, clock, forms), "%q is not a position", word)
}

// parseElsewhere reads the words that name where offsets lie, or when a group had them; ok is false for other words.
func parseElsewhere(word string, clock Clock) (p Position, ok bool, err error) {
	for _, prefix := range []string{"current@", "committed@"} {
		if at, ok := strings.CutPrefix(word, prefix); ok {
			i, err := parseAt(at, clock)
			return Position{Kind: CurrentAt, At: i}, true, err
		}
	}
	kind, ref, ok := refKind(word)
	switch {
	case !ok:
		return Position{}, false, nil
	case ref == "":
		return Position{}, true, syntaxf(word, "write the name after the colon", "%q names nothing", word)
	case kind == OfGroup:
		p, err = ofGroup(ref, clock)
		return p, true, err
	}
	return Position{Kind: kind, Ref: ref}, true, nil
}

// isBareTime recognizes the words that can only be a time, so that their @ may be left out: a date, with or without the time
// of day, -2h (a distance in offsets has no unit), now, today and yesterday. A number stays an offset, whatever its length.
func isBareTime(word string) bool {
	body, _, _ := strings.Cut(word, "/")
	if stampForm.MatchString(body) || isDayWord(body) {
		return true
	}
	return strings.HasPrefix(body, "-") && isDuration(body[1:])
}

// isDuration says that a word is a length of time with its unit.
func isDuration(s string) bool {
	_, err := ParseDuration(s)
	return err == nil && s != "0"
}

// clockForm is a time of day alone, entryForm an entry of a map without its partition.
var (
	clockForm = regexp.MustCompile(`^(\d{1,2}):(\d{2})(?::(\d{2}))?$`)
	entryForm = regexp.MustCompile(`^([a-zA-Z0-9._-]+)=(.+)$`)
)

// meantWord is the hint for what is nearly a position word.
func meantWord(word string, clock Clock, otherwise string) string {
	if m := entryForm.FindStringSubmatch(word); m != nil {
		return "write " + m[1] + ":0=" + m[2] + ", with the partition"
	}
	return meantClock("@", word, clock, otherwise)
}

// meantClock is the hint for a time of day without its day: the last one that has come, behind an @ where one belongs.
func meantClock(at, word string, clock Clock, otherwise string) string {
	m := clockForm.FindStringSubmatch(word)
	if m == nil {
		return meantTime(word, otherwise)
	}
	h, _ := strconv.Atoi(m[1])
	mins, _ := strconv.Atoi(m[2])
	secs, _ := strconv.Atoi(m[3])
	if h > 23 || mins > 59 || secs > 59 {
		return otherwise
	}
	zone := clock.zone()
	y, mo, d := clock.Now.In(zone).Date()
	when := time.Date(y, mo, d, h, mins, secs, 0, zone)
	if when.After(clock.Now) {
		when = time.Date(y, mo, d-1, h, mins, secs, 0, zone)
	}
	return "write " + at + FormatTimeIn(when, zone) + ", with the day"
}

// meantTime is the hint for a word that lacks what would make it a time, or else the general one: 2h could be two hours ago
// or two hours from the start.
func meantTime(word, otherwise string) string {
	switch digits := strings.TrimRight(word, "smuµn"); {
	case epochForm.MatchString(word) && len(digits) >= 10 && digits != word:
		return "write @" + word + " for that epoch"
	case isDuration(word):
		return "write @-" + word + " for " + word + " ago"
	case word == "last" || word == "tail":
		return "write end-1 for the last record of each partition, end-10 for the last ten, latest for the log end"
	case word == "first":
		return "write earliest for the log start"
	}
	return otherwise
}

// parseSigned reads a bare +10 or -10. In a reset it is a shift; as a start it is refused, because other tools read it as
// "the last ten", and a silent difference of meaning here loses or repeats records.
func parseSigned(word string, role Role) (Position, error) {
	n, err := parseCount(word, word[1:])
	if err != nil {
		return Position{}, err
	}
	minus := word[0] == '-'
	switch role {
	case RoleEnd:
		if minus {
			return Position{}, syntaxf(word, "use end"+word+" for a distance from the log end", "%q: an end cannot lie before the start", word)
		}
		return Position{Kind: AfterStart, N: n}, nil
	case RoleStart:
		return Position{}, syntaxf(word, "use end-"+word[1:]+" for the last "+word[1:]+", current"+word+" for a distance from the commit",
			"%q is ambiguous as a start", word)
	}
	if minus {
		n = -n
	}
	return Position{Kind: FromCurrent, N: n}, nil
}

func parseCount(word, digits string) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' {
		return 0, syntaxf(word, "write a whole number of offsets", "%q: %q is not a number of offsets", word, digits)
	}
	return n, nil
}

// ParseOffset reads a plain offset, as --to-offset takes it. Kafka's negative markers are refused with the word to use.
func ParseOffset(s string) (Position, error) {
	switch s {
	case "-1":
		return Position{}, syntaxf(s, "use latest for the log end", "-1 is not an offset")
	case "-2":
		return Position{}, syntaxf(s, "use earliest for the log start", "-2 is not an offset")
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || s[0] == '+' {
		return Position{}, syntaxf(s, "an offset is a whole number from 0 on", "%q is not an offset", s)
	}
	return Position{Kind: Exact, N: n, Text: s}, nil
}

// ParseShift reads a signed distance, as --shift-by takes it.
func ParseShift(s string) (Position, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return Position{}, syntaxf(s, "a shift is a whole number, such as -100 or 100", "%q is not a distance in offsets", s)
	}
	return Position{Kind: FromCurrent, N: n, Text: s}, nil
}

func parseMap(word string, role Role, clock Clock) (Position, error) {
	p := Position{Kind: ByPartition, Text: word, Map: map[Partition]Position{}}
	starts := mapEntry.FindAllStringSubmatchIndex(word, -1)
	for i, m := range starts {
		end := len(word)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		topic, nums, value := word[m[2]:m[3]], word[m[4]:m[5]], word[m[1]:end]
		sub, err := parseWord(value, role, clock)
		if err != nil {
			return Position{}, err
		}
		sub.Text = value
		set, err := ParsePartitionSet(nums)
		if err != nil {
			return Position{}, err
		}
		for _, n := range set {
			part := Partition{topic, n}
			if _, twice := p.Map[part]; twice {
				return Position{}, syntaxf(word, "", "%s is listed twice", part)
			}
			p.Map[part] = sub
		}
	}
	return p, nil
}
