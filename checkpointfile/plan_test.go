package checkpointfile

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

func ptr[T any](v T) *T { return &v }

func samplePlan() *Plan {
	return &Plan{
		Verb: "reset", Asked: "earliest", ClusterID: "c-1", Isolation: offset.ReadCommitted,
		Groups: []PlanGroup{{Name: "billing", Type: "classic"}},
		Changes: []Change{
			{Group: "billing", Partition: offset.Partition{Topic: "orders", Partition: 0}, TopicID: "abc", Action: ActionCommit,
				From: &Commit{Offset: 1 << 60, LeaderEpoch: offset.EpochOf(3), Metadata: "ckpt=17"}, To: &Commit{Offset: 4},
				LogStart: ptr(int64(4)), LogEnd: ptr(int64(1<<60 + 5)), LastStable: ptr(int64(1<<60 + 5)), How: offset.ReasonLogStart},
			{Group: "billing", Partition: offset.Partition{Topic: "orders", Partition: 1}, Action: ActionDelete, From: &Commit{Offset: -5}},
		},
	}
}

func TestPlanRoundTrip(t *testing.T) {
	const path = "plan.json"
	p := samplePlan()
	data, err := EncodePlan(Header{Version: "1.0.0", CreatedAt: time.Unix(1, 0)}, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"topic": "orders"`, `"leader_epoch": null`, `"isolation": "read_committed"`, `"from": {`, `"offset": 1152921504606846976`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the file lacks %s:\n%s", want, data)
		}
	}
	got, h, err := DecodePlan(path, data)
	if err != nil {
		t.Fatal(err)
	}
	if got.File != path || !got.At.Equal(time.Unix(1, 0)) {
		t.Errorf("it is from %q, made at %s", got.File, got.At)
	}
	p.File, p.At = got.File, got.At // a file knows them, and does not hold them
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v\nwant %+v", got, p)
	}
	if h.ClusterID != "c-1" || h.Kind != KindPlan || len(got.ID()) != 12 {
		t.Errorf("header %+v, id %q", h, got.ID())
	}
	again := samplePlan()
	if err := again.Seal(); err != nil || again.Digest != p.Digest {
		t.Errorf("sealed digest %s (%v), want the file's %s", again.Digest, err, p.Digest)
	}
}

func TestDecodePlanRefusesWhatNobodyPlans(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		says   string
	}{
		{"a negative target", func(p *Plan) { p.Changes[0].To.Offset = -1 }, "group billing, orders:0: -1 is not an offset"},
		{"a commit of nothing", func(p *Plan) { p.Changes[0].To = nil }, "a commit without an offset"},
		{"a row twice", func(p *Plan) { p.Changes[1].Partition = p.Changes[0].Partition }, "planned twice"},
		{"another group", func(p *Plan) { p.Changes[1].Group = "x" }, "does not list the group"},
		{"an action", func(p *Plan) { p.Changes[1].Action = "drop" }, `action "drop" is not known`},
		{"a partition", func(p *Plan) { p.Changes[1].Partition.Partition = -1 }, "not a partition"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := samplePlan()
			c.change(p)
			data, err := EncodePlan(Header{}, p)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := DecodePlan("p", data); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
