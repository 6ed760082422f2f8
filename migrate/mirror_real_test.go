//go:build realkafka

package migrate_test

// One MirrorMaker 2 for all that is copied by one: it takes long to start.

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// mirrorTakes is how long MirrorMaker may take for what is waited for, from its start on, on a machine that is busy.
const mirrorTakes = 3 * time.Minute

// mirrorBed is two clusters with a MirrorMaker between them.
type mirrorBed struct {
	a, b   *kgo.Client
	mm     *kafkatest.Mirror
	props  map[string]string
	groups map[string]string // at each position of the topics that mirrorTopics makes: group to topic
	source map[string][]*kgo.Record
}

func TestMirrorMaker(t *testing.T) {
	t.Parallel() // it mostly waits for MirrorMaker
	m := &mirrorBed{a: real.Kafka(t).Client(t), b: real.Second(t).Client(t), groups: map[string]string{}, source: map[string][]*kgo.Record{}}
	topics := mirrorTopics(t, m.a)
	for _, topic := range topics {
		bounds := kafkatest.Bounds(t, m.a, topic)[0]
		for p := bounds.Start; p <= bounds.End; p++ {
			g := fmt.Sprintf("%s.%d", topic, p)
			kafkatest.Commit(t, m.a, g, kafkatest.At(topic, 0, p))
			m.groups[g] = topic
		}
	}
	counts := m.more(t)
	m.props = kafkatest.MirrorProperties(real.Kafka(t), real.Second(t), map[string]string{
		"topics": "mm\\..*", "groups": "mm\\..*", "offset.lag.max": "100", "sync.group.offsets.enabled": "false",
		"sync.topic.configs.enabled": "false", // a test compacts a copy
	})
	m.mm = kafkatest.StartMirror(t, m.props)
	for _, topic := range topics {
		m.source[topic] = readAll(t, m.a, topic)
		want := m.source[topic][len(m.source[topic])-1]
		m.until(t, "all records of "+topic+" are copied", func() bool {
			return topicThere(t, m.b, "src."+topic) && slices.ContainsFunc(readAll(t, m.b, "src."+topic), func(r *kgo.Record) bool { return string(r.Value) == string(want.Value) })
		})
	}
	for topic, n := range counts {
		m.until(t, "all records of "+topic+" are copied", func() bool {
			total := int64(0)
			if topicThere(t, m.b, "src."+topic) {
				for _, p := range kafkatest.Bounds(t, m.b, "src."+topic) {
					total += p.End
				}
			}
			return total == n
		})
	}
	t.Run("positions", m.positions)
	t.Run("compacted once", m.compactedOnce)
	t.Run("sent again", m.sentAgain)
	t.Run("dealt anew", m.dealtAnew)
	t.Run("rounds", m.rounds)
	t.Run("syncs lost", m.losesSyncs)
}

func (m *mirrorBed) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	kafkatest.UntilWithin(t, mirrorTakes, what, func() bool {
		if err := m.mm.Err(); err != nil {
			t.Fatal(err)
		}
		return ok()
	})
}

// more makes the topics of the tests below, and says how many records of each there are to be copied.
func (m *mirrorBed) more(t *testing.T) map[string]int64 {
	t.Helper()
	create := func(topic string, parts int32, rs []*kgo.Record) {
		kafkatest.CreateTopic(t, m.a, topic, parts)
		kafkatest.Produce(t, m.a, rs...)
	}
	for _, topic := range []string{"mm.again", "mm.again.compacted"} {
		create(topic, 1, sentAgainRecords(topic))
	}
	rs, dealt := dealtRecords("dealt", "mm.dealt")
	create("dealt", dealtParts, rs)
	create("mm.dealt", dealtParts, dealt)
	create("mm.rounds", 1, roundRecords("mm.rounds"))
	kafkatest.DeleteRecords(t, m.a, "mm.rounds", 0, roundsLack)
	l := &lossy{t: t, src: m.a}
	kafkatest.CreateTopic(t, m.a, lostTopic, 1)
	l.produce(100)
	return map[string]int64{"mm.again": 900, "mm.again.compacted": 900, "mm.dealt": 600, "mm.rounds": 270, lostTopic: 100}
}

// compactedOnce turns the policy of a compacted source back: what it has lost shows in its log.
func (m *mirrorBed) compactedOnce(t *testing.T) {
	notCompacted(t, m.a, "mm.compact")
	var groups []string
	for g, topic := range m.groups {
		if topic == "mm.compact" {
			groups = append(groups, g)
		}
	}
	x := export(t, m.a, groups...)
	q := migrate.Query{Header: x.Header, Mapping: migrate.Mapping{MM2Source: "src"}, Rules: migrate.Rules{Strategies: migrate.DefaultStrategies()}}
	for _, g := range x.Groups {
		if a := g.Rows[0].Around; a == nil || a.Gapless || a.Whole {
			t.Errorf("%s: %+v", g.Name, a)
		}
		q.Rows = append(q.Rows, g.Rows...)
	}
	res, err := migrate.TranslateAll(t.Context(), m.b, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range res.Items {
		judgeMirror(t, i, m.source["mm.compact"], readAll(t, m.b, i.Target.Topic))
	}
}

// sentAgain has a stretch sent again, of which the target has lost the first copies: with its head, or to compaction.
func (m *mirrorBed) sentAgain(t *testing.T) {
	names := migrate.Mapping{MM2Source: "src"}
	kafkatest.DeleteRecords(t, m.b, "src.mm.again", 0, 600)
	judgeSentAgain(t, m.a, m.b, "mm.again", "src.mm.again", names)
	const compacted = "src.mm.again.compacted"
	for k, v := range map[string]string{"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "1000"} {
		kafkatest.SetTopicConfig(t, m.b, compacted, k, v)
	}
	kafkatest.Until(t, "the target is compacted", func() bool {
		// The active segment is never compacted; a later record makes a new one.
		r := kafkatest.Record(compacted, 0, time.Now().UnixMilli(), "roll")
		r.Key = fmt.Append(nil, r.Timestamp)
		kafkatest.Produce(t, m.b, r)
		return !offsetsOf(t, m.b, compacted, 1)[0][550]
	})
	judgeSentAgain(t, m.a, m.b, "mm.again.compacted", compacted, names)
}

// dealtAnew carries a group to the copy of a topic into which another program had put the records by another partitioner.
func (m *mirrorBed) dealtAnew(t *testing.T) {
	topics, err := migrate.ParseRenames("", []string{"dealt=src.mm.dealt"})
	if err != nil {
		t.Fatal(err)
	}
	judgeDealtAnew(t, m.a, m.b, "dealt", migrate.Mapping{Topics: topics})
}

// rounds of sync to what MirrorMaker copied: with crashes, a group that is deleted there, an application that moves over, and a source
// that is rewound.
func (m *mirrorBed) rounds(t *testing.T) {
	roundBed{t: t, src: m.a, dst: m.b, topic: "mm.rounds", copied: "src.mm.rounds", names: migrate.Mapping{MM2Source: "src"}, dir: t.TempDir()}.play()
}
