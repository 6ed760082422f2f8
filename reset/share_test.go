package reset

import (
	"testing"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// A share group that is known by its name alone has its start offsets in the plan: without them undo had nothing to restore.
func TestShareGroupByItsNameAlone(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.SetGroupConfig(t, cl, "share", "share.auto.offset.reset", "earliest")
	m := kafkatest.JoinShare(t, cl, kafkatest.MemberOptions{Group: "share", Topics: []string{f.Topic}})
	r := request("share", f.Topic, at(7))
	var plan *Plan
	kafkatest.Until(t, "the share group has start offsets", func() bool {
		plan = prepare(t, cl, r)
		for _, c := range plan.Changes {
			if c.From == nil {
				return false
			}
		}
		return true
	})
	if g, _ := plan.Group("share"); g.Type != string(inspect.TypeShare) || len(plan.Changes) != 3 {
		t.Errorf("plan %+v", plan)
	}
	m.Close()
	kafkatest.Until(t, "the group is empty", func() bool {
		ds, err := inspect.DescribeNamed(t.Context(), cl, []string{"share"})
		return err == nil && !ds["share"].Active()
	})
	plan = prepare(t, cl, r)
	before := plan.Changes[1].From.Offset
	o := options(t, t.TempDir())
	res := apply(t, cl, plan, o)
	undo(t, cl, o.StateDir, res.UndoID, Undo{})
	s := inspect.ReadShareOffsets(t.Context(), cl, []string{"share"})["share"]
	for _, row := range s.Rows {
		if row.Partition == (offset.Partition{Topic: f.Topic, Partition: 1}) && (row.Start == nil || *row.Start != before) {
			t.Errorf("%+v, want %d again", row, before)
		}
	}
}
