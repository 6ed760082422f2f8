package reset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
)

// Beside a dynamic member a static one is left alone: the group would stay in use, and somebody was sent away for nothing.
func TestEvictLeavesAGroupThatStaysInUse(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 2)
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "g", Topics: []string{"t"}, ClientID: "still", InstanceID: "pod-1"})
	kafkatest.JoinClassic(t, cl, kafkatest.MemberOptions{Group: "g", Topics: []string{"t"}, ClientID: "dyn"})
	var d inspect.Description
	kafkatest.Until(t, "both are members", func() bool {
		ds, err := inspect.DescribeNamed(t.Context(), cl, []string{"g"})
		d = ds["g"]
		return err == nil && len(d.Members) == 2
	})
	c.ControlKey(int16(kmsg.LeaveGroup), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, m := range req.(*kmsg.LeaveGroupRequest).Members {
			if m.InstanceID != nil {
				t.Errorf("%s was sent away", *m.InstanceID)
			}
		}
		return nil, nil, false
	})
	gone, err := Evict(t.Context(), cl, d)
	if len(gone) > 0 || err == nil || !strings.Contains(err.Error(), "dyn on") || strings.Contains(err.Error(), "pod-1") {
		t.Errorf("evicted %v, error %v", gone, err)
	}
}

// A static member that still runs joins again after it was sent away: the group is in use, whatever it looked like in between.
func TestEvictedMemberComesBack(t *testing.T) {
	c, cl := kafkatest.FakeClient(t)
	kafkatest.CreateTopic(t, cl, "t", 1)
	kafkatest.Commit(t, cl, "g", kafkatest.At("t", 0, 1))
	if err := StayEmpty(t.Context(), cl, []string{"g"}, 20*time.Millisecond); err != nil {
		t.Fatalf("nobody came: %v", err)
	}
	looks := 0
	other := kafkatest.Client(t, c.ListenAddrs())
	c.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		if looks++; looks == 2 {
			c.SleepControl(func() {
				kafkatest.JoinClassic(t, other, kafkatest.MemberOptions{Group: "g", Topics: []string{"t"}, InstanceID: "pod-1", ClientID: "w"})
			})
		}
		if looks < 4 {
			c.KeepControl()
		}
		return nil, nil, false
	})
	var back *CameBackError
	if err := StayEmpty(t.Context(), cl, []string{"g"}, time.Minute); !errors.As(err, &back) || !strings.Contains(err.Error(), "static pod-1") {
		t.Errorf("got %v", err)
	}
}
