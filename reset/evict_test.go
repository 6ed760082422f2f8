package reset

import (
	"strings"
	"testing"

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
