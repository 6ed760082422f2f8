package serve

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/metrics"
	"github.com/koffset/koffset/offset"
)

// write renders what is of the cluster, its groups and their topics.
func (c *collection) write(w *writer) {
	l := c.look
	w.one("koffset_cluster_info", 1, metrics.NewLabel("cluster_id", c.cluster.ID))
	w.one("koffset_brokers", float64(len(c.cluster.Brokers)))
	w.one("koffset_brokers_unanswered", float64(len(l.Missing)))
	w.one("koffset_refresh_timestamp_seconds", float64(l.At.UnixMilli())/1000)
	w.one("koffset_groups", float64(len(c.groups)))
	unread := 0
	for i := range c.groups {
		if c.groups[i].err != nil || c.groups[i].health.Unread > 0 {
			unread++
		}
	}
	w.one("koffset_groups_unread", float64(unread))
	c.writeGroups(w)
	w.family("koffset_group_topic_lag", func(add func(float64, ...pair)) {
		for i := range c.topics {
			if t := &c.topics[i]; t.committed && t.counted {
				add(float64(t.lag), t.group, t.topic)
			}
		}
	})
}

// eachGroup writes a family with what f adds for each group.
func (c *collection) eachGroup(w *writer, name string, f func(g *groupData, add func(float64, ...pair))) {
	w.family(name, func(add func(float64, ...pair)) {
		for i := range c.groups {
			f(&c.groups[i], add)
		}
	})
}

func (c *collection) writeGroups(w *writer) {
	each := func(name string, f func(g *groupData, add func(float64, ...pair))) { c.eachGroup(w, name, f) }
	each("koffset_group_info", func(g *groupData, add func(float64, ...pair)) {
		d := g.description
		add(1, g.label, metrics.NewLabel("type", string(d.Type)), metrics.NewLabel("state", d.State), metrics.NewLabel("application", string(d.Application)))
	})
	each("koffset_group_members", func(g *groupData, add func(float64, ...pair)) {
		if g.description.Err == nil {
			add(float64(len(g.description.Members)), g.label)
		}
	})
	each("koffset_group_lag", func(g *groupData, add func(float64, ...pair)) {
		if h := &g.health; h.HasLag() {
			add(float64(h.Lag), g.label)
		}
	})
	each("koffset_group_lag_seconds", func(g *groupData, add func(float64, ...pair)) {
		if t := g.health.LagTime; t.Known {
			add(t.D.Seconds(), g.label)
		}
	})
	each("koffset_group_lag_seconds_is_minimum", func(g *groupData, add func(float64, ...pair)) {
		if t := g.health.LagTime; t.Known && t.Basis == inspect.LagAtLeast {
			add(1, g.label)
		}
	})
	each("koffset_group_lag_seconds_unknown_partitions", func(g *groupData, add func(float64, ...pair)) {
		if g.health.Partitions > 0 {
			add(float64(g.health.Unaged), g.label)
		}
	})
	each("koffset_group_stuck_partitions", func(g *groupData, add func(float64, ...pair)) {
		if g.health.Partitions > g.health.Unread {
			add(float64(g.health.Stuck), g.label)
		}
	})
	each("koffset_group_catch_up_seconds", func(g *groupData, add func(float64, ...pair)) {
		if eta, ok := g.health.ETA(); ok {
			add(eta.Seconds(), g.label)
		}
	})
	each("koffset_group_expires_seconds", func(g *groupData, add func(float64, ...pair)) {
		if g.health.HasExpires {
			add(g.health.Expires.Seconds(), g.label)
		}
	})
	c.writeVerdicts(w)
	c.writeActivity(w)
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// writeActivity renders what only following the commits tells.
func (c *collection) writeActivity(w *writer) {
	c.eachGroup(w, "koffset_group_commits_total", func(g *groupData, add func(float64, ...pair)) {
		if g.activity != nil {
			add(float64(g.activity.Commits), g.label)
		}
	})
	c.eachGroup(w, "koffset_group_last_commit_timestamp_seconds", func(g *groupData, add func(float64, ...pair)) {
		if g.activity != nil && !g.activity.Last.IsZero() {
			add(unixSeconds(g.activity.Last), g.label)
		}
	})
	c.eachGroup(w, "koffset_group_commits_known_since_timestamp_seconds", func(g *groupData, add func(float64, ...pair)) {
		if g.activity != nil {
			add(unixSeconds(g.activity.Since), g.label)
		}
	})
}

func (c *collection) writeVerdicts(w *writer) {
	verdicts := map[inspect.Health]pair{}
	for _, h := range inspect.Healths() {
		verdicts[h] = metrics.NewLabel("verdict", string(h))
	}
	c.eachGroup(w, "koffset_group_verdict", func(g *groupData, add func(float64, ...pair)) { add(1, g.label, verdicts[g.health.Health]) })
	c.eachGroup(w, "koffset_group_partitions", func(g *groupData, add func(float64, ...pair)) {
		for _, h := range inspect.Healths() {
			if n := g.health.Count(h); n > 0 {
				add(float64(n), g.label, verdicts[h])
			}
		}
	})
}

// eachRow writes a family with the rows for which f has a value.
func (c *collection) eachRow(w *writer, name string, f func(r *rowData) (float64, bool)) {
	w.lines(name, func(line func(string, int32, string, float64)) {
		for i := range c.topics {
			t := &c.topics[i]
			for j := t.from; j < t.to; j++ {
				if v, ok := f(&c.rows[j]); ok {
					line(t.prefix, c.rows[j].partition, metrics.PlainEnd, v)
				}
			}
		}
	})
}

func (c *collection) writePartitionOffsets(w *writer) {
	c.eachRow(w, "koffset_group_partition_committed_offset", func(r *rowData) (float64, bool) { return float64(r.committed), r.hasCommit })
	c.eachRow(w, "koffset_group_partition_lag", func(r *rowData) (float64, bool) { return float64(r.lag), r.hasLag })
}

func (c *collection) writePartitionTimes(w *writer) {
	c.eachRow(w, "koffset_group_partition_lag_seconds", func(r *rowData) (float64, bool) {
		return float64(r.lagTime.D.Milliseconds()) / 1000, r.hasLag && r.lagTime.Known
	})
	c.eachRow(w, "koffset_group_partition_lag_seconds_is_minimum", func(r *rowData) (float64, bool) {
		return 1, r.hasLag && r.lagTime.Known && r.lagTime.Basis == inspect.LagAtLeast
	})
	c.eachRow(w, "koffset_group_partition_last_commit_timestamp_seconds", func(r *rowData) (float64, bool) { return unixSeconds(r.at), !r.at.IsZero() })
	ends := map[inspect.Health]string{}
	for _, h := range inspect.Healths() {
		ends[h] = `",verdict="` + string(h) + metrics.PlainEnd
	}
	w.lines("koffset_group_partition_verdict", func(line func(string, int32, string, float64)) {
		for i := range c.topics {
			t := &c.topics[i]
			for j := t.from; j < t.to; j++ {
				r := &c.rows[j]
				if r.verdicts.Has(inspect.HealthOK) {
					continue
				}
				for h := range r.verdicts.All() {
					line(t.prefix, r.partition, ends[h], 1)
				}
			}
		}
	})
}

// writeOwners names the members. A member that gave a partition up is not in the next page, so that Prometheus ends its series.
func (c *collection) writeOwners(w *writer) {
	w.family("koffset_group_partition_member_info", func(add func(float64, ...pair)) {
		for i := range c.topics {
			t := &c.topics[i]
			for j := t.from; j < t.to; j++ {
				if m := c.rows[j].member; m != nil {
					add(1, t.group, t.topic, metrics.NewLabel("partition", strconv.Itoa(int(c.rows[j].partition))), metrics.NewLabel("client_id", m.ClientID), metrics.NewLabel("host", strings.TrimPrefix(m.Host, "/")))
				}
			}
		}
	})
}

// errNotAsked is the error of a log that nobody was asked about.
var errNotAsked = errors.New("nobody was asked")

// eachLog writes a family with the partitions of every topic for which f has a value.
func (c *collection) eachLog(w *writer, name string, f func(t *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool)) {
	s := c.look.Snapshot
	w.lines(name, func(line func(string, int32, string, float64)) {
		for _, topic := range c.sortedTopics() {
			t, prefix := s.Topics[topic], metrics.Prefix(metrics.NewLabel("topic", topic))
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if int(p.Number) >= len(s.Log[topic]) {
					continue
				}
				log, asked := s.Log.At(offset.Partition{Topic: topic, Partition: p.Number})
				if !asked { // a partition without a leader: its bounds are not 0
					log.Err = errNotAsked
				}
				if v, ok := f(p, &log); ok {
					line(prefix, p.Number, metrics.PlainEnd, v)
				}
			}
		}
	})
}

func (c *collection) writeLogs(w *writer) {
	c.eachLog(w, "koffset_topic_partition_log_start_offset", func(_ *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		return float64(l.Bounds.Start), l.Err == nil
	})
	c.eachLog(w, "koffset_topic_partition_log_end_offset", func(_ *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		return float64(l.Bounds.End), l.Err == nil
	})
	c.eachLog(w, "koffset_topic_partition_last_stable_offset", func(_ *inspect.TopicPartition, l *inspect.PartitionLog) (float64, bool) {
		return float64(l.Bounds.LastStable), l.Err == nil && l.Bounds.LastStable < l.Bounds.End
	})
}

// series is about how many samples the per-partition families have: koffset's own and kafka_exporter's.
func (c *collection) series(own, compat bool) int {
	logs, n := 0, 0
	for _, t := range c.look.Snapshot.Topics {
		logs += len(t.Partitions)
	}
	if own {
		n += 3*len(c.rows) + 2*logs
		if c.look.Snapshot.Activity != nil {
			n += len(c.rows)
		}
	}
	if compat {
		n += 2*len(c.rows) + 7*logs
	}
	return n
}
