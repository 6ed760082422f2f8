package inspect

// The one sentence about a topic or a partition that is not there, and what its name may have meant.

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// MissingTopic says that the broker knows no topic of the name. To a user who may not describe a topic Kafka says the same.
func MissingTopic(name string) string {
	return fmt.Sprintf("topic %q does not exist, or may not be described", name)
}

// MissingPartition says that the topic has no such partition, and which it has.
func MissingPartition(t Topic, n int32) string {
	ns := t.Numbers()
	has := "one partition, 0"
	if len(ns) != 1 {
		has = text.Plural(len(ns), "partition") + ", " + offset.FormatPartitionSet(ns)
	}
	return fmt.Sprintf("partition %s:%d does not exist: the topic has %s", t.Name, n, has)
}

// partitionName is a partition as Kafka's logs and folders name it.
var partitionName = regexp.MustCompile(`^(.+)[-._](\d{1,9})$`)

// MeantTopic asks whether another topic was meant by a name that none has: a partition as Kafka's folders name it, or a slip.
// It is empty where nothing is near.
func MeantTopic(name string, topics map[string]Topic) string {
	if m := partitionName.FindStringSubmatch(name); m != nil {
		if n, err := strconv.ParseInt(m[2], 10, 32); err == nil && topics[m[1]].Err == nil && topics[m[1]].Has(int32(n)) {
			return "did you mean " + m[1] + ":" + m[2] + ", partition " + m[2] + " of " + m[1] + "?"
		}
	}
	if near := text.Near(name, VisibleNames(topics)); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}
