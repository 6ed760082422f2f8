package inspect

// The list of groups, and whether it is whole.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups asks every broker for its groups, of every type, and returns them sorted by name. What may be missing is told in
// the second result; the last one is set when no broker answered.
//
// A list of groups does not show by itself that it is whole: a broker that is gone is no longer asked, and one that has just
// become a coordinator leaves groups out until it has loaded them. So the list is compared with the offsets topic: the leader
// of each of its partitions must be the same before and after, must have answered, and must have said that it coordinates
// that partition. Where the topic may not be described, or does not exist yet, there is nothing to compare with.
func ListGroups(ctx context.Context, cl *kgo.Client) (groups []Group, missing []error, err error) {
	before, err := ReadCluster(ctx, cl)
	if err != nil {
		return nil, nil, err
	}
	return before.ListGroups(ctx, cl)
}

// ListGroups is the function of that name for a cluster that was read a moment ago.
func (c Cluster) ListGroups(ctx context.Context, cl *kgo.Client) (groups []Group, missing []error, err error) {
	return c.ListGroupsAhead(ctx, cl, func([]Group) {})
}

// ListGroupsAhead tells begin each list before it is compared, for what can be begun with it meanwhile. The list that is
// returned is the last one that begin was told, whether it is whole or not.
func (c Cluster) ListGroupsAhead(ctx context.Context, cl *kgo.Client, begin func([]Group)) (groups []Group, missing []error, err error) {
	before := c
	var over time.Time
	for n := 0; ; n++ {
		l := listing{cl: cl, before: before, answered: map[int32]bool{}, failed: map[int32]error{}, idle: map[int32]error{}}
		grace := l.ask(ctx)
		slices.SortFunc(l.groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
		begin(l.groups)
		after, err := ReadCluster(ctx, cl)
		if err != nil {
			return nil, nil, err
		}
		missing, soon := l.missing(after.offsets)
		if over.IsZero() {
			over = time.Now().Add(grace)
		}
		// A leader that moves or loads has groups that nobody else can name: they are waited for.
		if len(missing) > 0 && soon(n) && (time.Now().Before(over) || len(l.answered) == 0) && pause(ctx, backoff(n)) == nil {
			before = after
			continue
		}
		if len(l.answered) == 0 && len(missing) > 0 {
			return nil, missing, errors.Join(missing...)
		}
		return l.groups, missing, nil
	}
}

// listing is one round of questions to all brokers.
type listing struct {
	cl     *kgo.Client
	before Cluster

	mu       sync.Mutex
	groups   []Group
	answered map[int32]bool
	failed   map[int32]error // brokers that did not list their groups
	idle     map[int32]error // partitions whose leader says that it does not coordinate them, or not yet
}

// ask sends the round, and returns how long a broker that is away was, or would be, waited for.
func (l *listing) ask(ctx context.Context) (grace time.Duration) {
	p := newPatience(ctx)
	defer p.stop()
	var all sync.WaitGroup
	for _, b := range l.before.Brokers {
		all.Go(func() { l.list(p, b.ID) })
		all.Go(func() { l.probe(p, b.ID) })
	}
	all.Wait()
	return p.grace
}

func (l *listing) list(p *patience, node int32) {
	// Raw: kadm waits for every broker, and a frozen one takes the whole list with it.
	resp, err := requestOnce[*kmsg.ListGroupsResponse](p.ctx, l.cl, node, kmsg.NewPtrListGroupsRequest())
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil {
		p.answered()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed[node] = p.cause(err, nil)
		return
	}
	l.answered[node] = true
	heard := heardBy(l.cl)
	for _, g := range resp.Groups {
		heard.coordinates(g.Group, node)
		l.groups = append(l.groups, Group{Name: g.Group, Type: GroupType(strings.ToLower(g.GroupType)), ProtocolType: g.ProtocolType,
			State: g.GroupState, Coordinator: node, Listed: true})
	}
}

// probe asks a leader about a group that is not there, one for each of its partitions: only a coordinator that has loaded the
// partition knows that the group does not exist.
func (l *listing) probe(p *patience, node int32) {
	// Raw: kadm would ask the coordinator; here each leader is asked whether it is one.
	req := kmsg.NewPtrDescribeGroupsRequest()
	of := map[string]int32{}
	for n, leader := range l.before.offsets.leaders {
		if leader.node == node {
			name := probeName(n, int32(len(l.before.offsets.leaders)))
			of[name] = n
			req.Groups = append(req.Groups, name)
		}
	}
	if len(req.Groups) == 0 {
		return
	}
	resp, err := requestOnce[*kmsg.DescribeGroupsResponse](p.ctx, l.cl, node, req)
	if err != nil {
		return // the list fails too, and says so
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); retryGroup(err) {
			l.idle[of[g.Group]] = err
		}
	}
}

// missing says what the list may lack, held against the offsets topic as it is after the round. soon says whether another
// round, the nth, may lack less.
func (l *listing) missing(after offsetsTopic) (missing []error, soon func(n int) bool) {
	moving, leaderless := false, false
	for node, err := range l.failed {
		// A broker that leads no partition of the offsets topic has no groups.
		if after.known && l.before.offsets.known && !after.leads(node) && !l.before.offsets.leads(node) {
			continue
		}
		moving = moving || retryGroup(err) || unreachable(err)
		missing = append(missing, fmt.Errorf("list the groups of broker %d: %w", node, err))
	}
	why := map[string][]int32{}
	for n, now := range after.leaders {
		was, ok := l.before.offsets.leaders[n]
		switch {
		case now.node < 0:
			leaderless = true
			why["without a leader"] = append(why["without a leader"], n)
		case !ok || was != now:
			moving = true
			why["whose leader changed just now"] = append(why["whose leader changed just now"], n)
		case l.idle[n] != nil:
			moving = true
			what := fmt.Sprintf("which broker %d is still loading", now.node)
			why[what] = append(why[what], n)
		}
	}
	for what, ns := range why {
		slices.Sort(ns)
		missing = append(missing, &UnlistedError{Partitions: ns, Of: len(after.leaders), Why: what})
	}
	slices.SortFunc(missing, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	// A leader is elected within a second where there is one to elect.
	return missing, func(n int) bool { return moving || leaderless && n < 4 }
}

// UnlistedError says that the groups of some partitions of the offsets topic are not in the list.
type UnlistedError struct {
	Partitions []int32
	Of         int
	Why        string // such as "without a leader"
}

func (e *UnlistedError) Error() string {
	noun := "partitions"
	if len(e.Partitions) == 1 {
		noun = "partition"
	}
	return fmt.Sprintf("list the groups of %s %s of %d of %s, %s", noun, joinNumbers(e.Partitions), e.Of, OffsetsTopic, e.Why)
}

func joinNumbers(ns []int32) string {
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = fmt.Sprint(n)
	}
	return strings.Join(out, ", ")
}
