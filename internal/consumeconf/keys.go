package consumeconf

// The table of keys. Everything else in this package reads it: files, flags, the environment, explanations.

import (
	"slices"
	"strings"
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
	FetchPartBytes    = "properties.max.partition.fetch.bytes"
	GroupProtocol     = "properties.group.protocol"
	InstanceID        = "properties.group.instance.id"
	SessionTimeout    = "properties.session.timeout.ms"
	Heartbeat         = "properties.heartbeat.interval.ms"
	PollInterval      = "properties.max.poll.interval.ms"
	Assignors         = "properties.partition.assignment.strategy"
	MaxPoll           = "properties.max.poll.records"
	FetchMinBytes     = "properties.fetch.min.bytes"
	FetchMaxWait      = "properties.fetch.max.wait.ms"
	Rack              = "properties.client.rack"
	ChkInterval       = "execution.checkpointing.interval"
	ChkMode           = "execution.checkpointing.mode"
	ChkTimeout        = "execution.checkpointing.timeout"
	ChkPause          = "execution.checkpointing.min-pause"
	ChkConcurrent     = "execution.checkpointing.max-concurrent-checkpoints"
	ChkTolerable      = "execution.checkpointing.tolerable-failed-checkpoints"
	ChkRetention      = "execution.checkpointing.externalized-checkpoint-retention"
	ChkRetained       = "execution.checkpointing.num-retained"
	ChkDir            = "execution.checkpointing.dir"
	ChkStorage        = "execution.checkpointing.storage"
	Backend           = "state.backend.type"
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
	ShareGroup        = "share_group"
	StoreURL          = "offset_store"
)

type kind uint8

const (
	free   kind = iota
	word        // one of a few words, checked where it is used
	flag        // true or false
	length      // a duration; Flink's bare number is milliseconds
	millis      // a duration; a bare number is milliseconds
	size        // bytes: 64mb, 10MiB
	number      // a whole number
)

type key struct {
	name string
	kind kind
	// old are earlier spellings, which work and warn.
	old []string
	// same are other spellings in use today, which work without a word.
	same []string
	// builtin is what counts when nobody says anything; empty is nothing.
	builtin string
	// why is what the key is for, in a few words.
	why string
}

// keys is the table.
func keys() []key {
	return []key{
		{name: Topic, same: []string{"topics"}, old: []string{"connector.topic"}, why: "what is read"},
		{name: GroupID, old: []string{"connector.properties.group.id"}, why: "where commits go, and where group-offsets starts"},
		{name: From, why: "where to start, as a position word"},
		{name: StartupMode, kind: word, old: []string{"startup-mode", "connector.startup-mode", "flink.consumer.startup-mode", "scan.startup-mode"}, why: "where to start"},
		{name: StartupMillis, old: []string{"startup-timestamp-millis", "connector.startup-timestamp-millis", "flink.consumer.startup-timestamp-millis"}, why: "the instant of start mode timestamp"},
		{name: StartupOffsets, old: []string{"startup-specific-offsets", "connector.specific-offsets", "specific-offsets", "flink.consumer.specific-offsets"}, why: "the offsets of start mode specific-offsets"},
		{name: Until, why: "where to stop, as a position word"},
		{name: BoundedMode, kind: word, why: "where to stop"},
		{name: BoundedMillis, why: "the instant of bounded mode timestamp"},
		{name: BoundedOffsets, why: "the offsets of bounded mode specific-offsets"},
		{name: MaxRecords, kind: number, why: "end this run after exactly so many records"},
		{name: JobRecords, kind: number, why: "end the job after exactly so many records, over all its runs"},
		{name: OutOfRange, kind: word, builtin: "fail", why: "an offset outside the log"},
		{name: IfNone, kind: word, builtin: "latest", why: "no record at or after a time"},
		{name: IfExpired, kind: word, why: "retention removed what was asked for"},
		{name: IfNoCommit, kind: word, why: "no commit, or no entry, for a partition"},
		{name: Marker, kind: word, builtin: "fail", why: "a checkpoint that says a word instead of a number"},
		{name: OffsetReset, kind: word, old: []string{"auto.offset.reset.strategy", "properties.auto.offset.reset.strategy"}, why: "group-offsets without a usable commit"},
		{name: MaxSkip, kind: number, why: "refuse to pass over more unread offsets"},
		{name: IsolationLevel, kind: word, builtin: "read_committed", why: "which records are read"},
		{name: Discovery, kind: length, old: []string{"flink.partition-discovery.interval-millis", "properties.flink.partition-discovery.interval-millis", "partition.discovery.interval.ms", "properties.partition.discovery.interval.ms"},
			builtin: "5 min", why: "how often new partitions are looked for"},
		{name: CommitChk, kind: flag, builtin: "true", why: "commit each completed checkpoint"},
		{name: AutoCommit, kind: flag, builtin: "false", old: []string{"auto.commit.enable", "properties.auto.commit.enable"}, why: "commit by interval"},
		{name: AutoInterval, kind: millis, builtin: "5000", why: "how often auto-commit commits"},
		{name: OnForeign, kind: word, builtin: "warn", why: "somebody else commits to the group"},
		{name: ChkInterval, kind: length, why: "how often checkpoints are made"},
		{name: ChkMode, kind: word, builtin: "EXACTLY_ONCE", why: "whether a restore takes the sink back"},
		{name: ChkTimeout, kind: length, builtin: "10 min", why: "when a checkpoint is dropped"},
		{name: ChkPause, kind: length, builtin: "0", why: "the least time between two checkpoints"},
		{name: ChkConcurrent, kind: number, builtin: "1", why: "how many checkpoints may overlap"},
		{name: ChkTolerable, kind: number, builtin: "0", why: "how many may fail in a row"},
		{name: ChkDir, old: []string{"state.checkpoints.dir", "state.backend.fs.checkpointdir"}, why: "where checkpoints are kept"},
		{name: ChkStorage, kind: word, old: []string{"state.checkpoint-storage"}, why: "in memory or on disk"},
		{name: Backend, kind: word, old: []string{"state.backend"}, why: "Flink's state backend"},
		{name: ChkRetained, kind: number, builtin: "1", old: []string{"state.checkpoints.num-retained"}, why: "how many completed ones are kept"},
		{name: ChkRetention, kind: word, builtin: "RETAIN_ON_CANCELLATION", why: "which checkpoints survive the run"},
		{name: Restore, old: []string{"execution.savepoint.path"}, same: []string{"restore"}, why: "the checkpoint to go on from"},
		{name: RestoreWith, kind: word, why: "whose question counts where the checkpoint's run was asked something else"},
		{name: JobName, why: "names the job's folder of checkpoints"},
		{name: Join, kind: flag, builtin: "false", why: "read as a member of the group"},
		{name: GroupProtocol, kind: word, builtin: "classic", why: "the protocol of a member"},
		{name: InstanceID, why: "a static member"},
		{name: SessionTimeout, kind: millis, why: "when a member is given up"},
		{name: Heartbeat, kind: millis, why: "how often a member says that it lives"},
		{name: PollInterval, kind: millis, why: "how long a rebalance waits for a member"},
		{name: Assignors, why: "how members share partitions"},
		{name: MaxPoll, kind: number, why: "how many records are taken at a time"},
		{name: FetchMinBytes, kind: size, why: "a broker waits for so many bytes"},
		{name: FetchMaxWait, kind: millis, why: "and for so long (500 ms where nothing is said)"},
		{name: Rack, why: "the rack whose replica is read"},
		{name: Rate, why: "how fast records are handed on"},
		{name: Ramp, kind: length, why: "how long the rate takes to grow"},
		{name: FetchMaxBytes, kind: size, why: "the most of one fetch response"},
		{name: FetchPartBytes, kind: size, why: "the most of one partition in it"},
		{name: KeyDeserializer, why: "how keys are printed"},
		{name: ValueDeserializer, why: "how values are printed"},
		{name: Format, why: "how records are printed"},
		{name: FilesDir, why: "write files there instead of standard output"},
		{name: RollSize, kind: size, builtin: "1GiB", why: "when a file is closed and the next begun"},
		{name: StoreURL, why: "positions are saved there too"},
		{name: MetricsListen, why: "address of metrics and health"},
		{name: ShareGroup, kind: flag, builtin: "false", why: "two jobs may use one group.id"},
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

// table is the keys by every spelling.
type table struct {
	keys []key
	by   map[string]key
	old  map[string]bool
}

func newTable() *table {
	t := &table{keys: keys(), by: map[string]key{}, old: map[string]bool{}}
	add := func(name string, k key) {
		if _, taken := t.by[name]; !taken {
			t.by[name] = k
		}
	}
	for _, k := range t.keys {
		add(k.name, k)
		// Kafka's own name, without Flink's properties. before it, is the same key.
		if bare, ok := strings.CutPrefix(k.name, "properties."); ok {
			add(bare, k)
		}
		add(strings.ReplaceAll(k.name, "_", "-"), k)
	}
	for _, k := range t.keys {
		for _, s := range k.same {
			add(s, k)
		}
		for _, o := range k.old {
			add(o, k)
			t.old[o] = true
		}
	}
	return t
}

func (t *table) lookup(name string) (k key, old, ok bool) {
	k, ok = t.by[name]
	return k, t.old[name], ok
}

func (t *table) names() []string {
	out := make([]string, 0, len(t.by))
	for n := range t.by {
		if !t.old[n] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
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
	case ChkStorage:
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
	case Marker:
		return []string{"earliest", "latest", "committed", "as-written", "fail"}
	}
	return nil
}
