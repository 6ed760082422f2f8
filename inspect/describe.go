package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/offset"
)

// describeChunk bounds one describe request: a group's answer holds every member's assignment, which is large.
const describeChunk = 200

// Describe describes each group with the call of its own type. A group without a type is asked for as a KIP-848 group
// first and as a classic group then, as Java's client does: the classic call answers "Dead" for a live KIP-848 group
// (measured on 4.3), so its answer alone would call a running group idle. What is neither is asked for as the other kinds.
//
// Every group that was asked for is in the result; what could not be described carries its Err, and what does not exist
// has NotFound.
func Describe(ctx context.Context, cl *kgo.Client, groups []Group) map[string]Description {
	d := describer{cl: cl, out: make(map[string]Description, len(groups))}
	byType := map[GroupType][]string{}
	for _, g := range groups {
		d.out[g.Name] = Description{Group: g}
		byType[g.Type] = append(byType[g.Type], g.Name)
	}
	d.run(ctx, byType[TypeShare], d.share)
	d.run(ctx, byType[TypeStreams], d.streams)
	d.run(ctx, append(byType[TypeConsumer], byType[""]...), d.consumer)
	classic := byType[TypeClassic]
	for _, g := range byType[""] {
		if got := d.out[g]; got.NotFound || errors.Is(got.Err, kerr.UnsupportedVersion) || errors.Is(got.Err, errNoCall) {
			d.out[g] = Description{Group: Group{Name: g}}
			classic = append(classic, g)
		}
	}
	d.run(ctx, classic, d.classic)
	d.otherKinds(ctx, byType[""])
	return d.out
}

// otherKinds asks for groups without a type that are neither KIP-848 nor classic groups as share and streams groups: one
// whose broker was left out of the list would pass for a group that does not exist. A broker that knows no such groups says
// so, and changes nothing.
func (d *describer) otherKinds(ctx context.Context, groups []string) {
	for _, call := range []func(*describer, context.Context, int32, []string) map[string]error{(*describer).share, (*describer).streams} {
		one := &describer{cl: d.cl, out: map[string]Description{}}
		var ask []string
		for _, g := range groups {
			if d.out[g].NotFound {
				ask = append(ask, g)
				one.out[g] = Description{Group: Group{Name: g}}
			}
		}
		one.run(ctx, ask, func(ctx context.Context, node int32, names []string) map[string]error {
			return call(one, ctx, node, names)
		})
		for g, x := range one.out {
			if x.Err == nil && !x.NotFound {
				d.out[g] = x
			}
		}
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
var errNoCall = errors.New("the broker does not know this call")

type describer struct {
	cl  *kgo.Client
	mu  sync.Mutex
	out map[string]Description
}

func (d *describer) run(ctx context.Context, groups []string, ask func(context.Context, int32, []string) map[string]error) {
	eachCoordinator(ctx, d.cl, groups, describeChunk, ask, func(g string, err error) {
		d.set(g, func(x *Description) {
			if errors.Is(err, kerr.GroupIDNotFound) {
				x.NotFound = true
				return
			}
			x.Err = err
		})
	})
}

func (d *describer) set(group string, f func(*Description)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := d.out[group]
	f(&x)
	d.out[group] = x
}

// request sends one request to one broker. A version that the broker lacks becomes errNoCall.
func request[R kmsg.Response](ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request) (R, error) {
	var none R
	resp, err := cl.Broker(int(node)).RetriableRequest(ctx, req)
	if err != nil {
		return none, noCall(ctx, cl, node, req, err)
	}
	return resp.(R), nil
}

// noCall is errNoCall where a request failed because the broker does not know it, and otherwise the failure itself.
func noCall(ctx context.Context, cl *kgo.Client, node int32, req kmsg.Request, err error) error {
	// A broker that cannot be reached, or that cut the connection, is not asked what it knows: it would be dialled for long.
	cut := errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if errors.Is(err, kerr.UnsupportedVersion) || ctx.Err() == nil && !cut && maxVersion(ctx, cl, node, req.Key()) < 0 {
		return fmt.Errorf("%w: %s", errNoCall, kmsg.NameForKey(req.Key()))
	}
	return err
}

// maxVersion asks a broker for the newest version of a call that it knows, -1 where it does not know the call. kgo's own
// errors for that are not exported, so they cannot be matched. Where the broker does not answer it returns the largest
// number: an unreachable broker is not an old one.
func maxVersion(ctx context.Context, cl *kgo.Client, node int32, key int16) int16 {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "koffset", "1" // empty ones are INVALID_REQUEST
	kresp, err := cl.Broker(int(node)).RetriableRequest(ctx, req)
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
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	resp, err := request[*kmsg.DescribeGroupsResponse](ctx, d.cl, node, req)
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
					var a kmsg.ConsumerMemberAssignment
					if a.ReadFrom(m.MemberAssignment) == nil {
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
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = groups
	resp, err := request[*kmsg.ConsumerGroupDescribeResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		d.fold(errs, node, g.Group, "", codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.Assignor, x.Epoch = TypeConsumer, g.State, g.AssignorName, g.Epoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, m.InstanceID)
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
	req := kmsg.NewPtrShareGroupDescribeRequest()
	req.GroupIDs = groups
	resp, err := request[*kmsg.ShareGroupDescribeResponse](ctx, d.cl, node, req)
	if err != nil {
		return all(groups, err)
	}
	errs := map[string]error{}
	for _, g := range resp.Groups {
		d.fold(errs, node, g.GroupID, "", codeErr(g.ErrorCode, g.ErrorMessage), func(x *Description) {
			x.Type, x.State, x.Assignor, x.Epoch = TypeShare, g.GroupState, g.Assignor, g.GroupEpoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, nil)
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
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = groups
	resp, err := request[*kmsg.StreamsGroupDescribeResponse](ctx, d.cl, node, req)
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
			x.Type, x.State, x.Epoch = TypeStreams, g.State, g.Epoch
			for _, m := range g.Members {
				one := newMember(m.MemberID, m.ClientID, m.ClientHost, m.InstanceID)
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

func (m *Member) assign(topic string, partitions []int32) {
	for _, p := range partitions {
		m.Assigned = append(m.Assigned, offset.Partition{Topic: topic, Partition: p})
	}
}
