package find

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitioner is how a producer chose the partition of a key.
type Partitioner string

// The partitioners that producers have as their default or offer.
const (
	murmur2 Partitioner = "murmur2" // the Java client, franz-go, and librdkafka's murmur2
	crc     Partitioner = "crc32"   // librdkafka's consistent_random, its default: Python, Go, .NET, kcat
	fnv1a   Partitioner = "fnv1a"   // sarama
)

// Partitioners are all of them.
func Partitioners() []string { return []string{string(murmur2), string(crc), string(fnv1a)} }

// ParsePartitioner reads the word.
func ParsePartitioner(s string) (Partitioner, error) {
	switch p := Partitioner(s); p {
	case murmur2, crc, fnv1a:
		return p, nil
	}
	return "", fmt.Errorf("%q is not a partitioner that is known", s)
}

// Partition is where a producer with that partitioner puts a key on a topic of n partitions. It knows nothing of producers that
// choose partitions themselves, or of records from when the topic had fewer. ok is false for a key that it deals out at random:
// librdkafka's does so with the empty one.
func (p Partitioner) Partition(key []byte, n int32) (partition int32, ok bool) {
	switch p {
	case crc:
		return int32(crc32.ChecksumIEEE(key) % uint32(n)), len(key) > 0
	case fnv1a:
		h := fnv.New32a()
		_, _ = h.Write(key) // never an error
		in := int32(h.Sum32()) % n
		return max(in, -in), true
	}
	if key == nil {
		key = []byte{}
	}
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: key}, int(n))), true
}
