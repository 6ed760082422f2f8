package consumeconf

// The table of keys. Everything else in this package reads it: files, flags, the environment, explanations.

import (
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// The keys that other code names.
const (
	Topic             = "topic"
	GroupID           = "properties.group.id"
	StartupMode       = "scan.startup.mode"
	StartupMillis     = "scan.startup.timestamp-millis"
	StartupOffsets    = "scan.startup.specific-offsets"
	BoundedMode       = "scan.bounded.mode"
	BoundedMillis     = "scan.bounded.timestamp-millis"
	BoundedOffsets    = "scan.bounded.specific-offsets"
	Discovery         = "scan.topic-partition-discovery.interval"
	AutoCommit        = "properties.enable.auto.commit"
	AutoInterval      = "properties.auto.commit.interval.ms"
	OffsetReset       = "properties.auto.offset.reset"
	CommitChk         = "properties.commit.offsets.on.checkpoint"
	IsolationLevel    = "properties.isolation.level"
	KeyDeserializer   = "properties.key.deserializer"
	ValueDeserializer = "properties.value.deserializer"
	FetchMaxBytes     = "properties.fetch.max.bytes"
	fetchPartBytes    = "properties.max.partition.fetch.bytes"
	GroupProtocol     = "properties.group.protocol"
	InstanceID        = "properties.group.instance.id"
	SessionTimeout    = "properties.session.timeout.ms"
	Heartbeat         = "properties.heartbeat.interval.ms"
	PollInterval      = "properties.max.poll.interval.ms"
	Assignors         = "properties.partition.assignment.strategy"
	maxPoll           = "properties.max.poll.records"
	fetchMinBytes     = "properties.fetch.min.bytes"
	fetchMaxWait      = "properties.fetch.max.wait.ms"
	rack              = "properties.client.rack"
	ChkInterval       = "execution.checkpointing.interval"
	ChkMode           = "execution.checkpointing.mode"
	ChkTimeout        = "execution.checkpointing.timeout"
	ChkPause          = "execution.checkpointing.min-pause"
	ChkConcurrent     = "execution.checkpointing.max-concurrent-checkpoints"
	ChkTolerable      = "execution.checkpointing.tolerable-failed-checkpoints"
	ChkRetention      = "execution.checkpointing.externalized-checkpoint-retention"
	ChkRetained       = "execution.checkpointing.num-retained"
	ChkDir            = "execution.checkpointing.dir"
	chkStorage        = "execution.checkpointing.storage"
	backend           = "state.backend.type"
	Restore           = "execution.state-recovery.path"
	RestoreWith       = "restore_with"
	JobName           = "pipeline.name"
	From              = "from"
	Until             = "until"
	MaxRecords        = "max_records"
	JobRecords        = "max_job_records"
	OutOfRange        = "out_of_range"
	IfNone            = "if_none"
	IfExpired         = "if_expired"
	IfNoCommit        = "if_no_commit"
	IfUnknown         = "if_unknown"
	Marker            = "marker"
	MaxSkip           = "max_skip"
	OnForeign         = "on_foreign_commit"
	Rate              = "rate"
	Ramp              = "ramp"
	Join              = "join"
	FilesDir          = "files_dir"
	RollSize          = "roll_size"
	Format            = "format"
	MetricsListen     = "metrics_listen"
	shareGroup        = "share_group"
	StoreURL          = "offset_store"
)

// keys is the table.
func keys() []config.Key {
	return []config.Key{
		{Name: Topic, Same: []string{"topics"}, Old: []string{"connector.topic"}, Why: "what is read"},
		{Name: GroupID, Old: []string{"connector.properties.group.id"}, Why: "where commits go, and where group-offsets starts"},
		{Name: From, Group: "start", Why: "where to start, as a position word"},
		{Name: StartupMode, Group: "start", Old: []string{"startup-mode", "connector.startup-mode", "flink.consumer.startup-mode", "scan.startup-mode"}, Why: "where to start"},
		{Name: StartupMillis, Old: []string{"startup-timestamp-millis", "connector.startup-timestamp-millis", "flink.consumer.startup-timestamp-millis"}, Why: "the instant of start mode timestamp"},
		{Name: StartupOffsets, Old: []string{"startup-specific-offsets", "connector.specific-offsets", "specific-offsets", "flink.consumer.specific-offsets"}, Why: "the offsets of start mode specific-offsets"},
		{Name: Until, Group: "end", Why: "where to stop, as a position word"},
		{Name: BoundedMode, Group: "end", Why: "where to stop"},
		{Name: BoundedMillis, Why: "the instant of bounded mode timestamp"},
		{Name: BoundedOffsets, Why: "the offsets of bounded mode specific-offsets"},
		{Name: MaxRecords, Why: "end this run after exactly so many records"},
		{Name: JobRecords, Why: "end the job after exactly so many records, over all its runs"},
		{Name: OutOfRange, Builtin: "fail", Why: "an offset outside the log"},
		{Name: IfNone, Builtin: "latest", Why: "no record at or after a time"},
		{Name: IfExpired, Why: "retention removed what was asked for"},
		{Name: IfNoCommit, Why: "no commit, or no entry, for a partition"},
		{Name: IfUnknown, Why: "what a group had committed at a time is not known"},
		{Name: Marker, Builtin: "fail", Why: "a checkpoint that says a word instead of a number"},
		{Name: OffsetReset, Old: []string{"auto.offset.reset.strategy", "properties.auto.offset.reset.strategy"}, Why: "group-offsets without a usable commit"},
		{Name: MaxSkip, Why: "refuse to pass over more unread offsets"},
		{Name: IsolationLevel, Builtin: "read_committed", Why: "which records are read"},
		{Name: Discovery, Old: []string{"flink.partition-discovery.interval-millis", "properties.flink.partition-discovery.interval-millis", "partition.discovery.interval.ms", "properties.partition.discovery.interval.ms"},
			Builtin: "5 min", Why: "how often to check for new partitions"},
		{Name: CommitChk, Builtin: "true", Why: "commit each completed checkpoint"},
		{Name: AutoCommit, Builtin: "false", Old: []string{"auto.commit.enable", "properties.auto.commit.enable"}, Why: "commit by interval"},
		{Name: AutoInterval, Builtin: "5000", Why: "how often auto-commit commits"},
		{Name: OnForeign, Builtin: "warn", Why: "another client commits to the group"},
		{Name: ChkInterval, Why: "how often checkpoints are made"},
		{Name: ChkMode, Builtin: "EXACTLY_ONCE", Why: "whether a restore takes the sink back"},
		{Name: ChkTimeout, Builtin: "10 min", Why: "when a checkpoint is dropped"},
		{Name: ChkPause, Builtin: "0", Why: "the least time between two checkpoints"},
		{Name: ChkConcurrent, Builtin: "1", Why: "how many checkpoints may overlap"},
		{Name: ChkTolerable, Builtin: "0", Why: "how many may fail in a row"},
		{Name: ChkDir, Old: []string{"state.checkpoints.dir", "state.backend.fs.checkpointdir"}, Why: "where checkpoints are kept"},
		{Name: chkStorage, Old: []string{"state.checkpoint-storage"}, Why: "in memory or on disk"},
		{Name: backend, Old: []string{"state.backend"}, Why: "Flink's state backend"},
		{Name: ChkRetained, Builtin: "1", Old: []string{"state.checkpoints.num-retained"}, Why: "how many completed ones are kept"},
		{Name: ChkRetention, Builtin: "RETAIN_ON_CANCELLATION", Why: "which checkpoints survive the run"},
		{Name: Restore, Old: []string{"execution.savepoint.path"}, Same: []string{"restore"}, Why: "the checkpoint to continue from"},
		{Name: RestoreWith, Why: "whose question counts where the checkpoint's run was asked something else"},
		{Name: JobName, Why: "names the job's folder of checkpoints"},
		{Name: Join, Builtin: "false", Why: "read as a member of the group"},
		{Name: GroupProtocol, Builtin: "classic", Why: "the protocol of a member"},
		{Name: InstanceID, Why: "a static member"},
		{Name: SessionTimeout, Why: "when a member is given up"},
		{Name: Heartbeat, Why: "how often a member says that it lives"},
		{Name: PollInterval, Why: "how long a rebalance waits for a member"},
		{Name: Assignors, Why: "how members share partitions"},
		{Name: maxPoll, Why: "how many records are taken at a time"},
		{Name: fetchMinBytes, Why: "a broker waits for so many bytes"},
		{Name: fetchMaxWait, Why: "and for so long (500 ms by default)"},
		{Name: rack, Why: "the rack whose replica is read"},
		{Name: Rate, Why: "how fast records are handed on"},
		{Name: Ramp, Why: "how long the rate takes to grow"},
		{Name: FetchMaxBytes, Why: "the most of one fetch response"},
		{Name: fetchPartBytes, Why: "the most of one partition in it"},
		{Name: KeyDeserializer, Why: "how keys are printed"},
		{Name: ValueDeserializer, Why: "how values are printed"},
		{Name: Format, Why: "how records are printed"},
		{Name: FilesDir, Why: "write files there instead of standard output"},
		{Name: RollSize, Builtin: "1GiB", Why: "when a file is closed and the next begun"},
		{Name: StoreURL, Why: "positions are saved there too"},
		{Name: MetricsListen, Why: "address of metrics and health"},
		{Name: shareGroup, Builtin: "false", Why: "two jobs may use one group.id"},
	}
}

// Prefixes that may stand before any key, and mean nothing.
func prefixes() []string { return []string{"flink.connector.kafka."} }

// noEffect are keys of others that are recognised and do nothing here, with the reason.
func noEffect() map[string]string {
	connection := "the connection comes from its own flags, a properties file or a profile"
	kgo := "the client decides"
	out := map[string]string{
		"zookeeper.connect":            "Kafka's consumers have not used ZooKeeper since 0.9: offsets are in Kafka",
		"properties.zookeeper.connect": "Kafka's consumers have not used ZooKeeper since 0.9: offsets are in Kafka",
		"offsets.storage":              "offsets are always in Kafka",
		"properties.offsets.storage":   "offsets are always in Kafka",
		"dual.commit.enabled":          "offsets are always in Kafka",
		"properties.bootstrap.servers": connection, "bootstrap.servers": connection, "connector.properties.bootstrap.servers": connection,
		"properties.client.id":        "the client id comes from client.id without the prefix, or client_id of the profile",
		"properties.client.id.prefix": "the client id comes from client_id of the profile",
		"interceptor.classes":         "Java classes are not run", "metric.reporters": "Java classes are not run",
		"check.crcs": "batches are always checked", "exclude.internal.topics": "topics are named", "allow.auto.create.topics": "topics are never created by reading",
		"auto.include.jmx.reporter": "there is no JMX", "receive.buffer.bytes": kgo, "send.buffer.bytes": kgo, "connections.max.idle.ms": kgo,
		"reconnect.backoff.ms": kgo, "reconnect.backoff.max.ms": kgo, "retry.backoff.ms": kgo, "retry.backoff.max.ms": kgo, "client.dns.lookup": kgo,
		"group.remote.assignor": "the broker's default assignor is used",
		"connector":             "koffset reads Kafka only", "connector.type": "koffset reads Kafka only", "connector.version": "every version of Kafka is read alike",
		"value.format": "records are written as they are", "format.type": "records are written as they are", "key.format": "records are written as they are",
	}
	return out
}

// refused are keys that would change what is read, and that koffset does not have.
func refused() map[string]string {
	return map[string]string{
		"topic-pattern":                      "name the topics: koffset consume TOPIC…",
		"connector.topic-pattern":            "name the topics: koffset consume TOPIC…",
		"scan.startup.timestamp-millis-zone": "write the instant with {{start @TIME}} and {{time-zone}}",
	}
}

// newTable adds the spellings that every key has: Kafka's own name, without Flink's properties. before it, and dashes for
// underscores.
func newTable() *config.Table {
	all := keys()
	for i, k := range all {
		if bare, ok := strings.CutPrefix(k.Name, "properties."); ok {
			all[i].Same = append(all[i].Same, bare)
		}
		if dashed := strings.ReplaceAll(k.Name, "_", "-"); dashed != k.Name {
			all[i].Same = append(all[i].Same, dashed)
		}
	}
	return config.NewTable(all)
}

// Words are the words that a key takes, for completions and messages; nil where it takes anything.
func Words(name string) []string {
	switch name {
	case StartupMode:
		return []string{"earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"}
	case BoundedMode:
		return []string{"unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"}
	case OffsetReset:
		return []string{"earliest", "latest", "none"}
	case IsolationLevel:
		return []string{"read_committed", "read_uncommitted"}
	case ChkMode:
		return []string{"EXACTLY_ONCE", "AT_LEAST_ONCE"}
	case ChkRetention:
		return []string{"RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"}
	case RestoreWith:
		return []string{"old", "new"}
	case chkStorage:
		return []string{"jobmanager", "filesystem"}
	case GroupProtocol:
		return []string{"classic", "consumer"}
	case OnForeign:
		return []string{"warn", "fail"}
	case OutOfRange:
		return []string{"fail", "clamp", "skip"}
	case IfNone:
		return []string{"latest", "earliest", "skip", "fail"}
	case IfExpired:
		return []string{"earliest", "fail"}
	case IfNoCommit:
		return []string{"fail", "skip", "earliest", "latest"}
	case IfUnknown:
		return []string{"fail", "skip", "oldest-commit", "earliest", "latest"}
	case Marker:
		return []string{"earliest", "latest", "committed", "as-written", "fail"}
	}
	return nil
}
