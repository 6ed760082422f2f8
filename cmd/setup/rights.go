package setup

// What the user of a profile may do, command by command, from what the broker says of its own rights.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
)

// right is what commands need, and whether the user has it.
type right struct {
	commands, needs string
	result, detail  string
}

// The results of a right. Not known is of brokers that do not say.
const (
	rightYes     = "yes"
	rightNo      = "no"
	rightPartly  = "partly"
	rightUnknown = "not-known"
)

// had is for how many things the user has an operation.
type had struct {
	yes, no, unknown int
	why              error
}

func (h *had) add(ops int32, op kmsg.ACLOperation, err error) {
	switch {
	case err != nil || ops == math.MinInt32:
		h.unknown++
		if h.why == nil {
			h.why = err
		}
	case ops&(1<<op) != 0:
		h.yes++
	default:
		h.no++
	}
}

func (h *had) result() string {
	switch {
	case h.yes+h.no == 0:
		return rightUnknown
	case h.no == 0 && h.unknown == 0:
		return rightYes
	case h.yes == 0 && h.unknown == 0:
		return rightNo
	}
	return rightPartly
}

func (h *had) text(what string) string {
	n := h.yes + h.no + h.unknown
	line := fmt.Sprintf("%s of %s", text.Count(h.yes), text.Plural(n, what))
	if h.unknown > 0 {
		line += fmt.Sprintf(", %s not known", text.Count(h.unknown))
	}
	if h.why != nil {
		line += " (" + cli.ShortErr(h.why) + ")"
	}
	return line
}

// authorized is what the broker says.
type authorized struct {
	cluster    int32
	clusterErr error
	topics     map[string]allowed
	groups     map[string]allowed
	unseen     error // why there may be more groups
}

type allowed struct {
	ops int32
	err error
}

// mostGroups is how many groups are asked about where none is named.
const mostGroups = 500

// readRights asks for the user's rights: on the named topics and groups, or on all that it sees.
func readRights(ctx context.Context, cl *kgo.Client, topics, groups []string) (*authorized, error) {
	a := &authorized{cluster: math.MinInt32, topics: map[string]allowed{}, groups: map[string]allowed{}}
	// Raw: kadm does not ask what the user may do on the cluster.
	dc := kmsg.NewPtrDescribeClusterRequest()
	dc.IncludeClusterAuthorizedOperations = true
	if resp, err := dc.RequestWith(ctx, cl); err != nil {
		a.clusterErr = err
	} else if a.clusterErr = kerr.ErrorForCode(resp.ErrorCode); a.clusterErr == nil {
		a.cluster = resp.ClusterAuthorizedOperations
	}
	// Raw: kadm does not ask what the user may do on topics.
	md := kmsg.NewPtrMetadataRequest()
	md.IncludeTopicAuthorizedOperations = true
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		md.Topics = append(md.Topics, rt)
	}
	resp, err := md.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		if t.Topic != nil && (!t.IsInternal || len(topics) > 0) {
			a.topics[*t.Topic] = topicOf(t)
		}
	}
	if len(groups) == 0 {
		if groups, a.unseen, err = listed(ctx, cl); err != nil {
			return nil, err
		}
	}
	return a, a.readGroups(ctx, cl, groups)
}

// topicOf takes a refusal for what it is: nothing is allowed.
func topicOf(t kmsg.MetadataResponseTopic) allowed {
	err := kerr.ErrorForCode(t.ErrorCode)
	if err == kerr.TopicAuthorizationFailed {
		return allowed{}
	}
	return allowed{t.AuthorizedOperations, err}
}

// listed are the groups that the user sees. unseen is why there may be more.
func listed(ctx context.Context, cl *kgo.Client) (names []string, unseen error, err error) {
	cluster, err := inspect.ReadCluster(ctx, cl)
	if err != nil {
		return nil, nil, err
	}
	groups, missing, err := cluster.ListGroups(ctx, cl)
	for _, g := range groups {
		names = append(names, g.Name)
	}
	unseen = errors.Join(missing...)
	if len(names) > mostGroups {
		unseen = errors.Join(unseen, fmt.Errorf("the first %d of %s", mostGroups, text.Plural(len(names), "group")))
		names = names[:mostGroups]
	}
	return names, unseen, err
}

// readGroups asks by the classic call, whose old versions answer for groups of every kind, and for names that no group has.
func (a *authorized) readGroups(ctx context.Context, cl *kgo.Client, groups []string) error {
	if len(groups) == 0 {
		return nil
	}
	// Raw: kadm sees classic groups only, and does not ask what the user may do.
	dg := kmsg.NewPtrDescribeGroupsRequest()
	dg.IncludeAuthorizedOperations = true
	dg.Groups = groups
	for _, shard := range cl.RequestSharded(ctx, dg) {
		if shard.Err != nil {
			for _, g := range shard.Req.(*kmsg.DescribeGroupsRequest).Groups {
				a.groups[g] = groupOf(0, shard.Err)
			}
			continue
		}
		for _, g := range shard.Resp.(*kmsg.DescribeGroupsResponse).Groups {
			a.groups[g.Group] = groupOf(g.AuthorizedOperations, kerr.ErrorForCode(g.ErrorCode))
		}
	}
	return nil
}

// groupOf takes a refusal for what it is: nothing is allowed. Who may not describe a group is refused its coordinator already, and
// every other right brings Describe along.
func groupOf(ops int32, err error) allowed {
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return allowed{}
	}
	return allowed{ops, err}
}

// rights are the rows: what each group of commands needs.
func (a *authorized) rights() []right {
	on := func(of map[string]allowed, op kmsg.ACLOperation) *had {
		h := &had{}
		for _, x := range of {
			h.add(x.ops, op, x.err)
		}
		return h
	}
	both := func(commands, needs string, groupOp, topicOp kmsg.ACLOperation) right {
		g, t := on(a.groups, groupOp), on(a.topics, topicOp)
		if a.unseen != nil {
			g.unknown, g.why = g.unknown+1, a.unseen
		}
		r := right{commands: commands, needs: needs, detail: g.text("group") + ", " + t.text("topic")}
		switch gr, tr := g.result(), t.result(); {
		case gr == tr:
			r.result = gr
		case gr == rightNo || tr == rightNo:
			r.result = rightNo
		case gr == rightUnknown || tr == rightUnknown:
			r.result = rightUnknown
		default:
			r.result = rightPartly
		}
		return r
	}
	one := func(commands, needs string, h *had, what string) right {
		return right{commands: commands, needs: needs, result: h.result(), detail: h.text(what)}
	}
	cluster := &had{}
	cluster.add(a.cluster, kmsg.ACLOperationDescribe, a.clusterErr)
	rows := []right{
		both("inspect, watch, check, serve", "Describe on groups and topics", kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribe),
		one("lists of all groups", "Describe on the cluster, or each group", cluster, "cluster"),
		one("resolve --show, consume, migrate", "Read on topics", on(a.topics, kmsg.ACLOperationRead), "topic"),
		one("retention and expiry", "DescribeConfigs on topics", on(a.topics, kmsg.ACLOperationDescribeConfigs), "topic"),
		both("reset, apply, undo, repair with --execute", "Read on groups and topics", kmsg.ACLOperationRead, kmsg.ACLOperationRead),
		both("delete --execute", "Delete on groups, Describe on topics", kmsg.ACLOperationDelete, kmsg.ACLOperationDescribe),
	}
	if cluster.result() == rightNo {
		rows[1].detail = "only groups that the user may describe are listed"
	}
	for i := range rows {
		rows[i].detail = strings.TrimSpace(rows[i].detail)
	}
	return rows
}
