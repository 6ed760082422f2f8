package consume

// What a run is told.

import (
	"cmp"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/offset"
)

// Config is a run. Client, Topics (or End.Ranges) and Sink are needed; the zero value of everything else is a default.
type Config struct {
	// Client reaches the cluster. Requests go through it; the records come through a second client with the same options,
	// which the engine makes and closes.
	Client *kgo.Client
	// Topics are what is read, whole or some partitions. End.Ranges replaces it.
	Topics []offset.TopicSpec
	// Group is group.id: where commits go, and where group-offsets starts. Empty is none; none is ever invented.
	Group string

	Start Start
	End   End

	// ReadUncommitted reads records of open and aborted transactions too. The default is read_committed.
	ReadUncommitted bool

	Policies    Policies
	Checkpoints Checkpoints
	Commit      Commit

	// Rate bounds how fast records are handed to the sink; the zero value is no bound.
	Rate Rate
	// Discovery is how often to check for new partitions: 0 is every 5 minutes, negative is never. A run with an end
	// never looks. New partitions start at the log start.
	Discovery time.Duration

	// Silence is how long a partition's broker may not answer before it is said, before the lag is unknown and before the run
	// is no longer healthy; 0 is 10 s.
	Silence time.Duration
	// Unreachable ends a run with an end, with an error of kind Unreachable, where nothing of what it has left to read has
	// answered for so long; 0 waits for ever. A run without an end always waits.
	Unreachable time.Duration

	Sink Sink
	// Store is where positions are saved beside Kafka: on every completed checkpoint, or with every auto-commit. nil is nowhere.
	Store OffsetStore
	// Saved answers the positions file:F, checkpoint:DIR and store:URL: what they hold, and where it comes from, which the
	// engine holds against the cluster. nil refuses them. group:G is answered by the engine itself.
	Saved func(ctx context.Context, pos offset.Position) (offset.Saved, error)
	// AllowOrigin is what that comparison lets pass, and says, instead of refusing.
	AllowOrigin offset.AllowOrigin

	// Join, when not nil, reads as a member of Group, with Kafka's group protocol.
	Join *Join

	Fetch Fetch

	// BeforeCommit is called before the first commit of each partition to Kafka, with what the group has committed there:
	// once for those that the run begins with, and again for partitions that are found, or given by the group, later. The
	// run stops with its error. It is where the command line writes the undo journal.
	BeforeCommit func(ctx context.Context, before []Before) error
	// Notify is told what happens during the run. It is called from the engine's goroutines, one at a time, and must not
	// block. nil drops the notices.
	Notify func(Notice)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Version is the koffset that runs, for checkpoints.
	Version string
	// StopTimeout bounds the last checkpoint and commit after the context has ended; 0 is 10 s.
	StopTimeout time.Duration
}

// Before is what a group had committed for a partition before the first commit of a run.
type Before struct {
	Partition offset.Partition
	TopicID   string            // empty where the broker tells none
	Committed *offset.Committed // nil where there was nothing
	Bounds    offset.Bounds     // of the log, when the run was planned
	Next      offset.Committed  // what is about to be committed
}

// Policies decide what happens where the plain answer does not exist. The zero value refuses.
type Policies struct {
	OutOfRange offset.OutOfRange
	IfNone     offset.IfNone
	// IfExpired decides at the start, for restored offsets, and when retention passes the reader during the run.
	IfExpired  offset.IfExpired
	IfNoCommit offset.IfNoCommit
	// IfUnknown decides where a position is what a group had committed at a time, and that is not known.
	IfUnknown offset.IfUnknown
	Marked    offset.Marked
	// Reset is auto.offset.reset, which decides only in the mode group-offsets.
	Reset Reset
	// MaxSkip refuses a start that passes over more unread offsets of the group than this; nil is no bound.
	MaxSkip *int64
	// AllowRewind lets commits go backwards on a group that has commits.
	AllowRewind bool
	// FailOnForeign stops the run when somebody else commits to its group; otherwise it is told and goes on.
	FailOnForeign bool
}

// Reset is auto.offset.reset. The empty value is not set.
type Reset string

// The values of auto.offset.reset.
const (
	ResetEarliest Reset = "earliest"
	ResetLatest   Reset = "latest"
	ResetNone     Reset = "none"
)

// Commit says who commits when checkpoints do not.
type Commit struct {
	// Auto is enable.auto.commit. Checkpoints, where they are on, win over it.
	Auto bool
	// Interval is auto.commit.interval.ms; 0 is 5 s.
	Interval time.Duration
	// NotOnCheckpoint turns commits on completed checkpoints off.
	NotOnCheckpoint bool
}

// Checkpoints say when positions are kept, and where. Interval 0 is off.
type Checkpoints struct {
	Interval time.Duration // at least 10 ms
	// Timeout drops a checkpoint that takes longer; 0 is 10 min.
	Timeout time.Duration
	// MinPause is the least time from the end of a checkpoint to the start of the next one.
	MinPause time.Duration
	// MaxConcurrent is how many may be under way at once; 0 is 1. Only their asynchronous parts overlap.
	MaxConcurrent int
	// Tolerable is how many may fail one after another before the run fails.
	Tolerable int
	// Retained is how many completed ones are kept; 0 is 1.
	Retained int
	// AtLeastOnce leaves the sink as it is when a checkpoint is restored, instead of taking it back.
	AtLeastOnce bool
	// Dir is the folder of checkpoints; empty keeps them in memory, where they decide commits and nothing survives.
	Dir string
	// Job names the folder in Dir. Needed with Dir.
	Job       string
	Retention Retention
	// Restore is "latest", "none", or the path of a checkpoint. Empty is refused where the job has checkpoints.
	Restore string
	// RestoreWith decides where the checkpoint's run was asked something else than this one; see the constants.
	RestoreWith RestoreWith
}

// RestoreWith says whose question counts where the run that wrote a checkpoint was asked something else: other topics or
// partitions, another range, part, end or limit. The empty value refuses, with both sides named.
type RestoreWith string

// The values of RestoreWith.
const (
	// RestoreOld reads what the checkpoint's run was asked to read, to the ends that it had.
	RestoreOld RestoreWith = "old"
	// RestoreNew reads what this run asks for, from the checkpoint's positions where it has them. Positions of partitions
	// that this run does not read stay in its checkpoints.
	RestoreNew RestoreWith = "new"
)

// Retention says which checkpoints survive a run. The empty value is RetainOnCancellation.
type Retention string

// The retentions, by Flink's names. A suspension always keeps them, a reached end removes them after the last commit.
const (
	RetainOnCancellation Retention = "RETAIN_ON_CANCELLATION"
	DeleteOnCancellation Retention = "DELETE_ON_CANCELLATION"
	NoExternalized       Retention = "NO_EXTERNALIZED_CHECKPOINTS" // not even after a failure
)

// Restore words of Checkpoints.Restore.
const (
	RestoreLatest = "latest"
	RestoreNone   = "none"
)

// Rate bounds a run. Zero fields are no bound.
type Rate struct {
	Records float64 // a second
	Bytes   float64 // keys and values, a second
	// Ramp is how long the rate takes to grow from a twentieth to its full size.
	Ramp time.Duration
}

func (r Rate) limited() bool { return r.Records > 0 || r.Bytes > 0 }

// Fetch sizes what is held in memory. The zero value suits most: larger responses cost more in page faults and cache misses
// than they save in requests (measured: 8 MiB is a tenth faster than 32 MiB, in half the memory).
type Fetch struct {
	MaxBytes          int32 // of one fetch response, compressed; 0 is 8 MiB
	MaxPartitionBytes int32 // of one partition in it, compressed; 0 is 1 MiB
	// Buffer is how much one response of a broker may come to in memory; 0 is 32 MiB. The two limits above are lowered
	// during the run for topics that compress well. Up to three responses are held: one that is handed on, one that waits,
	// one that arrives.
	Buffer int64
	// MaxPoll is how many records are taken from the client at a time; 0 is no bound, and 500 for a member of a group, whose
	// partitions cannot move on while they are handed to the sink.
	MaxPoll int
	// MinBytes is how much a broker waits for, and MaxWait how long; 0 is 1 byte and 500 ms.
	MinBytes int32
	MaxWait  time.Duration
	// Rack lets the nearest replica be read (KIP-392); empty is the leader.
	Rack string
	// Options are added to the fetching client, such as hooks.
	Options []kgo.Opt
}

// Join reads as a member of a group: partitions are shared with the other members, commits follow every Commit.Interval
// and every revocation. At least once, and without checkpoints.
type Join struct {
	// Consumer uses the protocol of KIP-848 (group.protocol=consumer); it needs Kafka 4.0.
	Consumer bool
	// InstanceID makes a static member; it does not leave the group when it stops.
	InstanceID string
	// SessionTimeout of the classic protocol; 0 is kgo's 45 s.
	SessionTimeout time.Duration
	// Heartbeat of the classic protocol; 0 is kgo's 3 s.
	Heartbeat time.Duration
	// RebalanceTimeout is how long the group waits for a member that still works on its records; 0 is kgo's 60 s.
	RebalanceTimeout time.Duration
	// Assignors of the classic protocol, the preferred one first; nil is cooperative-sticky.
	Assignors []Assignor
}

// Assignor is a way to share partitions between members, by Kafka's name.
type Assignor string

// The assignors of Kafka's clients.
const (
	AssignRange             Assignor = "range"
	AssignRoundRobin        Assignor = "roundrobin"
	AssignSticky            Assignor = "sticky"
	AssignCooperativeSticky Assignor = "cooperative-sticky"
)

// OffsetStore keeps positions outside Kafka.
type OffsetStore interface {
	// Save stores the positions of a completed checkpoint, all or none. A position is the next offset to read.
	Save(ctx context.Context, checkpoint int64, positions []Position) error
}

// Position is where a run stands on a partition: the next offset to read, and the leader epoch of the record before it.
type Position struct {
	offset.Partition
	Offset      int64
	LeaderEpoch offset.LeaderEpoch
}

const (
	defaultDiscovery   = 5 * time.Minute
	defaultAutoCommit  = 5 * time.Second
	defaultTimeout     = 10 * time.Minute
	minInterval        = 10 * time.Millisecond
	defaultStopTimeout = 10 * time.Second
	defaultSilence     = 10 * time.Second
	defaultMaxBytes    = 8 << 20
	defaultPartBytes   = 1 << 20
	defaultBuffer      = 32 << 20
	defaultMaxPoll     = 500
)

func (c *Config) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *Config) isolation() offset.Isolation {
	if c.ReadUncommitted {
		return offset.ReadUncommitted
	}
	return offset.ReadCommitted
}

// fill puts the defaults where nothing was said.
func (c *Config) fill() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.Discovery, defaultDiscovery)
	def(&c.Commit.Interval, defaultAutoCommit)
	def(&c.Checkpoints.Timeout, defaultTimeout)
	def(&c.StopTimeout, defaultStopTimeout)
	def(&c.Silence, defaultSilence)
	c.Checkpoints.MaxConcurrent = cmp.Or(c.Checkpoints.MaxConcurrent, 1)
	c.Checkpoints.Retained = cmp.Or(c.Checkpoints.Retained, 1)
	if c.Checkpoints.Retention == "" {
		c.Checkpoints.Retention = RetainOnCancellation
	}
	if c.Fetch.MaxBytes == 0 {
		c.Fetch.MaxBytes = defaultMaxBytes
	}
	if c.Fetch.MaxPartitionBytes == 0 {
		c.Fetch.MaxPartitionBytes = defaultPartBytes
	}
	if c.Fetch.Buffer == 0 {
		c.Fetch.Buffer = defaultBuffer
	}
	if c.Fetch.MaxPoll == 0 && c.Join != nil {
		c.Fetch.MaxPoll = defaultMaxPoll
	}
}
