package inspect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// Every kind of group that kfake has, described by the call of its own kind. Its KIP-848 describes hold no topic names, so
// what members read is tested on a real broker.
func TestDescribeEveryKind(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 2)
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "classic", Topics: []string{"t"}, ClientID: "c1"})
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "connect-sink", Topics: []string{"t"}, ClientID: "connector-consumer-sink-0"})
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "static", Topics: []string{"t"}, ClientID: "s1", InstanceID: "i-1"})
	kafkatest.Join848(t, cl, kafkatest.MemberOptions{Group: "new", Topics: []string{"t"}, ClientID: "n1"})
	kafkatest.JoinShare(t, cl, kafkatest.MemberOptions{Group: "share", Topics: []string{"t"}, ClientID: "h1"})
	kafkatest.JoinConnect(t, cl, "workers", "w1")
	kafkatest.Commit(t, cl, "flink", kafkatest.At("t", 0, 0))
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "left", Topics: []string{"t"}, ClientID: "l1"}).Close()
	kafkatest.Commit(t, cl, "left", kafkatest.At("t", 0, 0))

	calls := map[kmsg.Key]*kfake.FaultHandle{}
	for _, k := range []kmsg.Key{kmsg.DescribeGroups, kmsg.ConsumerGroupDescribe, kmsg.ShareGroupDescribe} {
		calls[k] = countRequests(fake, k)
	}
	got := inspect.Describe(t.Context(), cl, append(listGroups(t, cl), inspect.Group{Name: "nobody", Type: inspect.TypeClassic}))
	for name, want := range map[string]string{
		"classic": "classic Stable consumer [c1 t:0 t:1]", "connect-sink": "classic Stable consumer [connector-consumer-sink-0 t:0 t:1] connect-sink",
		"static": "classic Stable consumer [s1/i-1 t:0 t:1]", "share": "share Stable share", "workers": "classic Stable connect [w1] connect-workers",
		"flink": "classic Empty  offsets-only", "left": "classic Empty consumer", "nobody": "not found", "new": "consumer Stable",
	} {
		d, ok := got[name]
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if text := describe(d); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
		if active := strings.Contains(want, "Stable"); d.Active() != active {
			t.Errorf("%s: active is %t", name, d.Active())
		}
		if active := strings.Contains(want, "Stable"); active && len(d.Members) != 1 {
			t.Errorf("%s: %d members", name, len(d.Members))
		}
	}
	if c := got["connect-sink"].Connector(); c != "sink" {
		t.Errorf("connector %q", c)
	}
	if c := got["classic"].Connector(); c != "" {
		t.Errorf("connector %q of a group that is none", c)
	}
	for k, h := range calls {
		want := 1
		if k == kmsg.DescribeGroups {
			want = 2 // the coordinators of listed groups are known, and nobody's is looked up first
		}
		if h.Hits() != want {
			t.Errorf("%d %s requests, want %d", h.Hits(), k.Name(), want)
		}
	}
	if where := got["static"].Members[0].Where(); !strings.HasPrefix(where, "s1 (static i-1) on 127.0.0.1") {
		t.Errorf("a member is named %q", where)
	}
}

func describe(d inspect.Description) string {
	if d.NotFound {
		return "not found"
	}
	if d.Err != nil {
		return "error"
	}
	out := fmt.Sprintf("%s %s %s", d.Type, d.State, d.ProtocolType)
	for _, m := range d.Members {
		one := m.ClientID
		if m.InstanceID != "" {
			one += "/" + m.InstanceID
		}
		for _, p := range m.Assigned {
			one += " " + p.String()
		}
		out += " [" + one + "]"
	}
	if d.Application != inspect.AppNone {
		out += " " + string(d.Application)
	}
	return out
}

// A group whose type is not known is asked for as a KIP-848 group first: the classic call says "Dead" about one that lives.
func TestDescribeWithoutAType(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "classic", Topics: []string{"t"}})
	kafkatest.Join848(t, cl, kafkatest.MemberOptions{Group: "new", Topics: []string{"t"}})
	kafkatest.JoinShare(t, cl, kafkatest.MemberOptions{Group: "share", Topics: []string{"t"}})
	got := inspect.Describe(t.Context(), cl, []inspect.Group{{Name: "classic"}, {Name: "new"}, {Name: "share"}, {Name: "nobody"}})
	for name, want := range map[string]inspect.GroupType{"classic": inspect.TypeClassic, "new": inspect.TypeConsumer, "share": inspect.TypeShare} {
		if d := got[name]; d.Type != want || len(d.Members) != 1 || d.Err != nil || d.NotFound {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := got["nobody"]; !d.NotFound || d.Err != nil {
		t.Errorf("nobody: %+v", d)
	}
	named, err := inspect.DescribeNamed(t.Context(), cl, []string{"new", "nobody"})
	if err != nil || named["new"].Type != inspect.TypeConsumer || !named["nobody"].NotFound || len(named) != 2 {
		t.Errorf("DescribeNamed: %+v, %v", named, err)
	}
}

func TestDescribeErrorsStayWithTheirGroup(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeGroups}, Group: f.App, Err: kerr.GroupAuthorizationFailed, Count: -1})
	got := inspect.Describe(t.Context(), cl, listGroups(t, cl))
	if d := got[f.App]; !errors.Is(d.Err, kerr.GroupAuthorizationFailed) || !d.Active() {
		t.Errorf("%+v; want its error, and nobody may call it idle", d)
	}
	if d := got[f.App2]; d.Err != nil || d.State != "Empty" {
		t.Errorf("beside it: %+v", d)
	}
}

// A broker that is loading its groups is waited for; one that fails leaves its groups out by name of the broker.
func TestListGroupsFaults(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t, kfake.NumBrokers(3))
	kafkatest.CreateTopic(t, cl, "t", 1)
	nodes := map[int32]int{}
	for i := range 30 {
		name := fmt.Sprintf("g%02d", i)
		kafkatest.Commit(t, cl, name, kafkatest.At("t", 0, 0))
		nodes[fake.CoordinatorFor(name)]++
	}
	if len(nodes) != 3 {
		t.Fatalf("groups on brokers %v, want on three", nodes)
	}
	h := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Nodes: []int32{1}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress, Count: 1})
	if groups, missing, err := inspect.ListGroups(t.Context(), cl); len(groups) != 30 || len(missing) > 0 || err != nil || h.Hits() != 1 {
		t.Errorf("%d groups, missing %v, %v, %d faults", len(groups), missing, err, h.Hits())
	}
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Nodes: []int32{2}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: 1})
	groups, missing, err := inspect.ListGroups(t.Context(), cl)
	if len(groups) != 30-nodes[2] || len(missing) != 1 || err != nil || !errors.Is(missing[0], kerr.ClusterAuthorizationFailed) || !strings.Contains(missing[0].Error(), "broker 2") {
		t.Errorf("%d groups, missing %v, %v", len(groups), missing, err)
	}
	fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, TopLevel: true, Err: kerr.ClusterAuthorizationFailed, Count: -1})
	if groups, _, err := inspect.ListGroups(t.Context(), cl); len(groups) != 0 || !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		t.Errorf("no broker answers: %v, %v", groups, err)
	}
}

func TestActive(t *testing.T) {
	for _, c := range []struct {
		name   string
		d      inspect.Description
		active bool
	}{
		{"stable without members", inspect.Description{Group: inspect.Group{State: "Stable"}}, true}, // they are just joining
		{"rebalancing", inspect.Description{Group: inspect.Group{State: "PreparingRebalance"}}, true},
		{"empty", inspect.Description{Group: inspect.Group{State: "Empty"}}, false},
		{"dead with commits", inspect.Description{Group: inspect.Group{State: "Dead"}}, false}, // Event Hubs says so
		{"empty with a member", inspect.Description{Group: inspect.Group{State: "Empty"}, Members: make([]inspect.Member, 1)}, true},
		{"unknown", inspect.Description{Err: errors.New("no answer")}, true},
		{"not there", inspect.Description{NotFound: true, Group: inspect.Group{State: "Stable"}}, false},
	} {
		if got := c.d.Active(); got != c.active {
			t.Errorf("%s: active is %t", c.name, got)
		}
	}
}
