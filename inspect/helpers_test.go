package inspect_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

func partitionOf(topic string, n int32) offset.Partition {
	return offset.Partition{Topic: topic, Partition: n}
}

// oldFake is a kfake cluster that knows no more than that version of Kafka. kfake keeps commits by topic id, so the client that
// writes fixtures speaks the same version.
func oldFake(t *testing.T, version string, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	v := kversion.FromString(version)
	if v == nil {
		t.Fatalf("no version %s", version)
	}
	return kafkatest.FakeClient(t, append([]kfake.Opt{kfake.MaxVersions(v)}, opts...)...)
}

// countRequests counts requests of a kind from now on.
func countRequests(c *kfake.Cluster, key kmsg.Key) *kfake.FaultHandle {
	return c.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Observe: true, Count: -1})
}

// snapshot lists the groups and reads them all.
func snapshot(t *testing.T, cl *kgo.Client, q inspect.Query) *inspect.Snapshot {
	t.Helper()
	if q.Groups == nil {
		q.Groups = listGroups(t, cl)
	}
	s, err := inspect.Read(t.Context(), cl, q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func listGroups(t *testing.T, cl *kgo.Client) []inspect.Group {
	t.Helper()
	groups, missing, err := inspect.ListGroups(t.Context(), cl)
	if err != nil || len(missing) > 0 {
		t.Fatalf("list the groups: %v, %v", missing, err)
	}
	return groups
}

// rowLines is one short line a row of a group: topic:partition commit start/end lag status.
func rowLines(t *testing.T, s *inspect.Snapshot, group string) []string {
	t.Helper()
	var out []string
	for r := range s.Rows(description(t, s, group)) {
		line := r.Partition.String()
		if r.Committed != nil {
			line += fmt.Sprintf(" at %d", r.Committed.Offset)
		}
		if r.ShareStart != nil {
			line += fmt.Sprintf(" from %d", *r.ShareStart)
		}
		if r.Bounds != nil {
			line += fmt.Sprintf(" in %d..%d", r.Bounds.Start, r.Bounds.End)
		}
		if r.Lag != nil {
			line += fmt.Sprintf(" lag %d", *r.Lag)
		}
		out = append(out, line+" "+string(r.Status))
	}
	return out
}

func description(t *testing.T, s *inspect.Snapshot, group string) inspect.Description {
	t.Helper()
	for _, d := range s.Groups {
		if d.Name == group {
			return d
		}
	}
	t.Fatalf("group %s is not in the snapshot", group)
	return inspect.Description{}
}

func sameRows(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s: row %d is %q, want %q", what, i, g, w)
		}
	}
}
