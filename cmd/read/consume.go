// Package read has consume, the command line of the consuming engine.
package read

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/cmd/foreign"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/offset"
)

// consumeOptions are the flags of consume. Those that stand for a setting are in settingFlags; what is here exists on the
// command line alone.
type consumeOptions struct {
	app        *cli.App
	group      string
	partitions string
	ranges     []string
	rangeFile  string
	part       int
	partGiven  bool
	job        string
	flinkConf  string
	output     string
	format     string
	explain    bool
	dryRun     bool
	quiet      bool
	kept       string // the journal of the first commit; empty before it

	allowRewind bool
	confirm     string
	snapshot    cli.SnapshotFlags
	origin      cli.OriginFlag
	schemas     *cli.Schemas // of -o jsonl; nil for other forms

	values map[string]*string // of settingFlags
	bools  map[string]*bool
}

// settingFlag is a flag that stands for a setting of the configuration.
type settingFlag struct {
	flag, key, usage string
	boolean          bool
}

func settingFlags() []settingFlag {
	return []settingFlag{
		{flag: "from", key: consumeconf.From, usage: "where to start, a position `WORD`: earliest, latest, current, 1234, start+N, end-N, current-N, @TIME, @-2h, @-1d/d, group:G, file:F, checkpoint:DIR, store:URL, or orders:0=42,orders:1=@-2h"},
		{flag: "startup-mode", key: consumeconf.StartupMode, usage: "where to start, by Flink's `NAME`: earliest-offset, latest-offset, group-offsets, timestamp, specific-offsets"},
		{flag: "startup-timestamp-millis", key: consumeconf.StartupMillis, usage: "`MILLISECONDS` since 1970, for start mode timestamp"},
		{flag: "startup-specific-offsets", key: consumeconf.StartupOffsets, usage: "`OFFSETS` for start mode specific-offsets: partition:0,offset:42;partition:1,offset:300; with several topics topic:orders,partition:0,offset:42"},
		{flag: "until", key: consumeconf.Until, usage: "where to stop, exclusive, a position `WORD` as for --from, or +N counted from the start; resolved once, at the start"},
		{flag: "max-records", key: consumeconf.MaxRecords, usage: "end this run after exactly `N` records over all partitions"},
		{flag: "max-job-records", key: consumeconf.JobRecords, usage: "end the job after exactly `N` records over all partitions and all its runs, as its checkpoints count them"},
		{flag: "isolation", key: consumeconf.IsolationLevel, usage: "read_committed or read_uncommitted (default read_committed)"},
		{flag: "auto-offset-reset", key: consumeconf.OffsetReset, usage: "group-offsets without a usable commit: earliest, latest or none (default latest, as Kafka's clients)"},
		{flag: "out-of-range", key: consumeconf.OutOfRange, usage: "an offset outside the log: fail, clamp or skip (default fail)"},
		{flag: "if-none", key: consumeconf.IfNone, usage: "no record at or after a time: latest, earliest, skip or fail (default latest)"},
		{flag: "if-expired", key: consumeconf.IfExpired, usage: "retention removed what was asked for, at the start or during the run: earliest or fail (default: earliest for a time, else fail)"},
		{flag: "if-no-commit", key: consumeconf.IfNoCommit, usage: "a partition without a commit, or missing from a map: fail, skip, earliest or latest"},
		{flag: "if-unknown", key: consumeconf.IfUnknown, usage: "what a group had committed at a time is not known, as compaction removed it: fail, skip, oldest-commit, earliest or latest (default fail)"},
		{flag: "marker", key: consumeconf.Marker, usage: "a Flink source that has not begun: earliest, latest, committed, as-written or fail (default fail)"},
		{flag: "max-skip", key: consumeconf.MaxSkip, usage: "refuse a start that passes over more than `N` unread offsets of the group; 0 is none"},
		{flag: "auto-commit", key: consumeconf.AutoCommit, usage: "commit by interval what was written (enable.auto.commit); checkpoints win over it", boolean: true},
		{flag: "auto-commit-interval", key: consumeconf.AutoInterval, usage: "how often --auto-commit commits, a `DURATION` (default 5s)"},
		{flag: "commit-on-checkpoint", key: consumeconf.CommitChk, usage: "commit the offsets of each completed checkpoint (default true)", boolean: true},
		{flag: "on-foreign-commit", key: consumeconf.OnForeign, usage: "another client commits to the group: warn or fail (default warn)"},
		{flag: "checkpoint-interval", key: consumeconf.ChkInterval, usage: "make a checkpoint every `DURATION`, at least 10ms; 0 is never (default: never)"},
		{flag: "checkpoint-dir", key: consumeconf.ChkDir, usage: "keep checkpoints in `DIR`/JOB, a path or file:///… (default: in memory)"},
		{flag: "checkpoint-mode", key: consumeconf.ChkMode, usage: "EXACTLY_ONCE, or AT_LEAST_ONCE, which does not cut files back on a restore"},
		{flag: "checkpoint-timeout", key: consumeconf.ChkTimeout, usage: "drop a checkpoint that takes longer than this `DURATION` (default 10m)"},
		{flag: "min-pause", key: consumeconf.ChkPause, usage: "the least `DURATION` from the end of a checkpoint to the begin of the next; 0 is none (default 0)"},
		{flag: "max-concurrent-checkpoints", key: consumeconf.ChkConcurrent, usage: "how many checkpoints may be under way, `N` (default 1)"},
		{flag: "tolerable-failed-checkpoints", key: consumeconf.ChkTolerable, usage: "how many may fail one after another, `N`; 0 is none (default 0)"},
		{flag: "retained-checkpoints", key: consumeconf.ChkRetained, usage: "how many completed checkpoints are kept, `N` (default 1)"},
		{flag: "retention", key: consumeconf.ChkRetention, usage: "RETAIN_ON_CANCELLATION, DELETE_ON_CANCELLATION or NO_EXTERNALIZED_CHECKPOINTS"},
		{flag: "restore", key: consumeconf.Restore, usage: "continue from a checkpoint: latest, none, or its `PATH`"},
		{flag: "restore-with", key: consumeconf.RestoreWith, usage: "where the checkpoint's run was asked something else: read what it was asked (`WORD` old) or what this run is asked (new); without it that is refused"},
		{flag: "job-name", key: consumeconf.JobName, usage: "`NAME` of the folder of checkpoints (default: the job, the group or the topics)"},
		{flag: "discovery-interval", key: consumeconf.Discovery, usage: "check for new partitions every `DURATION`; 0 is never (default 5m)"},
		{flag: "rate", key: consumeconf.Rate, usage: "deliver at most so much: `50/s`, 10MiB/s, or both with a comma"},
		{flag: "ramp", key: consumeconf.Ramp, usage: "let the rate grow to its full size over this `DURATION`; 0 is at once (default 0)"},
		{flag: "join", key: consumeconf.Join, usage: "read as a member of the group, so that several processes share the topic; at least once, no checkpoints", boolean: true},
		{flag: "group-protocol", key: consumeconf.GroupProtocol, usage: "the protocol of --join: classic or consumer (KIP-848)"},
		{flag: "group-instance-id", key: consumeconf.InstanceID, usage: "a static member of --join with this `ID`"},
		{flag: "to-files", key: consumeconf.FilesDir, usage: "write files into `DIR` instead of standard output; exactly once with --checkpoint-dir"},
		{flag: "roll-size", key: consumeconf.RollSize, usage: "begin a new file at the first checkpoint after so many bytes, such as 256MiB (default 1GiB)"},
		{flag: "key-deserializer", key: consumeconf.KeyDeserializer, usage: "how keys are printed, by a Java `CLASS`: String, ByteArray, Integer, Long"},
		{flag: "value-deserializer", key: consumeconf.ValueDeserializer, usage: "how values are printed, by a Java `CLASS`"},
		{flag: "offset-store", key: consumeconf.StoreURL, usage: "save the positions of each completed checkpoint at `URL` too"},
		{flag: "metrics-listen", key: consumeconf.MetricsListen, usage: "serve /metrics and /healthz at `HOST:PORT` (host 127.0.0.1 where none is named)"},
	}
}

// NewConsume is the command consume.
func NewConsume(a *cli.App) *cobra.Command {
	o := &consumeOptions{app: a, values: map[string]*string{}, bools: map[string]*bool{}}
	c := &cobra.Command{
		Use: "consume TOPIC…", GroupID: "carry",
		Short: "Read records from an exact place to an exact place, with checkpoints",
		Long: `Reads records and writes them to standard output or to files. Where every partition starts and ends is resolved once,
to numbers, checked against the log, and shown with its reason before the first record. A run without a start is
group-offsets: the commits of --group.

Who commits: with --checkpoint-interval each completed checkpoint's offsets, exactly; without checkpoints --auto-commit
what was written; otherwise nobody. The first line of the run says which. No group is joined (--join does): a group.id is
only where commits go.

SIGTERM suspends: a last checkpoint, always kept. Ctrl-C cancels: a last checkpoint, then --retention decides. Standard
output gets every record at least once; --to-files with --checkpoint-dir exactly once, also after a kill -9.

A consumer's own settings count: -X auto.offset.reset=earliest, and a Java client's file with --command-config, which may hold
Flink's keys too. The order is: flags and -X, --command-config, --flink-conf, --job, KOFFSET_CONSUME_*, the file's defaults.

Format verbs:
` + verbList() + cli.ExitStatus(
			"  1  failed: the sink, a checkpoint too many, retention passed the reader",
			"  3  refused: an offset outside the log, --max-skip, a commit that would go backwards, a checkpoint of something else",
			"  4  less was there than was asked for: an open transaction holds the rest of a range back, a counted range has fewer records",
			"  5  no such topic or partition",
			"  6  a run with an end had no answer from any broker that it needs for --timeout"),
		Example: `  koffset consume orders --from @-1h --until latest
  koffset consume orders --startup-mode specific-offsets --startup-specific-offsets 'partition:0,offset:42;partition:1,offset:300'
  koffset consume orders --from @2026-11-29T10:00Z --until @2026-11-29T11:00Z --to-files replay -o jsonl
  koffset consume orders -g billing --checkpoint-interval 10s --checkpoint-dir /var/lib/koffset --restore latest
  koffset consume orders --from earliest --rate 500/s -f '%t %p %o %k %v\n'
  koffset consume orders --range orders:0=1000:2000
  koffset consume --job nightly --explain`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), cmd, args) },
	}
	o.flags(c)
	o.completions(c)
	return c
}

func (o *consumeOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.group, "group", "g", "", "`GROUP` whose commits are the start and that commits go to (group.id)")
	f.StringVarP(&o.partitions, "partitions", "p", "", "partitions `0,2-5` of the one TOPIC")
	for _, s := range settingFlags() {
		if s.boolean {
			o.bools[s.flag] = f.Bool(s.flag, false, s.usage)
			continue
		}
		o.values[s.flag] = f.String(s.flag, "", s.usage)
	}
	f.StringArrayVar(&o.ranges, "range", nil, "read a `RANGE` and nothing else: TOPIC:P=FROM:TO (TO not included) or TOPIC:P=FROM+COUNT; repeatable")
	f.StringVar(&o.rangeFile, "range-file", "", "read the ranges of one --part of a `FILE` that koffset split wrote")
	f.IntVar(&o.part, "part", 0, "the part `K` of --range-file, from 1")
	f.StringVar(&o.job, "job", "", "the settings of a job, `NAME` under consume: jobs: in the configuration file")
	f.StringVar(&o.flinkConf, "flink-conf", "", "settings of a Flink configuration `FILE`, flink-conf.yaml or config.yaml")
	f.StringVarP(&o.format, "format", "f", "", "how a record is written, a `FORMAT` string (default '%v\\n')")
	f.StringVarP(&o.output, "output", "o", "", "text (--format), jsonl with keys, headers and times, or raw `WORD` (values and nothing else)")
	f.BoolVar(&o.explain, "explain", false, "print every setting with its source and what it means, hold the run against a check list, and exit")
	f.BoolVar(&o.dryRun, "dry-run", false, "show where the run would start and end, and exit")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no table of partitions, no notes and no summary; warnings stay")
	f.BoolVar(&o.allowRewind, "allow-rewind", false, "let commits go backwards on a group that has commits")
	f.StringVar(&o.confirm, "confirm", "", "the `CLUSTER-ID`, where the profile wants commits confirmed")
	o.snapshot.Add(f)
	o.snapshot.AddInFlight(f)
	o.origin.Add(c, f)
	o.app.AddRegistryFlag(c)
}

// verbList has one verb a line.
func verbList() string {
	return "  " + strings.NewReplacer(", %", "\n  %", "; ", "\n  ").Replace(sink.FormatVerbs())
}

func (o *consumeOptions) completions(c *cobra.Command) {
	for _, s := range settingFlags() {
		if words := consumeconf.Words(s.key); words != nil {
			_ = c.RegisterFlagCompletionFunc(s.flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "jsonl", "raw"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("restore", cobra.FixedCompletions([]string{"latest", "none"}, cobra.ShellCompDirectiveDefault))
	for _, dir := range []string{"checkpoint-dir", "to-files"} {
		_ = c.RegisterFlagCompletionFunc(dir, cli.CheckpointCompletion)
	}
	_ = c.RegisterFlagCompletionFunc("job", func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		s, err := conn.Load(o.app.Inputs(cmd))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		set := consumeconf.New()
		if set.Section(s.Consume, s.ConfigPath, "") != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return set.JobNames(), cobra.ShellCompDirectiveNoFileComp
	})
	c.ValidArgsFunction = o.app.Completer().Topics()
}

// load lays the settings of flags, files and the environment over each other.
func (o *consumeOptions) load(cmd *cobra.Command, s *conn.Settings) (*consumeconf.Resolved, error) {
	set := consumeconf.New()
	if err := set.Section(s.Consume, s.ConfigPath, o.job); err != nil {
		return nil, err
	}
	if err := set.Environment(o.app.Environ); err != nil {
		return nil, err
	}
	for _, v := range s.Owned {
		if err := set.Client(v); err != nil {
			return nil, err
		}
	}
	if o.flinkConf != "" {
		data, err := o.app.ReadFile(o.flinkConf)
		if err != nil {
			return nil, cli.Usagef("", "--flink-conf: %w", err)
		}
		if err := set.FlinkConf(o.flinkConf, data); err != nil {
			return nil, err
		}
	}
	f := cmd.Flags()
	put := func(flag, key, value string) error { return set.Flag("--"+flag, key, value) }
	for _, sf := range settingFlags() {
		if !f.Changed(sf.flag) {
			continue
		}
		value := f.Lookup(sf.flag).Value.String()
		if value == "" {
			return nil, cli.Usagef("", "--%s is empty", sf.flag)
		}
		if err := put(sf.flag, sf.key, value); err != nil {
			return nil, err
		}
	}
	if f.Changed("group") {
		if o.group == "" {
			return nil, cli.Usagef("leave it out to read without a group", "the group name is empty")
		}
		if err := put("group", consumeconf.GroupID, o.group); err != nil {
			return nil, err
		}
	}
	if f.Changed("format") {
		if err := put("format", consumeconf.Format, o.format); err != nil {
			return nil, err
		}
	}
	return set.Resolve()
}

// scope reads the topics and ranges of the command line.
func (o *consumeOptions) scope(args []string) (consumeconf.Scope, error) {
	var out consumeconf.Scope
	for _, arg := range args {
		topics, err := offset.ParseTopicSpecs(arg)
		if err != nil {
			return out, cli.AsUsage(err)
		}
		out.Topics = append(out.Topics, topics...)
	}
	if o.partitions != "" {
		if len(out.Topics) != 1 || len(out.Topics[0].Partitions) > 0 {
			return out, cli.Usagef("write TOPIC:"+o.partitions, "-p needs exactly one topic")
		}
		set, err := offset.ParsePartitionSet(o.partitions)
		if err != nil {
			return out, cli.AsUsage(fmt.Errorf("-p: %w", err))
		}
		out.Topics[0].Partitions = set
	}
	for _, text := range o.ranges {
		r, err := consume.ParseRange(text)
		if err != nil {
			return out, err
		}
		out.Ranges = append(out.Ranges, r)
	}
	if err := o.readRanges(&out); err != nil {
		return out, err
	}
	// TOPIC beside ranges of that topic says nothing new.
	if len(out.Ranges) > 0 {
		named := map[string]bool{}
		for _, r := range out.Ranges {
			named[r.Topic] = true
		}
		for _, t := range out.Topics {
			if !named[t.Topic] || len(t.Partitions) > 0 {
				return out, cli.Usagef("leave the topic out: the ranges name theirs", "topic %s and ranges were both given", t)
			}
		}
		out.Topics = nil
	}
	return out, nil
}

func (o *consumeOptions) readRanges(out *consumeconf.Scope) error {
	switch {
	case o.rangeFile == "" && !o.partGiven:
		return nil
	case o.rangeFile == "":
		return cli.Usagef("add --range-file FILE", "--part chooses a part of a range file, and none is given")
	case len(o.ranges) > 0:
		return cli.Usagef("leave one of them out", "--range and --range-file were both given")
	}
	data, err := o.app.ReadFile(o.rangeFile)
	if err != nil {
		return cli.Usagef("", "--range-file: %w", err)
	}
	rf, err := consume.ReadRangeFile(bytes.NewReader(data), o.rangeFile)
	if err != nil {
		return err
	}
	if !o.partGiven {
		return cli.Usagef(fmt.Sprintf("--part 1 to --part %d", len(rf.Parts)), "range file %s has %d parts, and none is chosen", o.rangeFile, len(rf.Parts))
	}
	if o.part < 1 || o.part > len(rf.Parts) {
		return cli.Usagef(fmt.Sprintf("--part 1 to --part %d", len(rf.Parts)), "range file %s has %d parts, --part is %d", o.rangeFile, len(rf.Parts), o.part)
	}
	out.Ranges = rf.Parts[o.part-1]
	out.Part = fmt.Sprintf("part %d of %d of %s", o.part, len(rf.Parts), filepath.Base(o.rangeFile))
	if len(out.Ranges) == 0 {
		return quietlySaying(o.app, "part %d of %s is empty: there is nothing to read", o.part, o.rangeFile)
	}
	origin := rf.Origin(o.rangeFile)
	out.RangesFrom = &origin
	return nil
}

// quietlySaying ends a command that has nothing to do, which is no failure.
func quietlySaying(a *cli.App, format string, args ...any) error {
	a.Streams.Note(format, args...)
	return cli.Quietly(offset.KindNone)
}

// encoder is how records are written.
func (o *consumeOptions) encoder(ctx context.Context, out consumeconf.Output) (sink.Encoder, string, error) {
	word := o.output
	format := out.Format
	switch format { // a word is taken as one, so that -f jsonl does what it looks like
	case "jsonl", "raw":
		word, format = format, ""
	}
	switch word {
	case "", "text":
		if format == "" {
			format = `%v\n`
		}
		enc, err := sink.ParseFormat(format, out.Forms)
		if err != nil {
			return nil, "", cli.Usagef("", "--format: %w", err)
		}
		return enc, "txt", nil
	case "jsonl", "json":
		if format != "" {
			return nil, "", cli.Usagef("leave one of them out", "-o %s and --format were both given", word)
		}
		return sink.JSONLinesDecoded(out.Forms, func(r *kgo.Record, b []byte) sink.Schema {
			v := o.schemas.Show(ctx, r, b)
			return sink.Schema{ID: v.ID, Sure: v.Known, Decoded: v.JSON}
		}), "jsonl", nil
	case "raw":
		return sink.Raw, "bin", nil
	}
	hint := "use text, jsonl or raw"
	if from := foreign.Start(word); from != "" {
		hint = "where to start is --from " + from + "; -o is how records are written"
	}
	return nil, "", cli.Usagef(hint, "-o %q is not one of its values", word)
}

func (o *consumeOptions) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	s, err := o.app.SettingsOwning(cmd, consumeconf.Owns)
	if err != nil {
		return err
	}
	r, err := o.load(cmd, s)
	if err != nil {
		return consumeFault(err)
	}
	if err := o.origin.Parse(); err != nil {
		return err
	}
	o.partGiven = cmd.Flags().Changed("part")
	scope, err := o.scope(args)
	if err != nil {
		return consumeFault(err)
	}
	clock := o.app.Clock(s)
	run, err := r.Build(scope, clock)
	if err != nil {
		return consumeFault(err)
	}
	o.sayWarnings(r, run)
	if o.explain {
		return o.explained(s, r, run)
	}
	run.Config.Policies.AllowRewind = o.allowRewind
	run.Config.AllowOrigin = o.origin.Allow
	run.Config.Version = o.app.Version
	if run.Config.Sink, err = o.sink(ctx, cmd, s, run.Output); err != nil {
		return err
	}
	if d := run.Config.Checkpoints.Dir; d != "" && !strings.Contains(d, "://") {
		run.Config.Checkpoints.Dir = o.app.Path(d)
	}
	if p := run.Config.Checkpoints.Restore; p != "" && p != consume.RestoreLatest && p != consume.RestoreNone {
		run.Config.Checkpoints.Restore = o.app.Path(strings.TrimPrefix(p, "file://"))
	}
	if err := run.Config.CheckSettings(); err != nil {
		return consumeFault(err)
	}
	return o.consume(ctx, s, r, run)
}

// sink is where the records go.
func (o *consumeOptions) sink(ctx context.Context, cmd *cobra.Command, s *conn.Settings, out consumeconf.Output) (consume.Sink, error) {
	enc, ext, err := o.encoder(ctx, out)
	if err != nil {
		return nil, err
	}
	switch {
	case ext == "jsonl":
		if o.schemas, err = o.app.Schemas(ctx, s); err != nil {
			return nil, err
		}
	case cmd.Flags().Changed("schema-registry"):
		return nil, cli.Usagef("add -o jsonl", "--schema-registry decodes for -o jsonl, and the output is another")
	}
	if out.FilesDir != "" {
		files, err := sink.NewFiles(o.app.Path(out.FilesDir), enc, sink.FilesOptions{Ext: ext, RollBytes: out.RollBytes})
		if err != nil {
			return nil, cli.Usagef("", "--to-files: %w", err)
		}
		return files, nil
	}
	if o.app.Streams.OutNowhere {
		o.app.Streams.Warn("standard output is closed: the records are written nowhere, and whatever commits says that they were read")
		o.app.Streams.Hint("write into a file, a pipe or --to-files; >/dev/null throws them away on purpose")
	}
	return sink.NewWriter("stdout", straight{o.app.Streams}, enc), nil
}

func (o *consumeOptions) sayWarnings(r *consumeconf.Resolved, run consumeconf.Run) {
	st := o.app.Streams
	for _, w := range append(r.Warnings, run.Notes...) {
		st.Warn("%s", w)
		if w.Hint != "" {
			st.Hint("%s", w.Hint)
		}
	}
	if n := len(r.Unused); n > 0 {
		names := make([]string, n)
		for i, v := range r.Unused {
			names[i] = v.As
		}
		st.Note("not used of %s: %s", o.flinkConf, strings.Join(names, ", "))
	}
}
