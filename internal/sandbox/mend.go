// Two answers of kfake that differ from Kafka's so much that Kafka's own tools
// stumble over them, put right.

package sandbox

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// passOn is a group that is added to the requests that the sandbox makes itself,
// so that it answers those of others only. No client can hold a group of that name.
const passOn = "\x00sandbox"

// mendListGroups lets the types that a list is limited to be written in any case,
// as Kafka does. Its tools ask for "Classic" and "Consumer", kfake knows "classic"
// and "consumer", and so `--list` and `--all-groups` showed nothing at all.
func (s *Sandbox) mendListGroups(cluster int) {
	fake := s.fakes[cluster]
	fake.ControlKey(int16(kmsg.ListGroups), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		req := kreq.(*kmsg.ListGroupsRequest)
		for i, t := range req.TypesFilter {
			req.TypesFilter[i] = strings.ToLower(t)
		}
		return nil, nil, false // kfake answers, now knowing the words
	})
}

// mendDescribe adds the names of topics to descriptions of KIP-848 groups, in
// which kfake has their ids only: Kafka's tool throws on the empty name, and kadm
// shows members that read nothing. The cluster answers by asking itself and
// adding names to the answer. run ends what is still under way at Close.
func (s *Sandbox) mendDescribe(run context.Context, cluster int) error {
	inner, err := s.client(cluster, true)
	if err != nil {
		return err
	}
	fake := s.fakes[cluster]
	fake.ControlKey(int16(kmsg.ConsumerGroupDescribe), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		req := kreq.(*kmsg.ConsumerGroupDescribeRequest)
		if slices.Contains(req.Groups, passOn) {
			return nil, nil, false
		}
		// Raw: a request of another client is passed on, and not one of ours.
		ask := kmsg.NewPtrConsumerGroupDescribeRequest()
		ask.Groups = append(slices.Clone(req.Groups), passOn)
		ask.IncludeAuthorizedOperations = req.IncludeAuthorizedOperations
		got := make(chan *kmsg.ConsumerGroupDescribeResponse, 1)
		fake.SleepControl(func() { // lets the cluster go on, with that request among others
			if answer, err := inner.Broker(0).Request(run, ask); err == nil {
				resp := answer.(*kmsg.ConsumerGroupDescribeResponse)
				addTopicNames(fake, resp)
				got <- resp
			}
		})
		var resp *kmsg.ConsumerGroupDescribeResponse
		select {
		case resp = <-got:
		default: // at Close; else kfake's own answer is better than none
			return nil, nil, false
		}
		resp.Groups = slices.DeleteFunc(resp.Groups, func(g kmsg.ConsumerGroupDescribeResponseGroup) bool { return g.Group == passOn })
		resp.SetVersion(req.GetVersion())
		return resp, nil, true
	})
	return nil
}

func addTopicNames(fake *kfake.Cluster, resp *kmsg.ConsumerGroupDescribeResponse) {
	names := make(map[[16]byte]string)
	fill := func(a *kmsg.Assignment) {
		for i := range a.TopicPartitions {
			tp := &a.TopicPartitions[i]
			name, known := names[tp.TopicID]
			if !known {
				if info := fake.TopicIDInfo(tp.TopicID); info != nil {
					name = info.Topic
				}
				names[tp.TopicID] = name
			}
			tp.Topic = name
		}
	}
	for i := range resp.Groups {
		for j := range resp.Groups[i].Members {
			m := &resp.Groups[i].Members[j]
			fill(&m.Assignment)
			fill(&m.TargetAssignment)
		}
	}
}
