package consumeconf

// From settings to a run.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// Run is what settings say about a run. Config has no client, sink and store yet.
type Run struct {
	Config consume.Config
	Output Output
	// Notes are what the start should say about the settings themselves.
	Notes []config.Warning
}

// Output is where records go, and what is opened beside the run.
type Output struct {
	FilesDir      string
	RollBytes     int64
	Format        string // a format string; empty is the default of the output
	Forms         sink.Forms
	MetricsListen string
	StoreURL      string
}

// Scope is what the command line says beside settings: topics, and ranges instead of topics.
type Scope struct {
	Topics []offset.TopicSpec
	Ranges []consume.Range
	// RangesFrom is where a range file's ranges come from.
	RangesFrom *offset.Origin
	Part       string // where the ranges came from
}

// Build makes a run. The error is an *config.Error.
func (r *Resolved) Build(scope Scope, clock offset.Clock) (Run, error) {
	x := &reader{r: r}
	var out Run
	c := &out.Config
	c.Topics, c.End.Ranges, c.End.RangesFrom, c.End.Part = scope.Topics, scope.Ranges, scope.RangesFrom, scope.Part
	if len(c.Topics) == 0 && len(c.End.Ranges) == 0 {
		for _, t := range x.list(Topic) {
			spec, err := offset.ParseTopicSpec(t)
			if err != nil {
				x.failErr(r.Get(Topic), "", err)
			}
			c.Topics = append(c.Topics, spec)
		}
	}
	c.Group = r.Get(GroupID).Text
	x.flag(shareGroup) // it counted when the jobs were read
	x.start(&out, clock)
	x.end(&out, clock)
	x.policies(c)
	x.commits(c)
	x.checkpoints(&out)
	c.Rate = x.rate()
	if v := r.Get(Ramp); v.Text != "" && !r.Has(Rate) {
		out.noEffect(v, "give a rate too", Ramp, "there is no "+Rate)
	}
	c.Discovery = x.discovery()
	c.ReadUncommitted = x.word(IsolationLevel) == "read_uncommitted"
	x.fetching(&out)
	x.join(&out)
	x.output(&out)
	if x.err != nil {
		return Run{}, x.err
	}
	return out, nil
}

func (o *Run) note(v Value, hint, format string, args ...any) {
	where := ""
	if v.Source.Kind != 0 && v.Source.Kind != config.FromBuiltin {
		where = v.Source.String()
	}
	o.Notes = append(o.Notes, config.Warning{Where: where, Text: offset.Mask(fmt.Sprintf(format, args...)), Hint: hint})
}

func (o *Run) noEffect(v Value, hint, name, why string) {
	o.note(v, hint, "%s", config.NoEffect(name, why))
}

// unused says of each key that has a value that something else decides.
func (x *reader) unused(out *Run, hint, why string, keys ...string) {
	for _, k := range keys {
		if v := x.r.Get(k); v.Text != "" {
			out.noEffect(v, hint, k, why)
		}
	}
}

// discovery reads how often to check for new partitions. Never is 0 in Flink's SQL, and negative in its KafkaSource, whose
// partition.discovery.interval.ms is -1 for bounded sources.
func (x *reader) discovery() time.Duration {
	if n, err := strconv.ParseInt(x.r.Get(Discovery).Text, 10, 64); err == nil && n < 0 {
		return -1
	}
	d := x.duration(Discovery)
	if d == 0 && x.r.Has(Discovery) {
		return -1
	}
	return d
}

// start reads koffset's word or Flink's mode with its companions.
func (x *reader) start(out *Run, clock offset.Clock) {
	c, r := &out.Config, x.r
	topic := ""
	if len(c.Topics) == 1 {
		topic = c.Topics[0].Topic
	}
	switch {
	case r.Has(From):
		c.Start.Position = x.position(From, offset.RoleStart, clock)
		x.unused(out, "", "the start is "+r.Get(From).Text, StartupMillis, StartupOffsets)
		x.defaultStart(out, From)
	case r.Has(StartupMode):
		v := r.Get(StartupMode)
		s, unused, err := consume.ParseStart(v.Text, r.Get(StartupMillis).Text, r.Get(StartupOffsets).Text, topic)
		if err != nil {
			x.startError(v, err)
			return
		}
		c.Start = s
		for _, u := range unused {
			x.unused(out, "", "the start is "+v.Text, "scan.startup."+u)
		}
		x.defaultStart(out, StartupMode)
	default:
		x.unused(out, "", "the start is nothing's choice, which is group-offsets", StartupMillis, StartupOffsets)
	}
}

// startError puts the companion's own source before an error that is about it.
func (x *reader) startError(v Value, err error) {
	hint := ""
	var ce *consume.Error
	if errors.As(err, &ce) {
		hint = ce.Hint
	}
	for _, k := range []string{StartupMillis, StartupOffsets} {
		if w := x.r.Get(k); w.Text != "" && strings.Contains(err.Error(), w.Text) {
			v = w
		}
	}
	x.failErr(v, hint, err)
}

func (x *reader) defaultStart(out *Run, key string) {
	if v := x.r.Get(key); v.Source.Kind == config.FromDefaults || v.Source.Kind == config.FromEnvironment {
		out.note(v, "", "where to start comes from %s alone: %s=%s", v.Source, key, v.Text)
	}
}

// end reads koffset's word or Flink's bounded mode.
func (x *reader) end(out *Run, clock offset.Clock) {
	c, r := &out.Config, x.r
	c.End.MaxRecords, c.End.JobRecords = x.count(MaxRecords), x.count(JobRecords)
	const hint = "set " + BoundedMode + " too"
	if r.Has(Until) {
		c.End.Until = x.position(Until, offset.RoleEnd, clock)
		x.unused(out, hint, "the end is "+r.Get(Until).Text, BoundedMillis, BoundedOffsets)
		return
	}
	v := r.Get(BoundedMode)
	mode := x.word(BoundedMode)
	if mode == "" || mode == "unbounded" {
		x.unused(out, hint, "the run has no end", BoundedMillis, BoundedOffsets)
		return
	}
	if mode != string(consume.ModeTimestamp) {
		x.unused(out, hint, "the end is "+mode, BoundedMillis)
	}
	if mode != string(consume.ModeSpecific) {
		x.unused(out, hint, "the end is "+mode, BoundedOffsets)
	}
	topic := ""
	if len(c.Topics) == 1 {
		topic = c.Topics[0].Topic
	}
	s, _, err := consume.ParseStart(mode, r.Get(BoundedMillis).Text, r.Get(BoundedOffsets).Text, topic)
	if err != nil {
		x.failErr(v, "give "+BoundedMillis+" or "+BoundedOffsets, err)
		return
	}
	c.End.Until = s.Position
}

func (x *reader) policies(c *consume.Config) {
	p := &c.Policies
	p.OutOfRange = offset.OutOfRange(x.word(OutOfRange))
	p.IfNone = offset.IfNone(x.word(IfNone))
	p.IfExpired = offset.IfExpired(x.word(IfExpired))
	p.IfNoCommit = offset.IfNoCommit(x.word(IfNoCommit))
	p.IfUnknown = offset.IfUnknown(x.word(IfUnknown))
	p.Marked = offset.Marked(x.word(Marker))
	if v := x.r.Get(OffsetReset); strings.HasPrefix(strings.ToLower(v.Text), "by_duration") {
		x.fail(v, "use from: @-1h, or earliest, latest, none", "%q is not supported", v.Text)
	}
	p.Reset = consume.Reset(x.word(OffsetReset))
	if n, ok := x.number(MaxSkip); ok {
		p.MaxSkip = &n
	}
	p.FailOnForeign = x.word(OnForeign) == "fail"
}

func (x *reader) commits(c *consume.Config) {
	c.Commit.Auto = x.flag(AutoCommit)
	c.Commit.Interval = x.span(AutoInterval)
	c.Commit.NotOnCheckpoint = !x.flag(CommitChk)
}

func (x *reader) checkpoints(out *Run) {
	c, r := &out.Config, x.r
	k := &c.Checkpoints
	k.Interval = x.duration(ChkInterval)
	k.Timeout = x.span(ChkTimeout)
	k.MinPause = x.duration(ChkPause)
	k.MaxConcurrent, k.Retained = int(x.count(ChkConcurrent)), int(x.count(ChkRetained))
	n, _ := x.number(ChkTolerable)
	k.Tolerable = int(n)
	k.AtLeastOnce = x.word(ChkMode) == "AT_LEAST_ONCE"
	k.Dir = r.Get(ChkDir).Text
	k.Retention = consume.Retention(x.word(ChkRetention))
	k.Restore = r.Get(Restore).Text
	x.storage(out)
	if k.Dir == "" && r.Has(ChkRetention) && k.Interval > 0 {
		out.noEffect(r.Get(ChkRetention), "name a folder: "+ChkDir, ChkRetention, "checkpoints are in memory")
	}
	if k.Interval == 0 {
		for _, key := range []string{ChkMode, ChkTimeout, ChkPause, ChkConcurrent, ChkTolerable, ChkRetained, ChkRetention, CommitChk} {
			if r.Has(key) {
				out.noEffect(r.Get(key), "give "+ChkInterval, key, "checkpoints are off")
			}
		}
	}
	k.RestoreWith = consume.RestoreWith(x.word(RestoreWith))
	k.Job = x.jobName(c)
}

// jobName names the job: the setting, the job of the configuration file, the group, or the topics.
func (x *reader) jobName(c *consume.Config) string {
	if v := x.r.Get(JobName); v.Text != "" {
		return v.Text
	}
	if x.r.Job != "" {
		return x.r.Job
	}
	if c.Group != "" {
		return c.Group
	}
	names := make([]string, len(c.Topics))
	for i, t := range c.Topics {
		names[i] = t.Topic
	}
	return strings.Join(names, "+")
}

// storage reads Flink's two ways to choose between memory and a folder: checkpoint-storage, and before 1.13 the backend.
func (x *reader) storage(out *Run) {
	k := &out.Config.Checkpoints
	conflict := func(v Value, memory bool) {
		switch {
		case memory && k.Dir != "":
			x.fail(v, "leave one of them out", "%s keeps checkpoints in memory, and %s (%s) names a folder", v.Text, ChkDir, x.r.Get(ChkDir).Source)
		case !memory && k.Dir == "":
			x.fail(v, "give "+ChkDir, "%s keeps checkpoints in a folder, and none is named", v.Text)
		}
	}
	if w := x.word(chkStorage); w != "" {
		conflict(x.r.Get(chkStorage), w == "jobmanager")
	}
	v := x.r.Get(backend)
	switch strings.ToLower(v.Text) {
	case "":
	case "jobmanager":
		conflict(v, true)
	case "filesystem":
		conflict(v, false)
	default:
		out.noEffect(v, "", backend+"="+v.Text, "the engine keeps positions and no other state")
	}
}

// fetching reads what a Java consumer sizes its fetches with.
func (x *reader) fetching(out *Run) {
	f := &out.Config.Fetch
	f.MaxPoll = int(x.count(maxPoll))
	f.MaxBytes, f.MaxPartitionBytes, f.MinBytes = x.fetchSize(out, FetchMaxBytes), x.fetchSize(out, fetchPartBytes), x.fetchSize(out, fetchMinBytes)
	f.MaxWait = x.span(fetchMaxWait)
	f.Rack = x.r.Get(rack).Text
}

// assignors reads Java's names of the ways to share partitions.
func (x *reader) assignors() []consume.Assignor {
	var out []consume.Assignor
	for _, name := range x.list(Assignors) {
		bare := name[strings.LastIndexByte(name, '.')+1:]
		switch strings.ToLower(strings.TrimSuffix(bare, "Assignor")) {
		case "range":
			out = append(out, consume.AssignRange)
		case "roundrobin":
			out = append(out, consume.AssignRoundRobin)
		case "sticky":
			out = append(out, consume.AssignSticky)
		case "cooperativesticky", "cooperative-sticky":
			out = append(out, consume.AssignCooperativeSticky)
		default:
			x.fail(x.r.Get(Assignors), "use RangeAssignor, RoundRobinAssignor, StickyAssignor or CooperativeStickyAssignor", "%q is not one of Kafka's", name)
		}
	}
	return out
}

func (x *reader) join(out *Run) {
	c := &out.Config
	joins := x.flag(Join)
	protocol := x.word(GroupProtocol)
	if !joins {
		for _, k := range []string{GroupProtocol, InstanceID, SessionTimeout, Heartbeat, PollInterval, Assignors} {
			if x.r.Has(k) {
				out.noEffect(x.r.Get(k), "add {{join}} to read as a member", k, "the engine assigns partitions to itself and joins no group")
			}
		}
		return
	}
	c.Join = &consume.Join{Consumer: protocol == "consumer", InstanceID: x.r.Get(InstanceID).Text, SessionTimeout: x.span(SessionTimeout),
		Heartbeat: x.span(Heartbeat), RebalanceTimeout: x.span(PollInterval), Assignors: x.assignors()}
	for _, k := range []string{SessionTimeout, Heartbeat, Assignors} {
		if c.Join.Consumer && x.r.Has(k) {
			out.note(x.r.Get(k), "", "%s has no effect with the protocol consumer: the broker decides", k)
		}
	}
}

func (x *reader) output(out *Run) {
	o := &out.Output
	o.FilesDir = x.r.Get(FilesDir).Text
	o.RollBytes = x.size(RollSize)
	o.Format = x.r.Get(Format).Text
	o.MetricsListen = x.r.Get(MetricsListen).Text
	o.StoreURL = x.r.Get(StoreURL).Text
	if c := out.Config; o.StoreURL != "" && c.Checkpoints.Interval == 0 && !c.Commit.Auto && c.Join == nil {
		out.noEffect(x.r.Get(StoreURL), "give "+ChkInterval+", or "+AutoCommit, StoreURL, "positions are saved when a checkpoint completes or a commit is due, and neither is on")
	}
	for _, d := range []struct {
		key  string
		form *sink.Form
	}{{KeyDeserializer, &o.Forms.Key}, {ValueDeserializer, &o.Forms.Value}} {
		v := x.r.Get(d.key)
		if v.Text == "" {
			continue
		}
		form, ok := sink.FormOf(v.Text)
		if !ok {
			out.note(v, "String, ByteArray, Bytes, ByteBuffer, Integer and Long are known", "%s=%s is not known: written as it is", d.key, v.Text)
			continue
		}
		*d.form = form
	}
}
