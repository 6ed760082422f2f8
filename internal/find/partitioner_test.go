package find

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitions that Kafka's own murmur2 (org.apache.kafka.common.utils.UtilsTest) and librdkafka's tests give, and what kgo
// computes for the clients that it imitates.
func TestPartitioners(t *testing.T) {
	t.Parallel()
	sarama := kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(func(b []byte) uint32 {
		h := fnv.New32a()
		_, _ = h.Write(b)
		return h.Sum32()
	})).ForTopic("t")
	for i := range 500 {
		key := []byte(fmt.Sprint("key-", i))
		if got, _ := fnv1a.Partition(key, 12); int(got) != sarama.Partition(&kgo.Record{Key: key}, 12) {
			t.Errorf("fnv1a puts %s on %d", key, got)
		}
	}
	// UtilsTest: murmur2("21") is -973932308, "foobar" -790332482, and the partition is that without its sign bit.
	for _, c := range []struct {
		by   Partitioner
		key  string
		hash uint32
	}{
		{murmur2, "21", uint32(0xFFFFFFFF&(1<<32-973932308)) & 0x7fffffff},
		{murmur2, "foobar", uint32(0xFFFFFFFF&(1<<32-790332482)) & 0x7fffffff},
		{murmur2, "a-little-bit-long-string", uint32(0xFFFFFFFF&(1<<32-985981536)) & 0x7fffffff},
		{crc, "123456789", 0xcbf43926}, // the check value of the CRC
	} {
		for _, n := range []int32{1, 7, 12, 300} {
			if got, ok := c.by.Partition([]byte(c.key), n); !ok || got != int32(c.hash%uint32(n)) {
				t.Errorf("%s puts %q on %d of %d, not %d", c.by, c.key, got, n, c.hash%uint32(n))
			}
		}
	}
	if _, ok := crc.Partition(nil, 12); ok {
		t.Error("librdkafka puts an empty key on any partition")
	}
	if p, ok := murmur2.Partition(nil, 12); !ok || p < 0 || p > 11 {
		t.Errorf("the empty key is on %d", p)
	}
	if _, err := ParsePartitioner("random"); err == nil {
		t.Error("random is taken")
	}
}
