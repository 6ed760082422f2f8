package inspect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// describeChunk bounds one describe request: a group's answer holds every member's assignment, which is large.
const describeChunk = 200

// Describe describes each group with the call of its own type, all types at once. A group without a type is asked for as
// every type, and the KIP-848 call's answer comes before the classic one's: that answers "Dead" for a live KIP-848 group
// (measured on 4.3), so its answer alone would call a running group idle.
//
// Every group that was asked for is in the result; what could not be described carries its Err, and what does not exist
// has NotFound.
func Describe(ctx context.Context, cl *kgo.Client, groups []Group) map[string]Description {
	p := newPatience(ctx)
	defer p.stop()
	return describeAll(ctx, cl, groups, p)
}

func describeAll(ctx context.Context, cl *kgo.Client, groups []Group, p *patience) map[string]Description {
	d := describer{cl: cl, p: p, out: make(map[string]Description, len(groups)), hints: coordinatorsOf(groups)}
	byType := map[GroupType][]string{}
	for _, g := range groups {
		if _, twice := d.out[g.Name]; twice {
			continue
		}
		d.out[g.Name] = Description{Group: g}
		byType[g.Type] = append(byType[g.Type], g.Name)
	}
	var kinds sync.WaitGroup
	for _, t := range GroupTypes() {
		kinds.Go(func() { d.run(ctx, byType[t], d.call(t)) })
	}
	kinds.Go(func() { d.untyped(ctx, byType[""]) })
	kinds.Wait()
	return d.out
}

// call is the describe call of a type.
func (d *describer) call(t GroupType) func(context.Context, int32, []string) map[string]error {
	switch t {
	case TypeShare:
		return d.share
	case TypeStreams:
		return d.streams
	case TypeConsumer:
		return d.consumer
	}
	return d.classic
}

// untyped asks for groups without a type as every kind of group at once. A group is of the kind that knows it, and does not
// exist when every kind that the broker has says so; an error of one kind is told where no other knows the group, since it
// might be of that kind. A broker that lacks a kind of group has none of them.
func (d *describer) untyped(ctx context.Context, groups []string) {
	if len(groups) == 0 {
		return
	}
	// The KIP-848 call first, and the classic one after it: the order in which answers are believed.
	order := []GroupType{TypeConsumer, TypeClassic, TypeShare, TypeStreams}
	answers := make([]describer, len(order))
	var kinds sync.WaitGroup
	for i, t := range order {
		one := &answers[i]
		*one = describer{cl: d.cl, p: d.p, out: make(map[string]Description, len(groups)), hints: d.hints}
		for _, g := range groups {
			one.out[g] = Description{Group: Group{Name: g}}
		}
		kinds.Go(func() { one.run(ctx, groups, one.call(t)) })
	}
	kinds.Wait()
	for _, g := range groups {
		best := Description{Group: Group{Name: g}, NotFound: true}
		for i := range answers {
			x := answers[i].out[g]
			switch {
			case x.NotFound || errors.Is(x.Err, kerr.UnsupportedVersion) || errors.Is(x.Err, errNoCall):
				continue
			case g == "" && order[i] != TypeClassic && errors.Is(x.Err, kerr.InvalidGroupID):
				continue // only classic groups may have the empty name
			case x.Err == nil:
				best = x
			case best.Err == nil:
				best = x
				continue // another kind may know it
			default:
				continue
			}
			break
		}
		d.set(g, func(x *Description) { *x = best })
	}
}

// DescribeNamed lists the groups first, to learn their types, and describes the named ones.
func DescribeNamed(ctx context.Context, cl *kgo.Client, names []string) (map[string]Description, error) {
	listed, _, err := ListGroups(ctx, cl)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]Group, len(listed))
	for _, g := range listed {
		byName[g.Name] = g
	}
	ask := make([]Group, 0, len(names))
	for _, n := range names {
		g, ok := byName[n]
		if !ok {
			// Not in the list is not the same as not there: the broker that has it may not have answered, or the group may not
			// be described by this principal. So it is asked for without a type.
			g = Group{Name: n}
		}
		ask = append(ask, g)
	}
	return Describe(ctx, cl, ask), nil
}

// errNoCall says that the broker does not know the describe call at all.
var errNoCall = errors.New("the broker does not support this request")

type describer struct {
	cl    *kgo.Client
	p     *patience
	hints map[string]int32
	mu    sync.Mutex
	out   map[string]Description
}

func (d *describer) run(ctx context.Context, groups []string, ask func(context.Context, int32, []string) map[string]error) {
	a := asker{cl: d.cl, chunk: describeChunk, hints: d.hints, reads: true, p: d.p, ask: ask, fail: func(g string, err error) {
		d.set(g, func(x *Description) {
			if errors.Is(err, kerr.GroupIDNotFound) {
				x.NotFound = true
				return
			}
			x.Err = err
		})
	}}
	a.run(ctx, groups)
}

func (d *describer) set(group string, f func(*Description)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.out[group]
	f(&x)
	d.out[group] = x
}

// request sends one request to one broker, and again where kgo retries. A version that the broker lacks becomes errNoCall.
func request[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request) (R, error) {
	return answerOf[R](ctx, cl, node, req, cl.Broker(int(node)).RetriableRequest)
}

// requestOnce is request without retries: a broker that cannot be reached is a *BrokerError at once, so that the caller can
// ask whose work it is by now.
func requestOnce[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request) (R, error) {
	return answerOf[R](ctx, cl, node, req, cl.Broker(int(node)).Request)
}

func answerOf[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request, send func(context.Context, kmsg.Request) (kmsg.Response, error)) (R, error) {
	var none R
	resp, err := send(ctx, req)
	if err == nil {
		return resp.(R), nil
	}
	return none, transport(node, noCall(ctx, cl, node, req, err))
}

// noCall is errNoCall where a request failed because the broker does not know it, and otherwise the failure itself.
func noCall(ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request, err error) error {
	// A broker that cannot be reached, or that cut the connection, is not asked what it knows: it would be dialled for long.
	if errors.Is(err, kerr.UnsupportedVersion) || !noConnection(err) && maxVersion(ctx, cl, node, req.Key()) < 0 {
		return fmt.Errorf("%w: %s", errNoCall, kmsg.NameForKey(req.Key()))
	}
	return err
}

// maxVersion asks a broker for the newest version of a call that it knows, -1 where it does not know the call. kgo's own
// errors for that are not exported, so they cannot be matched. Where the broker does not answer it returns the largest
// number: an unreachable broker is not an old one.
func maxVersion(ctx context.Context, cl *kgo.Client, node int32, key int16) int16 {
	// Raw: kadm asks every broker; this one alone is of interest.
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "koffset", "1" // empty ones are INVALID_REQUEST
	kresp, err := cl.Broker(int(node)).Request(ctx, req)
	if err != nil {
		return math.MaxInt16
	}
	resp := kresp.(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != 0 {
		return math.MaxInt16
	}
	for _, k := range resp.ApiKeys {
		if k.ApiKey == key {
			return k.MaxVersion
		}
	}
	return -1
}

// codeErr is the broker's error with its own sentence, which says more than the code ("Group x is not a share group").
func codeErr(code int16, msg *string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && msg != nil && *msg != "" && !errors.Is(err, kerr.GroupIDNotFound) {
		return fmt.Errorf("%w (%s)", err, *msg)
	}
	return err
}

func (d *describer) classic(ctx context.Context, node int32, groups []string) map[string]error {
	// Raw: kadm describes classic groups alone where none is named, and gives up where no coordinator is there yet.
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	resp, err := requestOnce[*kmsg.DescribeGroupsResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		d.fold(errs, node, g.Group, g.Protocol, codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.ProtocolType, x.Assignor = TypeClassic, g.State, g.ProtocolType, g.Protocol
			// Before version 6 of the call a group that does not exist is "Dead" without an error.
			if g.State == "Dead" && g.ProtocolType == "" && len(g.Members) == 0 && resp.Version < 6 {
				x.NotFound = true
			}
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, m.InstanceID)
				if g.ProtocolType == "consumer" {
					var sub kmsg.ConsumerMemberMetadata
					if sub.ReadFrom(m.ProtocolMetadata) == nil {
						one.Topics = sub.Topics
					}
					var a kmsg.ConsumerMemberAssignment
					if one.Told = a.ReadFrom(m.MemberAssignment) == nil; one.Told {
						for _, t := range a.Topics {
							one.assign(t.Topic, t.Partitions)
						}
					}
				}
				x.Members = append(x.Members, one)
			}
		})
	}
	return errs
}

func (d *describer) consumer(ctx context.Context, node int32, groups []string) map[string]error {
	// Raw: kadm does not ask again where no coordinator is there yet, and loses the broker's own message.
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = groups
	resp, err := requestOnce[*kmsg.ConsumerGroupDescribeResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		d.fold(errs, node, g.Group, "", codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.Assignor, x.Epoch, x.AssignmentEpoch = TypeConsumer, g.State, g.AssignorName, g.Epoch, g.AssignmentEpoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, m.InstanceID)
				if m.SubscribedTopicRegex == nil || *m.SubscribedTopicRegex == "" {
					one.Topics = m.SubscribedTopics
				}
				one.Epoch, one.Told = m.MemberEpoch, true
				for _, t := range m.Assignment.TopicPartitions {
					one.assign(t.Topic, t.Partitions)
				}
				x.Members = append(x.Members, one)
			}
		})
	}
	return errs
}

func (d *describer) share(ctx context.Context, node int32, groups []string) map[string]error {
	// Raw: kadm does not ask again where no coordinator is there yet.
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = groups
	resp, err := requestOnce[*kmsg.ShareGroupDescribeResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		d.fold(errs, node, g.GroupID, "", codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.Assignor, x.Epoch, x.AssignmentEpoch = TypeShare, g.GroupState, g.Assignor, g.GroupEpoch, g.AssignmentEpoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, nil)
				one.Epoch = m.MemberEpoch
				for _, t := range m.Assignment.TopicPartitions {
					one.assign(t.Topic, t.Partitions)
				}
				x.Members = append(x.Members, one)
			}
		})
	}
	return errs
}

// streams describes KIP-1071 groups. kgo does not route this call to the coordinator, so it is sent there by hand. A
// member's tasks name a subtopology and partitions; its source topics are looked up in the group's topology.
func (d *describer) streams(ctx context.Context, node int32, groups []string) map[string]error {
	// Raw: kadm does not have it, and kgo sends it to any broker.
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = groups
	resp, err := requestOnce[*kmsg.StreamsGroupDescribeResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		sources := map[string][]string{}
		if g.Topology != nil {
			for _, s := range g.Topology.Subtopologies {
				sources[s.SubtopologyID] = append(sources[s.SubtopologyID], s.SourceTopics...)
				for _, t := range s.RepartitionSourceTopics {
					sources[s.SubtopologyID] = append(sources[s.SubtopologyID], t.Topic)
				}
			}
		}
		d.fold(errs, node, g.Group, "", codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.Epoch, x.AssignmentEpoch = TypeStreams, g.State, g.Epoch, g.AssignmentEpoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, m.InstanceID)
				one.Epoch = m.MemberEpoch
				one.tasks(m.Assignment.ActiveTasks, "")
				one.tasks(m.Assignment.StandbyTasks, " (standby)")
				one.tasks(m.Assignment.WarmupTasks, " (warmup)")
				for _, task := range m.Assignment.ActiveTasks {
					for _, topic := range sources[task.SubtopologyID] {
						one.assign(topic, task.Partitions)
					}
				}
				x.Members = append(x.Members, one)
			}
		})
	}
	return errs
}

// fold takes one group of an answer: its error, or what fill makes of it. protocol is the classic protocol's name, which
// tells a streams application; the other types have none.
func (d *describer) fold(errs map[string]error, node int32, group, protocol string, err error, fill func(*Description)) {
	if err != nil {
		errs[group] = err
		return
	}
	d.set(group, func(x *Description) {
		x.Coordinator = node
		fill(x)
		sortMembers(x.Members)
		x.Application = applicationOf(*x, protocol)
	})
}

func newMember(id, client, host string, instance *string) Member {
	m := Member{ID: id, ClientID: client, Host: host}
	if instance != nil {
		m.InstanceID = *instance
	}
	return m
}

func (m *Member) tasks(ids []kmsg.TaskIDs, kind string) {
	for _, t := range ids {
		for _, p := range slices.Sorted(slices.Values(t.Partitions)) {
			m.Tasks = append(m.Tasks, fmt.Sprintf("%s_%d%s", t.SubtopologyID, p, kind))
		}
	}
}

func (m *Member) assign(topic string, partitions []int32) {
	for _, p := range partitions {
		m.Assigned = append(m.Assigned, offset.Partition{Topic: topic, Partition: p})
	}
}
