package migrate_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// wireString and the rest write what MirrorMaker writes: big-endian, strings with a length of two bytes.
func enc(fields ...any) []byte {
	var b bytes.Buffer
	for _, f := range fields {
		if s, ok := f.(string); ok {
			_ = binary.Write(&b, binary.BigEndian, int16(len(s)))
			b.WriteString(s)
			continue
		}
		_ = binary.Write(&b, binary.BigEndian, f)
	}
	return b.Bytes()
}

func TestReadMM2(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	syncs, checkpoints := migrate.SyncsTopic("dst"), migrate.CheckpointsTopic("src")
	kafkatest.CreateTopic(t, cl, syncs, 1)
	kafkatest.CreateTopic(t, cl, checkpoints, 1)
	put := func(topic string, key, value []byte) *kgo.Record {
		return &kgo.Record{Topic: topic, Key: key, Value: value}
	}
	sync := func(topic string, p int32, up, down int64) *kgo.Record {
		return put(syncs, enc(topic, p), enc(up, down))
	}
	cp := func(g string, p int32, up, down int64) *kgo.Record {
		return put(checkpoints, enc(g, "src.orders", p), enc(int16(0), up, down, "meta"))
	}
	kafkatest.ProduceEach(t, cl,
		sync("orders", 0, 0, 0), sync("orders", 0, 100, 90), sync("orders", 0, 100, 91), sync("orders", 0, 200, 190),
		sync("orders", 1, 50, 50), sync("orders", 1, 60, 60), sync("orders", 1, 3, 70), // created again: what was known is void
		sync("orders", 2, -1, -1), sync("gone", 0, 1, 1), put(syncs, enc("gone", int32(0)), nil),
		cp("g", 0, 10, 9), cp("g", 0, 20, 15), cp("g", 0, 12, 10), // moved back, and still true
		cp("g", 1, 10, 10), cp("g", 1, 5, 30), // the source was created again
		cp("other", 0, 1, 1), put(checkpoints, enc("other", "src.orders", int32(0)), nil),
	)
	var m migrate.MM2
	if err := m.ReadSyncs(t.Context(), cl, syncs); err != nil {
		t.Fatal(err)
	}
	if err := m.ReadCheckpoints(t.Context(), cl, checkpoints); err != nil {
		t.Fatal(err)
	}
	part := func(topic string, p int32) offset.Partition { return offset.Partition{Topic: topic, Partition: p} }
	for p, want := range map[offset.Partition][]migrate.Sync{
		part("orders", 0): {{Source: 0, Target: 0}, {Source: 100, Target: 91}, {Source: 200, Target: 190}},
		part("orders", 1): {{Source: 3, Target: 70}},
		part("orders", 2): nil,
		part("gone", 0):   nil,
	} {
		if got := m.Syncs(p); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("syncs of %s: %v, want %v", p, got, want)
		}
	}
	for _, c := range []struct {
		group string
		p     int32
		at    int64
		want  *migrate.Sync
	}{
		{"g", 0, 25, &migrate.Sync{Source: 20, Target: 15}}, {"g", 0, 15, &migrate.Sync{Source: 12, Target: 10}}, {"g", 0, 3, &migrate.Sync{Source: 10, Target: 9}},
		{"g", 1, 20, &migrate.Sync{Source: 5, Target: 30}}, {"other", 0, 5, nil}, {"nobody", 0, 5, nil},
	} {
		if got := m.Checkpoint(c.group, part("src.orders", c.p), c.at); !reflect.DeepEqual(got, c.want) {
			t.Errorf("checkpoint of %s on partition %d at %d: %v, want %v", c.group, c.p, c.at, got, c.want)
		}
	}
	for name, r := range map[string]*kgo.Record{
		"ends too early":  put(syncs, enc("orders", int32(0)), enc(int64(1))),
		"negative length": put(syncs, enc(int16(-5)), enc(int64(1), int64(1))),
		"version 7":       put(checkpoints, enc("g", "t", int32(0)), enc(int16(7), int64(1), int64(1), "")),
	} {
		kafkatest.Produce(t, cl, r)
		err := (&migrate.MM2{}).ReadSyncs(t.Context(), cl, syncs)
		if r.Topic == checkpoints {
			err = (&migrate.MM2{}).ReadCheckpoints(t.Context(), cl, checkpoints)
		}
		if err == nil || !strings.Contains(err.Error(), r.Topic) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := migrate.SyncAliases([]string{"orders", syncs, "mm2-offset-syncs.a.internal", "mm2-configs.a.internal"}); !reflect.DeepEqual(got, []string{"a", "dst"}) {
		t.Errorf("aliases %v", got)
	}
}
