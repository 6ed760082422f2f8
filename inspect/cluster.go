package inspect

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// Broker is one node of the cluster.
type Broker struct {
	ID   int32
	Host string
	Port int32
}

// Cluster identifies what is being read.
type Cluster struct {
	ID      string
	Brokers []Broker

	offsets offsetsTopic
}

// ReadCluster asks any broker for the cluster's id and nodes. The error is the connection's.
func ReadCluster(ctx context.Context, cl *kgo.Client) (Cluster, error) {
	// The offsets topic comes along: the list of groups is compared with it.
	// Raw: kadm's metadata comes from a cache, and ends at the first topic that is forbidden.
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(OffsetsTopic)
	req.Topics = append(req.Topics, rt)
	resp, err := metadata(ctx, cl, req)
	if err != nil {
		return Cluster{}, fmt.Errorf("read the cluster's metadata: %w", err)
	}
	c := Cluster{offsets: newOffsetsTopic(resp)}
	if resp.ClusterID != nil {
		c.ID = *resp.ClusterID
	}
	for _, b := range resp.Brokers {
		c.Brokers = append(c.Brokers, Broker{b.NodeID, b.Host, b.Port})
	}
	slices.SortFunc(c.Brokers, func(a, b Broker) int { return int(a.ID - b.ID) })
	return c, nil
}

// Topic is a topic as the cluster's metadata has it now.
type Topic struct {
	Name     string
	ID       [16]byte // all zero on brokers before 2.8
	Internal bool
	// Partitions holds one entry a partition, by number; a number that the broker left out is not in it.
	Partitions []TopicPartition
	// Err is UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED or another of the broker's answers; nil when it is fine.
	Err error

	id string
}

// TopicPartition is one partition in a topic's metadata.
type TopicPartition struct {
	Number      int32
	Leader      int32 // the broker to fetch from; -1 where there is none
	LeaderEpoch int32 // -1 where the broker does not tell
	// Replicas are the brokers that hold the partition, the preferred leader first; InSync those that have caught up.
	Replicas, InSync []int32
	Err              error // such as LEADER_NOT_AVAILABLE
}

// Numbers are the partition numbers.
func (t Topic) Numbers() []int32 {
	out := make([]int32, len(t.Partitions))
	for i, p := range t.Partitions {
		out[i] = p.Number
	}
	return out
}

// Has says whether the topic has that partition.
func (t Topic) Has(n int32) bool { _, ok := t.find(n); return ok }

func (t Topic) find(n int32) (TopicPartition, bool) {
	if n >= 0 && int(n) < len(t.Partitions) && t.Partitions[n].Number == n {
		return t.Partitions[n], true // the ordinary case: no number is missing
	}
	i, ok := slices.BinarySearchFunc(t.Partitions, n, func(p TopicPartition, n int32) int { return int(p.Number - n) })
	if !ok {
		return TopicPartition{}, false
	}
	return t.Partitions[i], true
}

// ReadTopics reads the metadata of the named topics, or of every topic that may be described when names is nil. A name
// that does not exist, or may not be seen, is in the result with its Err.
//
// It asks the broker itself: kadm's metadata is served from a cache that misses new partitions for five seconds.
func ReadTopics(ctx context.Context, cl *kgo.Client, names []string) (map[string]Topic, error) {
	out := map[string]Topic{}
	if names != nil && len(names) == 0 {
		return out, nil
	}
	// Raw: kadm's metadata comes from a cache, and ends at the first topic that is forbidden.
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	resp, err := topicMetadata(ctx, cl, req)
	if err != nil {
		return nil, fmt.Errorf("read the topics' metadata: %w", err)
	}
	for _, rt := range resp.Topics {
		if rt.Topic == nil {
			continue
		}
		t := Topic{Name: *rt.Topic, ID: rt.TopicID, id: TopicIDText(rt.TopicID), Internal: rt.IsInternal, Err: kerr.ErrorForCode(rt.ErrorCode)}
		for _, rp := range rt.Partitions {
			p := TopicPartition{Number: rp.Partition, Leader: rp.Leader, LeaderEpoch: rp.LeaderEpoch, Replicas: rp.Replicas, InSync: rp.ISR}
			// REPLICA_NOT_AVAILABLE only says that a follower is down: the leader answers.
			if rp.ErrorCode != 0 && rp.ErrorCode != kerr.ReplicaNotAvailable.Code {
				p.Err = kerr.ErrorForCode(rp.ErrorCode)
			}
			t.Partitions = append(t.Partitions, p)
		}
		slices.SortFunc(t.Partitions, func(a, b TopicPartition) int { return int(a.Number - b.Number) })
		out[t.Name] = t
	}
	for _, n := range names {
		if _, ok := out[n]; !ok {
			out[n] = Topic{Name: n, Err: kerr.UnknownTopicOrPartition}
		}
	}
	return out, nil
}

// LeaderOf is who leads a partition by the metadata of topics; ok is false where they do not say so.
func LeaderOf(topics map[string]Topic, p offset.Partition) (node int32, ok bool) {
	one, ok := topics[p.Topic].find(p.Partition)
	return one.Leader, ok && one.Err == nil && one.Leader >= 0
}

// TopicID is the topic's id as [TopicIDText] writes it, empty where the broker tells none.
func (t Topic) TopicID() string { return t.id }

// TopicIDText is how Kafka writes a topic id: unpadded URL-safe base64, 22 characters. It is empty for the zero id, which is none.
func TopicIDText(id [16]byte) string {
	if id == [16]byte{} {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// VisibleNames are the names of the topics that are no error, sorted.
func VisibleNames(topics map[string]Topic) []string {
	var out []string
	for n, t := range topics {
		if t.Err == nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
