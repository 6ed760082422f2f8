package offset

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Partition names one partition of one topic.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// String is the form used in every message and on the command line: topic:partition.
func (p Partition) String() string { return p.Topic + ":" + strconv.Itoa(int(p.Partition)) }

// Compare orders by topic, then by partition number (2 before 10).
func (p Partition) Compare(o Partition) int {
	return cmp.Or(strings.Compare(p.Topic, o.Topic), cmp.Compare(p.Partition, o.Partition))
}

// ParsePartition reads topic:partition. The error is a *SyntaxError.
func ParsePartition(s string) (Partition, error) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return Partition{}, syntaxf(s, "write TOPIC:PARTITION, such as orders:0", "%q is not a partition", s)
	}
	n, err := parsePartitionNumber(s[i+1:])
	if err != nil {
		return Partition{}, syntaxf(s, "", "%q: %v", s, err)
	}
	return Partition{Topic: s[:i], Partition: n}, nil
}

func parsePartitionNumber(s string) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || s[0] == '+' {
		return 0, fmt.Errorf("%q is not a partition number", s)
	}
	return int32(n), nil
}

// SyntaxError is input that cannot be read: what it was, what is wrong, and what to write instead.
type SyntaxError struct {
	Input   string
	Problem string
	Hint    string // may be empty
}

func (e *SyntaxError) Error() string { return e.Problem }

// ErrorKind is always usage.
func (e *SyntaxError) ErrorKind() ErrorKind { return KindUsage }

func syntaxf(input, hint, format string, args ...any) *SyntaxError {
	// What cannot be read may well be a store's URL with one letter wrong.
	return &SyntaxError{Input: Mask(input), Problem: Mask(fmt.Sprintf(format, args...)), Hint: Mask(hint)}
}
