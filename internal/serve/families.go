package serve

import "github.com/koffset/koffset/internal/metrics"

// The names are a contract with dashboards and alerts: docs/metrics.md lists the same ones, and a test compares the two.

// family is one metric family.
type family struct {
	metrics.Family
	Labels []string
	// PerPartition families are left out without per-partition metrics; Compat names the exporter whose family it is; Live
	// families are also there while nothing could be read.
	PerPartition, Live bool
	Compat             string
}

// KafkaExporter is the word of --compat.
const KafkaExporter = "kafka_exporter"

// families are all families that can be served.
func families() []family {
	group, groupTopic := []string{"group"}, []string{"group", "topic"}
	part, groupPart := []string{"topic", "partition"}, []string{"group", "topic", "partition"}
	out := []family{
		{Family: metrics.Family{Name: "koffset_build_info", Help: "1, with the version of koffset."}, Labels: []string{"version"}, Live: true},
		{Family: metrics.Family{Name: "koffset_up", Help: "1 when the last refresh succeeded, 0 when it failed, none has ended yet, or Kafka could not be reached."}, Live: true},
		{Family: metrics.Family{Name: "koffset_refreshes_total", Help: "Refreshes that ended, successful or not.", Counter: true}, Live: true},
		{Family: metrics.Family{Name: "koffset_refresh_failures_total", Help: "Refreshes that failed; what was read before is served on.", Counter: true}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_requests_total", Help: "Requests that koffset sent to Kafka.", Counter: true}, Labels: []string{"request"}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_request_failures_total", Help: "Requests that could not be written or whose answer could not be read.", Counter: true}, Labels: []string{"request"}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_request_seconds_total", Help: "Time from writing requests to having read their answers.", Counter: true}, Labels: []string{"request"}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_request_bytes_total", Help: "Bytes of the requests.", Counter: true}, Labels: []string{"request"}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_response_bytes_total", Help: "Bytes of the answers.", Counter: true}, Labels: []string{"request"}, Live: true},
		{Family: metrics.Family{Name: "koffset_kafka_throttled_seconds_total", Help: "Time for which brokers throttled koffset.", Counter: true}, Live: true},

		{Family: metrics.Family{Name: "koffset_cluster_info", Help: "1, with the id of the cluster."}, Labels: []string{"cluster_id"}},
		{Family: metrics.Family{Name: "koffset_brokers", Help: "Brokers in the cluster's metadata."}},
		{Family: metrics.Family{Name: "koffset_brokers_unanswered", Help: "Brokers that did not list their groups in the last refresh; those groups are missing here."}},
		{Family: metrics.Family{Name: "koffset_refresh_timestamp_seconds", Help: "When the offsets served here were read, in seconds since 1970."}},
		{Family: metrics.Family{Name: "koffset_refresh_duration_seconds", Help: "How long the last successful refresh took, requests and rendering."}},
		{Family: metrics.Family{Name: "koffset_groups", Help: "Groups that were read."}},
		{Family: metrics.Family{Name: "koffset_groups_unread", Help: "Groups that could not be read, or not completely."}},
		{Family: metrics.Family{Name: "koffset_commits_followed", Help: "1 while commits are read from Kafka's record of them, 0 while each group is asked for; only where they are to be followed."}},
		{Family: metrics.Family{Name: "koffset_partition_metrics_omitted", Help: "1 when per-partition metrics were left out because there would have been more of them than the limit."}},

		{Family: metrics.Family{Name: "koffset_group_info", Help: "1, with the group's type, state and kind of application."}, Labels: []string{"group", "type", "state", "application"}},
		{Family: metrics.Family{Name: "koffset_group_members", Help: "Members of the group."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_lag", Help: "Offsets between the commits and the log ends, at most so many records. Partitions without a commit, or whose commit is outside the log, are not in it."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_lag_seconds", Help: "Age of the oldest record that the group has not committed, interpolated between refreshes; exact for partitions that do not move."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_lag_seconds_is_minimum", Help: "1 where the lag in seconds is older than what was observed, so that it is at least that."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_lag_seconds_unknown_partitions", Help: "Partitions of the group with records to read whose age is unknown; while it is above 0 the lag in seconds is a minimum, or absent."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_stuck_partitions", Help: "Partitions of the group with records to read that a member holds and that make no progress: stalled or never-committed."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_verdict", Help: "1 for the group's leading verdict, which is the worst of its partitions'."}, Labels: []string{"group", "verdict"}},
		{Family: metrics.Family{Name: "koffset_group_partitions", Help: "Partitions of the group by verdict; several may hold on one."}, Labels: []string{"group", "verdict"}},
		{Family: metrics.Family{Name: "koffset_group_catch_up_seconds", Help: "When the group will be at the end at the present rates; absent where it is not getting there."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_expires_seconds", Help: "When retention reaches the group's oldest position, at the earliest; absent where it is not known."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_commits_total", Help: "Commits of the group that were seen since its commits are followed.", Counter: true}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_last_commit_timestamp_seconds", Help: "When the group last committed, in seconds since 1970; absent where no commit was seen yet."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_commits_known_since_timestamp_seconds", Help: "From when on every commit of the group was seen, in seconds since 1970; absent while its commits are not followed."}, Labels: group},
		{Family: metrics.Family{Name: "koffset_group_topic_lag", Help: "koffset_group_lag by topic."}, Labels: groupTopic},

		{Family: metrics.Family{Name: "koffset_group_partition_committed_offset", Help: "The committed offset: the next one to read."}, Labels: groupPart, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_lag", Help: "Offsets between the commit and the log end; absent without a commit and for one past the end."}, Labels: groupPart, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_lag_seconds", Help: "Age of the next record to read; absent where it is unknown."}, Labels: groupPart, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_lag_seconds_is_minimum", Help: "1 where that age is a minimum, absent elsewhere."}, Labels: groupPart, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_last_commit_timestamp_seconds", Help: "When the group last committed for the partition; absent where no commit was seen yet."}, Labels: groupPart, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_verdict", Help: "1 for each verdict that holds on the partition, other than ok."}, Labels: []string{"group", "topic", "partition", "verdict"}, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_group_partition_member_info", Help: "1, with the member that holds the partition; only where member labels are asked for."}, Labels: []string{"group", "topic", "partition", "client_id", "host"}, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_topic_partition_log_start_offset", Help: "The first offset that can be read."}, Labels: part, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_topic_partition_log_end_offset", Help: "The high watermark."}, Labels: part, PerPartition: true},
		{Family: metrics.Family{Name: "koffset_topic_partition_last_stable_offset", Help: "Where a read_committed reader ends, where that is before the log end."}, Labels: part, PerPartition: true},
	}
	return append(out, kafkaExporterFamilies()...)
}

func kafkaExporterFamilies() []family {
	part, group := []string{"topic", "partition"}, []string{"consumergroup", "topic", "partition"}
	out := []family{
		{Family: metrics.Family{Name: "kafka_brokers", Help: "Brokers in the cluster."}},
		{Family: metrics.Family{Name: "kafka_broker_info", Help: "1, with a broker's id and address."}, Labels: []string{"id", "address"}},
		{Family: metrics.Family{Name: "kafka_topic_partitions", Help: "Partitions of the topic."}, Labels: []string{"topic"}},
		{Family: metrics.Family{Name: "kafka_topic_partition_current_offset", Help: "The high watermark."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_oldest_offset", Help: "The log start offset."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_leader", Help: "The id of the leader."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_replicas", Help: "Replicas of the partition."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_in_sync_replica", Help: "Replicas that are in sync."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_leader_is_preferred", Help: "1 when the leader is the preferred one."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_topic_partition_under_replicated_partition", Help: "1 when a replica is not in sync."}, Labels: part},
		{Family: metrics.Family{Name: "kafka_consumergroup_members", Help: "Members of the group."}, Labels: []string{"consumergroup"}},
		{Family: metrics.Family{Name: "kafka_consumergroup_current_offset", Help: "The committed offset, -1 for none."}, Labels: group},
		{Family: metrics.Family{Name: "kafka_consumergroup_current_offset_sum", Help: "The sum of the committed offsets."}, Labels: []string{"consumergroup", "topic"}},
		{Family: metrics.Family{Name: "kafka_consumergroup_lag", Help: "High watermark less committed offset, -1 without a commit."}, Labels: group},
		{Family: metrics.Family{Name: "kafka_consumergroup_lag_sum", Help: "The sum of the lags of partitions with a commit."}, Labels: []string{"consumergroup", "topic"}},
	}
	for i := range out {
		out[i].Compat = KafkaExporter
	}
	return out
}
