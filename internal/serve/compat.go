package serve

import (
	"net"
	"strconv"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/metrics"
)

// writeKafkaExporter renders the families of danielqsj/kafka_exporter with its names, labels and numbers, so that
// dashboards and alerts written for it go on working. Its numbers differ from koffset's own: lag counts from the high
// watermark whatever the isolation, is negative for a commit past the end, counts what retention removed, and is -1
// without a commit; the sum of offsets has those -1 in it, the sum of lags has not. Share groups have no commits and are left
// out, KIP-848 groups are in.
func (c *collection) writeKafkaExporter(w *writer) {
	w.one("kafka_brokers", float64(len(c.cluster.Brokers)))
	w.family("kafka_broker_info", func(add func(float64, ...pair)) {
		for _, b := range c.cluster.Brokers {
			add(1, metrics.NewLabel("id", strconv.Itoa(int(b.ID))), metrics.NewLabel("address", net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))))
		}
	})
	w.family("kafka_topic_partitions", func(add func(float64, ...pair)) {
		for _, topic := range c.sortedTopics() {
			if t := c.look.Snapshot.Topics[topic]; t.Err == nil {
				add(float64(len(t.Partitions)), metrics.NewLabel("topic", topic))
			}
		}
	})
	c.writeExporterLogs(w)
	c.writeExporterGroups(w)
}

func (c *collection) writeExporterGroups(w *writer) {
	// This exporter's label, one a group, and its partitions' labels, one a group and topic.
	label := make(map[pair]pair, len(c.groups))
	w.family("kafka_consumergroup_members", func(add func(float64, ...pair)) {
		for i := range c.groups {
			g := &c.groups[i]
			label[g.label] = metrics.NewLabel("consumergroup", g.description.Name)
			if g.description.Type != inspect.TypeShare && g.description.Err == nil {
				add(float64(len(g.description.Members)), label[g.label])
			}
		}
	})
	prefixes := make([]string, len(c.topics))
	for i, t := range c.topics {
		prefixes[i] = metrics.Prefix(label[t.group], t.topic)
	}
	rows := func(name string, f func(r *rowData) (float64, bool)) {
		w.lines(name, func(line func(string, int32, string, float64)) {
			for i := range c.topics {
				for j := c.topics[i].from; c.topics[i].committed && j < c.topics[i].to; j++ {
					if v, ok := f(&c.rows[j]); ok {
						line(prefixes[i], c.rows[j].partition, metrics.PlainEnd, v)
					}
				}
			}
		})
	}
	rows("kafka_consumergroup_current_offset", exporterOffset)
	rows("kafka_consumergroup_lag", exporterLag)
	sums := func(name string, f func(r *rowData) (float64, bool)) {
		w.family(name, func(add func(float64, ...pair)) {
			for i := range c.topics {
				t := &c.topics[i]
				if !t.committed {
					continue
				}
				sum, known := 0.0, false
				for j := t.from; j < t.to; j++ {
					if v, ok := f(&c.rows[j]); ok {
						sum, known = sum+v, true
					}
				}
				if known {
					add(sum, label[t.group], t.topic)
				}
			}
		})
	}
	sums("kafka_consumergroup_current_offset_sum", exporterOffset)
	sums("kafka_consumergroup_lag_sum", func(r *rowData) (float64, bool) {
		v, ok := exporterLag(r)
		return v, ok && r.hasCommit
	})
}

func exporterOffset(r *rowData) (float64, bool) {
	if !r.hasCommit {
		return -1, !r.verdicts.Has(inspect.HealthUnknown)
	}
	return float64(r.committed), true
}

func exporterLag(r *rowData) (float64, bool) {
	switch {
	case !r.hasEnd:
		return 0, false
	case !r.hasCommit:
		return -1, !r.verdicts.Has(inspect.HealthUnknown)
	}
	return float64(r.end - r.committed), true
}

func (c *collection) writeExporterLogs(w *writer) {
	c.eachLog(w, "kafka_topic_partition_current_offset", func(_ *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		return float64(l.Bounds.End), l.Err == nil
	})
	c.eachLog(w, "kafka_topic_partition_oldest_offset", func(_ *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		return float64(l.Bounds.Start), l.Err == nil
	})
	c.eachLog(w, "kafka_topic_partition_leader", func(t *inspect.TopicPartition, _ *inspect.PartitionLog) (float64, bool) {
		return float64(t.Leader), t.Leader >= 0
	})
	c.eachLog(w, "kafka_topic_partition_replicas", func(t *inspect.TopicPartition, _ *inspect.PartitionLog) (float64, bool) {
		return float64(len(t.Replicas)), true
	})
	c.eachLog(w, "kafka_topic_partition_in_sync_replica", func(t *inspect.TopicPartition, _ *inspect.PartitionLog) (float64, bool) {
		return float64(len(t.InSync)), true
	})
	yes := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	c.eachLog(w, "kafka_topic_partition_leader_is_preferred", func(t *inspect.TopicPartition, _ *inspect.PartitionLog) (float64, bool) {
		return yes(len(t.Replicas) > 0 && t.Leader == t.Replicas[0]), true
	})
	c.eachLog(w, "kafka_topic_partition_under_replicated_partition", func(t *inspect.TopicPartition, _ *inspect.PartitionLog) (float64, bool) {
		return yes(len(t.InSync) < len(t.Replicas)), true
	})
}
