package offset

import (
	"github.com/koffset/koffset/internal/text"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// TopicSpec is what --topic takes: a topic, or some of its partitions.
type TopicSpec struct {
	Topic      string
	Partitions []int32 // sorted, each once; empty means all
}

// String is the form that ParseTopicSpec reads.
func (t TopicSpec) String() string {
	if len(t.Partitions) == 0 {
		return t.Topic
	}
	return t.Topic + ":" + FormatPartitionSet(t.Partitions)
}

// ParseTopicSpec reads t, or t:0,2-5 (both ends inclusive). The error is a *SyntaxError.
func ParseTopicSpec(s string) (TopicSpec, error) {
	topic, nums, has := strings.Cut(s, ":")
	if err := CheckTopicName(topic); err != nil {
		return TopicSpec{}, err
	}
	if !has {
		return TopicSpec{Topic: topic}, nil
	}
	set, err := ParsePartitionSet(nums)
	if err != nil {
		return TopicSpec{}, syntaxf(s, "write TOPIC:0,2-5", "topic %q: %v", topic, err)
	}
	return TopicSpec{Topic: topic, Partitions: set}, nil
}

// ParseTopicSpecs reads one or more topics with commas between them: orders,audit or orders:0,2-5,audit. A number after a comma is
// a partition where the topic before it names partitions, and a topic otherwise. The error is a *SyntaxError.
func ParseTopicSpecs(s string) ([]TopicSpec, error) {
	var texts []string
	for part := range strings.SplitSeq(s, ",") {
		if n := len(texts) - 1; n >= 0 && strings.Contains(texts[n], ":") && (partitionRange.MatchString(part) || part == "") {
			texts[n] += "," + part
			continue
		}
		texts = append(texts, part)
	}
	out := make([]TopicSpec, 0, len(texts))
	for _, text := range texts {
		spec, err := ParseTopicSpec(text)
		if err != nil {
			return nil, err
		}
		out = append(out, spec)
	}
	return out, nil
}

var partitionRange = regexp.MustCompile(`^\d+(-\d+)?$`)

// maxPartitionSet keeps 0-2147483647 from asking for gigabytes; the widest topics known have tens of thousands.
const maxPartitionSet = 100_000

// ParsePartitionSet reads 0,2-5 (both ends inclusive) into a sorted list. The error is a *SyntaxError.
func ParsePartitionSet(s string) ([]int32, error) {
	if s == "" {
		return nil, syntaxf(s, "write numbers such as 0,2-5", "no partition is named")
	}
	var out []int32
	for part := range strings.SplitSeq(s, ",") {
		a, b, ranged := strings.Cut(part, "-")
		if !ranged {
			b = a
		}
		if a == "" || b == "" {
			return nil, syntaxf(s, "write numbers such as 0,2-5", "%q is not a partition or a range of them", part)
		}
		lo, err := parsePartitionNumber(a)
		if err != nil {
			return nil, syntaxf(s, "write numbers such as 0,2-5", "%v", err)
		}
		hi, err := parsePartitionNumber(b)
		if err != nil {
			return nil, syntaxf(s, "write numbers such as 0,2-5", "%v", err)
		}
		if hi < lo {
			return nil, syntaxf(s, "", "range %s ends before it begins", part)
		}
		if int64(hi)-int64(lo)+int64(len(out)) >= maxPartitionSet {
			return nil, syntaxf(s, "", "range %s holds more than %s", part, text.Plural(maxPartitionSet, "partition"))
		}
		for n := int64(lo); n <= int64(hi); n++ {
			out = append(out, int32(n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// FormatPartitionSet is the short form of a sorted list: 0,2-5.
func FormatPartitionSet(set []int32) string {
	var b []byte
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(set[i]), 10)
		if j > i {
			b = append(b, '-')
			b = strconv.AppendInt(b, int64(set[j]), 10)
		}
		i = j + 1
	}
	return string(b)
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// CheckTopicName applies Kafka's own rule (Topic.validate: letters, digits, '.', '_' and '-', 1 to 249 characters, not
// "." or ".."), so that a typing error is not sent to a broker. The error is a *SyntaxError.
func CheckTopicName(s string) error {
	switch {
	case s == "":
		return syntaxf(s, "", "the topic name is empty")
	case len(s) > 249:
		return syntaxf(s, "", "the topic name has %d characters, Kafka allows 249", len(s))
	case s == "." || s == ".." || !topicName.MatchString(s):
		return syntaxf(s, "letters, digits, '.', '_' and '-' are allowed", "%q cannot be a topic name", s)
	}
	return nil
}

// Matcher chooses names: literal names, anchored patterns, and patterns that exclude. A literal name always wins.
type Matcher struct {
	names   map[string]bool
	match   []*regexp.Regexp
	exclude []*regexp.Regexp
}

// NewMatcher compiles anchored regular expressions (RE2). Without names and patterns it matches everything that is not
// excluded. A name may be empty: whether one can be is the caller's to know. The error is a *SyntaxError that names the flag.
func NewMatcher(what string, names, match, exclude []string) (*Matcher, error) {
	m := &Matcher{names: map[string]bool{}}
	for _, n := range names {
		m.names[n] = true
	}
	compile := func(flag string, in []string) (out []*regexp.Regexp, err error) {
		for _, s := range in {
			if s == "" {
				return nil, syntaxf(s, "use .* for everything", "--%s-%s is empty", what, flag)
			}
			re, err := regexp.Compile(s) // as it was typed: what is wrong is quoted from it
			if err == nil {
				re, err = regexp.Compile(`^(?:` + s + `)$`)
			}
			if err != nil {
				return nil, syntaxf(s, "patterns are RE2 and match the whole name", "--%s-%s %q: %v", what, flag, s, err)
			}
			out = append(out, re)
		}
		return out, nil
	}
	var err error
	if m.match, err = compile("match", match); err != nil {
		return nil, err
	}
	if m.exclude, err = compile("exclude", exclude); err != nil {
		return nil, err
	}
	return m, nil
}

// All says that nothing restricts the matcher.
func (m *Matcher) All() bool { return len(m.names) == 0 && len(m.match) == 0 && len(m.exclude) == 0 }

// Match says whether a name is chosen.
func (m *Matcher) Match(name string) bool {
	if m.names[name] {
		return true
	}
	if len(m.match) == 0 {
		if len(m.names) > 0 {
			return false
		}
	} else if !slices.ContainsFunc(m.match, func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
		return false
	}
	return !slices.ContainsFunc(m.exclude, func(r *regexp.Regexp) bool { return r.MatchString(name) })
}
