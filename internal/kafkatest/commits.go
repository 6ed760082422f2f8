package kafkatest

// Commits, written and read raw: any number, epoch and metadata, as only a broken client would.

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Committed is one partition's commit as the broker stores it. Offset may be negative: a broker accepts that.
type Committed struct {
	Topic       string
	Partition   int32
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// At is a commit without leader epoch and metadata.
func At(topic string, partition int32, offset int64) Committed {
	return Committed{Topic: topic, Partition: partition, Offset: offset, LeaderEpoch: -1}
}

// Commit stores commits for a group as an assigned consumer does: generation -1, no member. It fails the test on any
// partition's error; [TryCommit] hands them back.
func Commit(t testing.TB, cl *kgo.Client, group string, commits ...Committed) {
	t.Helper()
	for i, err := range TryCommit(t, cl, group, commits...) {
		if err != nil {
			c := commits[i]
			t.Fatalf("commit %d on %s[%d] for %s: %v", c.Offset, c.Topic, c.Partition, group, err)
		}
	}
}

// TryCommit is [Commit] with one error per commit, in the order given. The errors are kerr's.
func TryCommit(t testing.TB, cl *kgo.Client, group string, commits ...Committed) []error {
	t.Helper()
	ids := topicIDs(t, cl, commits)
	req := commitRequest(group, commits, ids)

	// A new cluster creates its offsets topic at the first commit and answers COORDINATOR_NOT_AVAILABLE until then.
	var resp *kmsg.OffsetCommitResponse
	Until(t, "the coordinator of "+group+" takes commits", func() bool {
		var err error
		if resp, err = req.RequestWith(t.Context(), cl); err != nil {
			if kerr.IsRetriable(err) {
				return false
			}
			t.Fatalf("commit for %s: %v", group, err)
		}
		return true
	})

	type key struct {
		topic     string
		id        [16]byte // where the answer has no names
		partition int32
	}
	byName := resp.Version < 10
	codes := make(map[key]int16)
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			k := key{id: rt.TopicID, partition: rp.Partition}
			if byName {
				k = key{topic: rt.Topic, partition: rp.Partition}
			}
			codes[k] = rp.ErrorCode
		}
	}
	errs := make([]error, len(commits))
	for i, c := range commits {
		k := key{id: ids[c.Topic], partition: c.Partition}
		if byName {
			k = key{topic: c.Topic, partition: c.Partition}
		}
		code, ok := codes[k]
		if !ok {
			t.Fatalf("commit for %s: the answer lacks %s[%d]", group, c.Topic, c.Partition)
		}
		errs[i] = kerr.ErrorForCode(code)
	}
	return errs
}

func commitRequest(group string, commits []Committed, ids map[string][16]byte) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	at := make(map[string]int)
	for _, c := range commits {
		i, ok := at[c.Topic]
		if !ok {
			i = len(req.Topics)
			at[c.Topic] = i
			rt := kmsg.NewOffsetCommitRequestTopic()
			// Version 10 sends the id, older ones the name.
			rt.Topic, rt.TopicID = c.Topic, ids[c.Topic]
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch = c.Partition, c.Offset, c.LeaderEpoch
		rp.Metadata = kmsg.StringPtr(c.Metadata)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	return req
}

// topicIDs looks up ids; a topic that is unknown keeps the zero id, which the broker refuses as it should.
func topicIDs(t testing.TB, cl *kgo.Client, commits []Committed) map[string][16]byte {
	t.Helper()
	ids := make(map[string][16]byte)
	for _, c := range commits {
		if _, ok := ids[c.Topic]; ok {
			continue
		}
		ids[c.Topic] = [16]byte{}
		if tp, ok := topicMetadata(t, cl, c.Topic); ok {
			ids[c.Topic] = tp.TopicID
		}
	}
	return ids
}

// Commits reads all commits of a group with one raw OffsetFetch, without RequireStable: topic, then partition. A partition that
// the broker answers -1 for without an error has no commit and is left out; a stored -1 looks the same, as it does to every client.
// A group that does not exist has no commits.
func Commits(t testing.TB, cl *kgo.Client, group string) map[string]map[int32]Committed {
	t.Helper()
	req := fetchOf(group)
	var resp *kmsg.OffsetFetchResponse
	Until(t, "the coordinator of "+group+" answers", func() bool {
		var err error
		resp, err = req.RequestWith(t.Context(), cl)
		if err == nil && len(resp.Groups) == 1 {
			err = kerr.ErrorForCode(resp.Groups[0].ErrorCode)
		}
		switch {
		case err == nil, err == kerr.GroupIDNotFound: // kfake says so where Kafka answers nothing
			return true
		case errors.As(err, new(*kerr.Error)) && !kerr.IsRetriable(err):
			t.Fatalf("fetch the commits of %s: %v", group, err)
		}
		return false // a coordinator that is gone is dialled until the client has heard of another
	})
	return commitsIn(t, cl, group, resp)
}

func fetchOf(group string) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	rg := kmsg.NewOffsetFetchRequestGroup()
	rg.Group = group
	req.Groups = append(req.Groups, rg)
	return req
}

// AgreedOffsets is [CommittedOffsets] of a group whose coordinator moves. A broker that has not yet heard that it is the
// coordinator no more answers from its memory, without what was committed to the next one since, and for a moment it may be the only
// one that answers. So a commit of the probe is asked of the same broker first: a group of the same partition of the offsets topic,
// which only its true leader can store. Nothing else may commit to the group meanwhile.
func AgreedOffsets(t testing.TB, cl *kgo.Client, nodes []int32, group, probe, topic string) map[int32]int64 {
	t.Helper()
	offsets := make(map[int32]int64)
	Until(t, "the coordinator of "+group+" stores and answers", func() bool {
		for _, node := range nodes {
			broker := cl.Broker(int(node))
			if !stores(t, cl, broker, probe, topic) {
				continue
			}
			resp, err := broker.Request(t.Context(), fetchOf(group))
			if err != nil {
				continue
			}
			got := resp.(*kmsg.OffsetFetchResponse)
			if kerr.ErrorForCode(got.Groups[0].ErrorCode) != nil {
				continue
			}
			for p, c := range commitsIn(t, cl, group, got)[topic] {
				offsets[p] = c.Offset
			}
			return true
		}
		return false
	})
	return offsets
}

// stores says that a broker took a commit of the group on partition 0 of the topic.
func stores(t testing.TB, cl *kgo.Client, broker *kgo.Broker, group, topic string) bool {
	t.Helper()
	commits := []Committed{At(topic, 0, 0)}
	req := commitRequest(group, commits, topicIDs(t, cl, commits))
	resp, err := broker.Request(t.Context(), req)
	if err != nil {
		return false
	}
	got := resp.(*kmsg.OffsetCommitResponse)
	return len(got.Topics) == 1 && len(got.Topics[0].Partitions) == 1 && got.Topics[0].Partitions[0].ErrorCode == 0
}

// commitsIn is what an answer says.
func commitsIn(t testing.TB, cl *kgo.Client, group string, resp *kmsg.OffsetFetchResponse) map[string]map[int32]Committed {
	t.Helper()
	commits := make(map[string]map[int32]Committed)
	for _, g := range resp.Groups {
		for _, rt := range g.Topics {
			name := rt.Topic
			if name == "" {
				name = topicName(t, cl, rt.TopicID)
			}
			for _, rp := range rt.Partitions {
				if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
					t.Fatalf("commit of %s on %s[%d]: %v", group, name, rp.Partition, err)
				}
				if rp.Offset == -1 {
					continue
				}
				c := Committed{Topic: name, Partition: rp.Partition, Offset: rp.Offset, LeaderEpoch: rp.LeaderEpoch}
				if rp.Metadata != nil {
					c.Metadata = *rp.Metadata
				}
				if commits[name] == nil {
					commits[name] = make(map[int32]Committed)
				}
				commits[name][rp.Partition] = c
			}
		}
	}
	return commits
}

// CommittedOffsets is the offsets of [Commits] on one topic, by partition.
func CommittedOffsets(t testing.TB, cl *kgo.Client, group, topic string) map[int32]int64 {
	t.Helper()
	offsets := make(map[int32]int64)
	for p, c := range Commits(t, cl, group)[topic] {
		offsets[p] = c.Offset
	}
	return offsets
}

func topicName(t testing.TB, cl *kgo.Client, id [16]byte) string {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.TopicID = id
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || len(resp.Topics) != 1 || resp.Topics[0].Topic == nil {
		t.Fatalf("name of topic %x: %v", id, err)
	}
	return *resp.Topics[0].Topic
}
