package kafkatest

// Topics and records: create, produce with chosen times, delete records, read the bounds.

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic creates a topic with replication factor 1 and retention.ms=-1, and waits until every partition has a leader. Fixtures
// use CreateTimes of years ago: with any other retention a real broker removes them within seconds. configs is a flat list
// of key, value pairs that is set on top.
func CreateTopic(t testing.TB, cl *kgo.Client, topic string, partitions int32, configs ...string) {
	t.Helper()
	if len(configs)%2 != 0 {
		t.Fatalf("create topic %s: %d config strings do not make pairs", topic, len(configs))
	}
	retention := "-1"
	all := map[string]*string{"retention.ms": &retention}
	for i := 0; i < len(configs); i += 2 {
		all[configs[i]] = &configs[i+1]
	}
	Until(t, "a broker takes topic "+topic, func() bool {
		resp, err := kadm.NewClient(cl).CreateTopic(t.Context(), partitions, 1, all, topic)
		if err == nil {
			err = resp.Err
		}
		if errors.Is(err, kerr.InvalidReplicationFactor) {
			return false // one replica is too many while the controller has heard of no broker for a session: a busy machine
		}
		if err != nil {
			t.Fatalf("create topic %s with %d partitions: %v", topic, partitions, err)
		}
		return true
	})
	WaitLeaders(t, cl, topic, partitions)
}

// WaitLeaders waits until metadata shows topic with so many partitions, each with a leader. A real broker answers CreateTopics before
// its own metadata has caught up, and kadm hands LEADER_NOT_AVAILABLE back instead of retrying.
func WaitLeaders(t testing.TB, cl *kgo.Client, topic string, partitions int32) {
	t.Helper()
	Until(t, "all partitions of "+topic+" have a leader", func() bool {
		tp, ok := topicMetadata(t, cl, topic)
		if !ok || int32(len(tp.Partitions)) != partitions {
			return false
		}
		for _, p := range tp.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				return false
			}
		}
		return true
	})
}

// topicMetadata asks for one topic past the client's metadata cache, which may be 5 s old.
func topicMetadata(t testing.TB, cl *kgo.Client, topic string) (kmsg.MetadataResponseTopic, bool) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatalf("metadata of %s: %v", topic, err)
	}
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		return kmsg.MetadataResponseTopic{}, false
	}
	return resp.Topics[0], true
}

// DeleteTopic deletes a topic and waits until metadata no longer shows it.
func DeleteTopic(t testing.TB, cl *kgo.Client, topic string) {
	t.Helper()
	if _, err := kadm.NewClient(cl).DeleteTopic(t.Context(), topic); err != nil {
		t.Fatalf("delete topic %s: %v", topic, err)
	}
	Until(t, topic+" is gone", func() bool {
		_, ok := topicMetadata(t, cl, topic)
		return !ok
	})
}

// Record is a record for topic, partition with a CreateTime in epoch milliseconds.
func Record(topic string, partition int32, timestampMs int64, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Timestamp: time.UnixMilli(timestampMs), Value: []byte(value)}
}

// Records makes n records for one partition, with times startMs, startMs+stepMs, … and values "0", "1", ….
func Records(topic string, partition int32, n int, startMs, stepMs int64) []*kgo.Record {
	rs := make([]*kgo.Record, 0, n)
	for i := range n {
		rs = append(rs, Record(topic, partition, startMs+int64(i)*stepMs, itoa(i)))
	}
	return rs
}

// Produce writes records to the partitions they name, keeping their order within a partition, and waits for all acknowledgements.
// It may batch them; where the number of batches matters use [ProduceEach]. Each record's Offset is set afterwards.
func Produce(t testing.TB, cl *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	producer := derive(t, cl, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("produce %d records: %v", len(records), err)
	}
}

// ProduceEach writes one record a request. A broker finds a time by the largest time of a batch first, so out-of-order times are
// looked up differently when they share one.
func ProduceEach(t testing.TB, cl *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	producer := derive(t, cl, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer producer.Close()
	for _, r := range records {
		if err := producer.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("produce to %s[%d]: %v", r.Topic, r.Partition, err)
		}
	}
}

// DeleteRecords removes everything before offset, which becomes the log start.
func DeleteRecords(t testing.TB, cl *kgo.Client, topic string, partition int32, offset int64) {
	t.Helper()
	var os kadm.Offsets
	os.AddOffset(topic, partition, offset, -1)
	resp, err := kadm.NewClient(cl).DeleteRecords(t.Context(), os)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		t.Fatalf("delete records of %s[%d] before %d: %v", topic, partition, offset, err)
	}
}

// PartitionBounds are the raw numbers of one partition: Start is the first retained offset; LastStable and End are exclusive
// (End is the high watermark).
type PartitionBounds struct {
	Start, LastStable, End int64
}

// Bounds reads the bounds of partitions 0..n-1 of a topic with raw requests, so that a test does not check kadm with kadm.
func Bounds(t testing.TB, cl *kgo.Client, topic string) []PartitionBounds {
	t.Helper()
	tp, ok := topicMetadata(t, cl, topic)
	if !ok {
		t.Fatalf("bounds of %s: the topic is unknown", topic)
	}
	n := int32(len(tp.Partitions))
	starts := listOffsets(t, cl, topic, n, -2, 0)
	stable := listOffsets(t, cl, topic, n, -1, 1)
	ends := listOffsets(t, cl, topic, n, -1, 0)
	bounds := make([]PartitionBounds, n)
	for p := range bounds {
		bounds[p] = PartitionBounds{Start: starts[p].Offset, LastStable: stable[p].Offset, End: ends[p].Offset}
	}
	return bounds
}

// Listed is one partition's raw answer to ListOffsets: -1 means what the protocol means by it.
type Listed struct {
	Offset      int64
	TimestampMs int64
	LeaderEpoch int32
}

// listOffsets asks partitions 0..n-1 for a timestamp in epoch milliseconds, or for one of the protocol's negative commands.
// isolation is 0 for read_uncommitted, 1 for read_committed.
func listOffsets(t testing.TB, cl *kgo.Client, topic string, partitions int32, timestampMs int64, isolation int8) []Listed {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition = p
		rp.Timestamp = timestampMs
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	listed := make([]Listed, partitions)
	seen := 0
	for _, shard := range cl.RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatalf("list offsets of %s at %d: %v", topic, timestampMs, shard.Err)
		}
		for _, st := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, sp := range st.Partitions {
				if err := kerr.ErrorForCode(sp.ErrorCode); err != nil {
					t.Fatalf("list offsets of %s[%d] at %d: %v", topic, sp.Partition, timestampMs, err)
				}
				listed[sp.Partition] = Listed{sp.Offset, sp.Timestamp, sp.LeaderEpoch}
				seen++
			}
		}
	}
	if seen != int(partitions) {
		t.Fatalf("list offsets of %s at %d: asked for %d partitions, got %d", topic, timestampMs, partitions, seen)
	}
	return listed
}

// CreateTopicOn creates a topic with one partition for each given node, whose only replica is there.
func CreateTopicOn(t testing.TB, cl *kgo.Client, topic string, nodes ...int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, -1, -1
	for p, n := range nodes {
		ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		ra.Partition, ra.Replicas = int32(p), []int32{n}
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
	}
	c := kmsg.NewCreateTopicsRequestTopicConfig()
	c.Name, c.Value = "retention.ms", kmsg.StringPtr("-1")
	rt.Configs = append(rt.Configs, c)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("create topic %s on nodes %v: %v", topic, nodes, err)
	}
	WaitLeaders(t, cl, topic, int32(len(nodes)))
}
