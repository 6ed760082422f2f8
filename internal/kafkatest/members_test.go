package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMembersOnFake(t *testing.T) {
	_, cl := FakeClient(t)
	checkMembers(t, cl)
}

// checkMembers: a live member of either protocol keeps others from committing, and the group is empty again once it left.
func checkMembers(t *testing.T, cl *kgo.Client) {
	adm := kadm.NewClient(cl)
	topic := "members.t"
	CreateTopic(t, cl, topic, 2)
	Produce(t, cl, append(Records(topic, 0, 5, 1000, 1), Records(topic, 1, 5, 1000, 1)...)...)
	t.Run("classic", func(t *testing.T) {
		m := JoinClassic(t, cl, MemberOptions{Group: "members.classic", Topics: []string{topic}, ClientID: "c1"})
		if errs := TryCommit(t, cl, "members.classic", At(topic, 0, 1)); errs[0] != kerr.UnknownMemberID {
			t.Errorf("commit beside a live member: %v, want UNKNOWN_MEMBER_ID", errs[0])
		}
		m.Close()
		WaitGroupState(t, cl, "members.classic", "Empty")
		Commit(t, cl, "members.classic", At(topic, 0, 1))
	})
	t.Run("848", func(t *testing.T) {
		m := Join848(t, cl, MemberOptions{Group: "members.848", Topics: []string{topic}, ClientID: "c2"})
		if errs := TryCommit(t, cl, "members.848", At(topic, 0, 1)); errs[0] != kerr.UnknownMemberID {
			t.Errorf("commit beside a live member: %v, want UNKNOWN_MEMBER_ID", errs[0])
		}
		m.Close()
		Commit(t, cl, "members.848", At(topic, 0, 1))
	})
	t.Run("auto commit", func(t *testing.T) {
		m := JoinClassic(t, cl, MemberOptions{Group: "members.auto", Topics: []string{topic}, AutoCommit: true})
		Until(t, "both partitions are committed at their end", func() bool {
			got := CommittedOffsets(t, cl, "members.auto", topic)
			return got[0] == 5 && got[1] == 5
		})
		m.Close()
	})
	t.Run("static", func(t *testing.T) {
		m := JoinClassic(t, cl, MemberOptions{Group: "members.static", Topics: []string{topic}, InstanceID: "i1"})
		m.Close()
		ds, err := adm.DescribeGroups(t.Context(), "members.static")
		if err != nil || len(ds["members.static"].Members) != 1 {
			t.Fatalf("a closed static member must stay: %v, %v", ds["members.static"].Members, err)
		}
		if _, err := adm.LeaveGroup(t.Context(), kadm.LeaveGroup("members.static").InstanceIDs("i1")); err != nil {
			t.Fatal(err)
		}
		WaitGroupState(t, cl, "members.static", "Empty")
	})
	t.Run("connect", func(t *testing.T) {
		m := JoinConnect(t, cl, "members.connect", "worker-1")
		ds, err := adm.DescribeGroups(t.Context(), "members.connect")
		if err != nil {
			t.Fatal(err)
		}
		g := ds["members.connect"]
		if g.ProtocolType != "connect" || len(g.Members) != 1 || g.Members[0].ClientID != "worker-1" {
			t.Fatalf("described as %+v", g)
		}
		if a, ok := g.Members[0].Assigned.AsConnect(); !ok || a.Assignment[0].Connector != "sink" {
			t.Errorf("assignment %+v, want Connect's with connector sink", a)
		}
		m.Close()
		WaitGroupState(t, cl, "members.connect", "Empty")
	})
	t.Run("share", func(t *testing.T) {
		SetGroupConfig(t, cl, "members.share", "share.auto.offset.reset", "earliest")
		m := JoinShare(t, cl, MemberOptions{Group: "members.share", Topics: []string{topic}})
		m.Close()
	})
}
