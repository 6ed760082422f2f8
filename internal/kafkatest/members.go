package kafkatest

// Live members: real consumers that poll until they are closed.

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// MemberOptions say who joins what.
type MemberOptions struct {
	Group    string
	Topics   []string
	ClientID string // empty means "kafkatest"
	// InstanceID makes a static member: closing it does not leave the group, which stays non-empty until the session times out
	// or [kadm.Client.LeaveGroup] removes the instance.
	InstanceID string
	// AutoCommit commits what was polled every 100 ms and on close. Without it the member never commits, so it cannot move
	// what a test looks at.
	AutoCommit bool
}

// Member is a live member of a group.
type Member struct {
	once  sync.Once
	leave func()
}

// Close ends the member; a dynamic member has left the group when it returns. Several calls are one. The test's end calls it too.
func (m *Member) Close() { m.once.Do(m.leave) }

// JoinClassic adds a consumer by the classic protocol and waits until the group is stable with it.
func JoinClassic(t testing.TB, cl *kgo.Client, o MemberOptions) *Member {
	t.Helper()
	return joinConsumer(t, cl, o)
}

// Join848 adds a consumer by the KIP-848 protocol and waits until the group is stable with it.
func Join848(t testing.TB, cl *kgo.Client, o MemberOptions) *Member {
	t.Helper()
	return joinConsumer(t, cl, o, kgo.ServerSideBalancer())
}

func joinConsumer(t testing.TB, cl *kgo.Client, o MemberOptions, opts ...kgo.Opt) *Member {
	t.Helper()
	opts = append(opts, kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topics...), kgo.ClientID(o.clientID()),
		// Below the default 3 s: a member notices that another joined at its next heartbeat.
		kgo.HeartbeatInterval(200*time.Millisecond))
	if o.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(o.InstanceID))
	}
	if o.AutoCommit {
		opts = append(opts, kgo.AutoCommitInterval(100*time.Millisecond))
	} else {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	m := poll(t, derive(t, cl, opts...))
	Until(t, o.clientID()+" is a member of the stable group "+o.Group, func() bool { return inConsumerGroup(t, cl, o) })
	return m
}

func (o MemberOptions) clientID() string {
	if o.ClientID == "" {
		return "kafkatest"
	}
	return o.ClientID
}

// poll consumes in the background until the member is closed.
func poll(t testing.TB, consumer *kgo.Client) *Member {
	ctx, cancel := context.WithCancel(context.Background()) // the test's own context ends before its cleanups run
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			consumer.PollFetches(ctx)
		}
	}()
	m := &Member{leave: func() {
		cancel()
		<-over
		consumer.Close()
	}}
	t.Cleanup(m.Close)
	return m
}

// inConsumerGroup asks by both calls: a group that began as KIP-848 keeps its type when a classic member joins it.
func inConsumerGroup(t testing.TB, cl *kgo.Client, o MemberOptions) bool {
	t.Helper()
	adm := kadm.NewClient(cl)
	// Errors mean "not yet": the coordinator is loading, or the group is of the other type.
	if ds, err := adm.DescribeGroups(t.Context(), o.Group); err == nil && ds[o.Group].State == "Stable" {
		for _, m := range ds[o.Group].Members {
			if m.ClientID == o.clientID() && sameInstance(m.InstanceID, o.InstanceID) {
				return true
			}
		}
	}
	if ds, err := adm.DescribeConsumerGroups(t.Context(), o.Group); err == nil && ds[o.Group].State == "Stable" {
		for _, m := range ds[o.Group].Members {
			if m.ClientID == o.clientID() && sameInstance(m.InstanceID, o.InstanceID) {
				return true
			}
		}
	}
	return false
}

func sameInstance(have *string, want string) bool {
	return have == nil && want == "" || have != nil && *have == want
}

// JoinShare adds a share consumer (KIP-932) and waits until the group is stable with it. A share group starts at the end of its
// topics unless its config share.auto.offset.reset says earliest: see [SetGroupConfig].
func JoinShare(t testing.TB, cl *kgo.Client, o MemberOptions) *Member {
	t.Helper()
	m := poll(t, derive(t, cl, kgo.ShareGroup(o.Group), kgo.ConsumeTopics(o.Topics...), kgo.ClientID(o.clientID())))
	Until(t, o.clientID()+" is a member of the stable share group "+o.Group, func() bool {
		ds, err := kadm.NewClient(cl).DescribeShareGroups(t.Context(), o.Group)
		if err != nil || ds[o.Group].GroupState != "Stable" {
			return false
		}
		for _, m := range ds[o.Group].Members {
			if m.ClientID == o.clientID() {
				return true
			}
		}
		return false
	})
	return m
}

// SetGroupConfig sets one config of a group.
func SetGroupConfig(t testing.TB, cl *kgo.Client, group, key, value string) {
	t.Helper()
	setConfig(t, cl, kmsg.ConfigResourceTypeGroupConfig, group, key, value)
}

// SetTopicConfig sets one dynamic configuration of a topic.
func SetTopicConfig(t testing.TB, cl *kgo.Client, topic, key, value string) {
	t.Helper()
	setConfig(t, cl, kmsg.ConfigResourceTypeTopic, topic, key, value)
}

func setConfig(t testing.TB, cl *kgo.Client, kind kmsg.ConfigResourceType, name, key, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, kmsg.StringPtr(value)
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(t.Context(), cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("set %s=%s of %s %s: %v", key, value, kind, name, err)
	}
}

// WaitGroupState waits until the classic describe call shows group in state, "Empty" for one.
func WaitGroupState(t testing.TB, cl *kgo.Client, group, state string) {
	t.Helper()
	Until(t, "group "+group+" is "+state, func() bool {
		ds, err := kadm.NewClient(cl).DescribeGroups(t.Context(), group)
		return err == nil && ds[group].State == state
	})
}
