package consume

// What cannot be asked for: refused before anything is read.

import (
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Check says whether a configuration can be used, without talking to Kafka. The error is an *Error of kind Usage.
func (c Config) Check() error {
	if err := c.CheckSettings(); err != nil {
		return err
	}
	c.fill()
	if c.Client == nil {
		return usagef("make one with kgo.NewClient", "there is no Client: nothing can be read")
	}
	opts := append(c.fetchOptions(newSizer(&c)), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset()}}))
	if c.Join != nil {
		opts = append(c.fetchOptions(newSizer(&c)), (&member{Engine: &Engine{cfg: c}}).options()...)
	}
	if err := kgo.ValidateOpts(opts...); err != nil {
		return usagef("the records come through a client of the engine's own, with the options of Client and Fetch.Options", "these options cannot read: %w", err)
	}
	return nil
}

// CheckSettings is Check of everything but the client, for those who have none yet.
func (c Config) CheckSettings() error {
	c.fill()
	for _, check := range []func() error{c.checkScope, c.checkStart, c.checkGroup, c.checkCheckpoints, c.checkNumbers, c.checkJoin} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func usagef(hint, format string, args ...any) error { return errorf(Usage, hint, format, args...) }

func (c *Config) checkScope() error {
	switch {
	case c.Sink == nil:
		return usagef("", "there is no sink: the records would go nowhere")
	case len(c.End.Ranges) > 0 && len(c.Topics) > 0:
		return usagef("leave the topics out: the ranges name them", "both topics and ranges were given")
	case len(c.End.Ranges) > 0 && (c.Start.IsChosen() || c.End.Until != nil):
		return usagef("a range is both the start and the end", "both ranges and a start or an end were given")
	case len(c.End.Ranges) == 0 && len(c.Topics) == 0:
		return usagef("name a topic", "there is nothing to read")
	}
	seen := map[string]bool{}
	for _, t := range c.Topics {
		if seen[t.Topic] {
			return usagef("write the partitions in one list", "topic %s was given twice", t.Topic)
		}
		seen[t.Topic] = true
	}
	return checkRanges(c.End.Ranges)
}

func (c *Config) checkStart() error {
	if n := min(c.End.MaxRecords, c.End.JobRecords); n < 0 {
		return usagef("", "at most %s: the number is negative", text.Plural(n, "record"))
	}
	if c.End.JobRecords > 0 && c.Checkpoints.Dir == "" {
		return usagef("limit this run instead, or name a folder for checkpoints", "a limit of the job counts over its runs, and without checkpoints in a folder nothing counts them")
	}
	if u := c.End.Until; u != nil && u.Kind == offset.AtTime && u.At.Time.After(c.now()) {
		return usagef("leave the end out to keep reading, or name an instant in the past", "the end %s is in the future", offset.FormatTime(u.At.Time))
	}
	if s, u := c.Start.Position, c.End.Until; s != nil && u != nil {
		if from, until, yes := s.TurnedRound(*u); yes {
			return usagef("did you mean them the other way round?", "the end %s is before the start %s: nothing lies between them", offset.FormatTime(until.Time), offset.FormatTime(from.Time))
		}
	}
	if p := c.Start.Position; p != nil && p.Kind == offset.AfterStart {
		return usagef("use current+N, start+N or end-N", "%s is not a place to start", p)
	}
	switch c.Policies.Reset {
	case "", ResetEarliest, ResetLatest, ResetNone:
	default:
		return usagef("use earliest, latest or none; for a duration use {{start @-1h}}", "auto.offset.reset %q is not one of its values", c.Policies.Reset)
	}
	return nil
}

func (c *Config) checkGroup() error {
	if c.Group != "" {
		return nil
	}
	need := func(what string) error {
		return usagef("give it a group.id: {{group NAME}}", "%s needs a group.id, and none is given", what)
	}
	switch {
	case c.Join != nil:
		return need("joining a group")
	case len(c.End.Ranges) == 0 && c.startNeedsGroup():
		if !c.Start.IsChosen() {
			return usagef("give a group.id with {{group NAME}}, or choose where to start with {{start earliest}}, latest, @TIME or an offset",
				"no start was chosen, which means group-offsets, and that needs a group.id")
		}
		return need("the start " + c.Start.String())
	case c.Commit.Auto:
		return need("enable.auto.commit")
	case c.End.Until != nil && c.End.Until.NeedsGroup():
		return need("the end " + c.End.Until.String())
	}
	return nil
}

// startNeedsGroup says that the start is the group's commit. A restored checkpoint beats the start mode, but whether
// there is one is not known yet, and the next run may have none.
func (c *Config) startNeedsGroup() bool {
	p := c.Start.position()
	return p.NeedsGroup()
}

func (c *Config) checkCheckpoints() error {
	k := c.Checkpoints
	switch {
	case k.Interval != 0 && k.Interval < minInterval:
		return usagef("", "a checkpoint interval of %s is too short: the least is %s", k.Interval, minInterval)
	case k.Timeout < minInterval:
		return usagef("", "a checkpoint timeout of %s is too short: the least is %s", k.Timeout, minInterval)
	case k.MinPause < 0 || k.Tolerable < 0 || k.Interval < 0 || k.MaxConcurrent < 0 || k.Retained < 0:
		return usagef("", "a checkpoint's interval, pause and numbers cannot be negative")
	}
	switch k.RestoreWith {
	case "", RestoreOld, RestoreNew:
	default:
		return usagef("use old or new", "%q does not say whose question counts at a restore", k.RestoreWith)
	}
	switch k.Retention {
	case RetainOnCancellation, DeleteOnCancellation, NoExternalized:
	default:
		return usagef(fmt.Sprintf("use %s, %s or %s", RetainOnCancellation, DeleteOnCancellation, NoExternalized), "retention %q is not one of its values", k.Retention)
	}
	if k.Dir == "" {
		if k.Restore != "" && k.Restore != RestoreNone && k.Restore != RestoreLatest {
			return nil // a path of its own
		}
		if k.Restore == RestoreLatest {
			return usagef("name the folder of the checkpoints", "there is nothing to restore from: no checkpoint folder is given")
		}
		return nil
	}
	// Before anything is read: a run for a place that cannot be written must not start.
	if _, err := checkpointfile.ParseCheckpointDir(k.Dir); err != nil {
		return fileError(err)
	}
	if k.Interval == 0 {
		return usagef("give both {{checkpoint-dir DIR}} and {{checkpoint-interval 1m}}", "a checkpoint folder is given, and checkpoints are off")
	}
	if k.Job == "" {
		return usagef("name the job: {{job-name NAME}}", "each job has a folder of its own in %s, and this job has no name: a range names neither a group nor a topic to call it by", k.Dir)
	}
	if err := checkpointfile.CheckJobName(k.Job); err != nil {
		return usagef("name the job: {{job-name NAME}}", "%w", err)
	}
	return nil
}

func (c *Config) checkNumbers() error {
	switch {
	case !(c.Rate.Records >= 0 && c.Rate.Bytes >= 0) || c.Rate.Ramp < 0: // NaN is neither
		return usagef("", "a rate is a number, and cannot be negative")
	case c.Rate.Ramp > 0 && !c.Rate.limited():
		return usagef("give a rate too", "a ramp without a rate has nothing to grow to")
	case c.Commit.Interval < minInterval:
		return usagef("", "auto.commit.interval.ms of %s is too short: the least is %s", c.Commit.Interval, minInterval)
	case c.Fetch.MaxBytes < 0 || c.Fetch.MaxPartitionBytes < 0 || c.Fetch.Buffer < 0 || c.Fetch.MinBytes < 0 || c.Fetch.MaxPoll < 0:
		return usagef("", "a fetch size cannot be negative")
	case c.Fetch.MaxWait != 0 && (c.Fetch.MaxWait < minInterval || c.Fetch.MaxWait > longestWait):
		return usagef("", "fetch.max.wait.ms of %s: a broker can be asked to wait from %s to %s", c.Fetch.MaxWait, minInterval, longestWait)
	case c.StopTimeout < 0 || c.Silence < 0 || c.Unreachable < 0:
		return usagef("", "the time for the last checkpoint, and for brokers that do not answer, cannot be negative")
	case c.Policies.MaxSkip != nil && *c.Policies.MaxSkip < 0:
		return usagef("", "at most %s passed over: the number is negative", text.Plural(*c.Policies.MaxSkip, "offset"))
	}
	return nil
}

// longestWait is the longest that a fetch may wait: longer ones are cut off as requests without an answer.
const longestWait = 5 * time.Minute

func (c *Config) checkJoin() error {
	if c.Join == nil {
		return nil
	}
	exclude := func(what string) error {
		return usagef("leave one of them out", "joining the group and %s exclude each other: the group decides which partitions are read", what)
	}
	switch {
	case c.Checkpoints.Interval > 0:
		return exclude("checkpoints")
	case c.Checkpoints.Restore != "" && c.Checkpoints.Restore != RestoreNone:
		return exclude("restoring a checkpoint")
	case c.Sink.Info().ExactlyOnce:
		return exclude("an exactly-once sink")
	case len(c.End.Ranges) > 0 || c.End.Until != nil:
		return exclude("an end")
	case c.Start.Mode() != ModeGroupOffsets:
		return usagef("move the group first: {{move-group}}", "joining the group starts at the group's commits, not at %s", c.Start)
	}
	for name, d := range map[string]time.Duration{"session.timeout.ms": c.Join.SessionTimeout, "heartbeat.interval.ms": c.Join.Heartbeat, "max.poll.interval.ms": c.Join.RebalanceTimeout} {
		if d != 0 && (d < minInterval || d.Milliseconds() > math.MaxInt32) {
			return usagef("", "%s of %s is not a time that Kafka takes: it counts milliseconds, and %s is the least here", name, d, minInterval)
		}
	}
	for _, t := range c.Topics {
		if len(t.Partitions) > 0 {
			return exclude("chosen partitions (" + t.String() + ")")
		}
	}
	return nil
}
