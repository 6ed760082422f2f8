package consumeconf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/offset"
)

// section parses the consume: section of a configuration file.
func section(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

type input struct {
	yaml, job, flink, flinkName string
	env                         []string
	flags                       map[string]string // key to value
	topics                      []string
}

func build(t *testing.T, in input) (*consumeconf.Resolved, consumeconf.Run, error) {
	t.Helper()
	s := consumeconf.New()
	if err := s.Section(section(t, in.yaml), "/etc/config.yaml", in.job); err != nil {
		return nil, consumeconf.Run{}, err
	}
	if err := s.Environment(in.env); err != nil {
		return nil, consumeconf.Run{}, err
	}
	if in.flink != "" {
		name := in.flinkName
		if name == "" {
			name = "config.yaml"
		}
		if err := s.FlinkConf(name, []byte(in.flink)); err != nil {
			return nil, consumeconf.Run{}, err
		}
	}
	for k, v := range in.flags {
		if err := s.Flag("--"+k, k, v); err != nil {
			return nil, consumeconf.Run{}, err
		}
	}
	r, err := s.Resolve()
	if err != nil {
		return nil, consumeconf.Run{}, err
	}
	var scope consumeconf.Scope
	for _, name := range in.topics {
		scope.Topics = append(scope.Topics, offset.TopicSpec{Topic: name})
	}
	run, err := r.Build(scope, offset.Clock{Now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)})
	return r, run, err
}

func said(r *consumeconf.Resolved, run consumeconf.Run) string {
	var b strings.Builder
	for _, w := range append(r.Warnings, run.Notes...) {
		fmt.Fprintf(&b, "%s (%s)\n", w, w.Hint)
	}
	return b.String()
}

func TestFlinkKeys(t *testing.T) {
	r, run, err := build(t, input{job: "nightly", yaml: `
defaults:
  execution.checkpointing.interval: 1 min
jobs:
  nightly:
    topic: [orders, payments]
    properties:
      group.id: nightly
      auto.offset.reset: earliest
      isolation.level: read_uncommitted
      enable.auto.commit: true
    scan.startup:
      mode: timestamp
      timestamp-millis: 1672502400000
    scan.topic-partition-discovery.interval: 30s
    execution:
      checkpointing:
        mode: AT_LEAST_ONCE
        timeout: 90 s
        min-pause: "500"
        max-concurrent-checkpoints: 2
        tolerable-failed-checkpoints: 3
        externalized-checkpoint-retention: delete_on_cancellation
        num-retained: 5
        dir: file:///var/ck
    properties.value.deserializer: org.apache.kafka.common.serialization.LongDeserializer
    rate: 50/s
`})
	if err != nil {
		t.Fatal(err)
	}
	c := run.Config
	k := c.Checkpoints
	if len(c.Topics) != 2 || c.Group != "nightly" || !c.ReadUncommitted || !c.Commit.Auto || c.Policies.Reset != consume.ResetEarliest {
		t.Errorf("%+v", c)
	}
	if c.Start.Mode() != consume.ModeTimestamp || offset.FormatTime(c.Start.Position.At.Time) != "2022-12-31T16:00:00Z" {
		t.Errorf("start %s", c.Start)
	}
	want := consume.Checkpoints{Interval: time.Minute, Timeout: 90 * time.Second, MinPause: 500 * time.Millisecond, MaxConcurrent: 2, Tolerable: 3, Retained: 5,
		AtLeastOnce: true, Dir: "file:///var/ck", Job: "nightly", Retention: consume.DeleteOnCancellation}
	if k != want {
		t.Errorf("checkpoints\n got %+v\nwant %+v", k, want)
	}
	if c.Discovery != 30*time.Second || c.Rate.Records != 50 {
		t.Errorf("discovery %s, rate %v", c.Discovery, c.Rate)
	}
	if got := r.Get(consumeconf.ChkInterval).Source.String(); got != "defaults (config.yaml:3)" {
		t.Errorf("source %q", got)
	}
	if got := r.Get(consumeconf.StartupMode).Source.String(); got != "job (config.yaml:13)" {
		t.Errorf("source %q", got)
	}
}

// Old spellings mean the same as today's, and warn with it.
func TestOldSpellings(t *testing.T) {
	for old, today := range map[string]string{
		"startup-mode": consumeconf.StartupMode, "flink.consumer.startup-mode": consumeconf.StartupMode, "connector.startup-mode": consumeconf.StartupMode,
		"state.checkpoints.dir": consumeconf.ChkDir, "state.backend.fs.checkpointdir": consumeconf.ChkDir, "state.checkpoints.num-retained": consumeconf.ChkRetained,
		"execution.savepoint.path": consumeconf.Restore, "auto.commit.enable": consumeconf.AutoCommit, "connector.topic": consumeconf.Topic,
		"connector.properties.group.id": consumeconf.GroupID,
	} {
		value := map[string]string{consumeconf.StartupMode: "earliest-offset", consumeconf.ChkRetained: "3", consumeconf.AutoCommit: "true"}[today]
		if value == "" {
			value = "x"
		}
		s := consumeconf.New()
		if err := s.Section(section(t, "defaults:\n  "+old+": "+value+"\n"), "c.yaml", ""); err != nil {
			t.Fatal(err)
		}
		r, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Get(today); got.Text != value || got.As != old {
			t.Errorf("%s: %+v", old, got)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].String(), today) {
			t.Errorf("%s: warnings %v", old, r.Warnings)
		}
	}
	_, run, err := build(t, input{topics: []string{"a"}, yaml: `
defaults:
  connector.startup-mode: specific-offsets
  connector.specific-offsets.0.partition: 0
  connector.specific-offsets.0.offset: 42
  connector.specific-offsets.1.partition: 1
  connector.specific-offsets.1.offset: 300
`})
	if err != nil || run.Config.Start.Position.Map[offset.Partition{Topic: "a", Partition: 1}].N != 300 {
		t.Errorf("%v %+v", err, run.Config.Start.Position)
	}
	// The prefix of other connectors means nothing; Kafka's names without properties. are the same keys.
	_, run, err = build(t, input{topics: []string{"a"}, yaml: "defaults:\n  flink.connector.kafka.scan.startup.mode: latest-offset\n  group.id: g\n"})
	if err != nil || run.Config.Start.Mode() != consume.ModeLatest || run.Config.Group != "g" {
		t.Errorf("%v %+v", err, run.Config)
	}
}

func TestLayers(t *testing.T) {
	in := input{topics: []string{"a"}, job: "j", yaml: "defaults:\n  rate: 1/s\n  format: d\n  max_skip: 1\n  scan.startup.mode: latest-offset\njobs:\n  j:\n    rate: 2/s\n    format: j\n",
		env: []string{"KOFFSET_CONSUME_RATE=3/s", "KOFFSET_CONSUME_MAX_SKIP=3", "OTHER=1"}, flink: "execution:\n  checkpointing:\n    interval: 10s\nparallelism:\n  default: 4\n",
		flags: map[string]string{consumeconf.Rate: "4/s"}}
	r, run, err := build(t, in)
	if err != nil {
		t.Fatal(err)
	}
	if run.Config.Rate.Records != 4 || r.Get(consumeconf.Format).Text != "j" || *run.Config.Policies.MaxSkip != 3 || run.Config.Checkpoints.Interval != 10*time.Second {
		t.Errorf("%+v", run.Config)
	}
	if len(r.Unused) != 1 || r.Unused[0].As != "parallelism.default" {
		t.Errorf("unused %v", r.Unused)
	}
	if !strings.Contains(said(r, run), "where to start comes from defaults (config.yaml:5) alone") {
		t.Errorf("a start of the defaults alone is not said: %s", said(r, run))
	}
	// What is closer decides where to start, and the other way to say it is gone.
	in.flags[consumeconf.From] = "earliest"
	if _, run, err = build(t, in); err != nil || run.Config.Start.Mode() != consume.ModeEarliest {
		t.Errorf("%v, start %s", err, run.Config.Start)
	}
}

func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		in   input
		says string
	}{
		"old and new":          {input{yaml: "defaults:\n  state.checkpoints.dir: /a\n  execution.checkpointing.dir: /b\n"}, "are the same setting with different values"},
		"word and mode":        {input{topics: []string{"a"}, flags: map[string]string{consumeconf.From: "earliest", consumeconf.StartupMode: "latest-offset"}}, "are two ways to say one thing"},
		"two jobs, one group":  {input{yaml: "jobs:\n  a: {group.id: g}\n  b: {properties.group.id: g}\n"}, "jobs a and b have one group.id, g"},
		"unknown job":          {input{job: "nightli", yaml: "jobs:\n  nightly: {group.id: g}\n"}, `there is no job "nightli"`},
		"mode without millis":  {input{topics: []string{"a"}, flags: map[string]string{consumeconf.StartupMode: "timestamp"}}, "needs its instant"},
		"mode without offsets": {input{topics: []string{"a"}, flags: map[string]string{consumeconf.StartupMode: "specific-offsets"}}, "needs its offsets"},
		"several topics":       {input{topics: []string{"a", "b"}, flags: map[string]string{consumeconf.StartupMode: "specific-offsets", consumeconf.StartupOffsets: "partition:0,offset:1"}}, "names no topic"},
		"a typing error":       {input{topics: []string{"a"}, flags: map[string]string{consumeconf.StartupMode: "earliest"}}, "not one of the five"},
		"no unit":              {input{topics: []string{"a"}, flags: map[string]string{consumeconf.ChkInterval: "1000"}}, "has no unit"},
		"topic pattern":        {input{yaml: "defaults:\n  topic-pattern: a.*\n"}, "not supported"},
		"memory and a dir":     {input{topics: []string{"a"}, yaml: "defaults:\n  state.backend: jobmanager\n  state.checkpoints.dir: /x\n"}, "in memory"},
		"by_duration":          {input{topics: []string{"a"}, yaml: "defaults:\n  auto.offset.reset: by_duration:PT1H\n"}, "not supported"},
		"no records":           {input{topics: []string{"a"}, flags: map[string]string{consumeconf.MaxRecords: "0"}}, "at least 1"},
		"no records of a job":  {input{topics: []string{"a"}, flags: map[string]string{consumeconf.JobRecords: "0"}}, "at least 1"},
		"none under way":       {input{topics: []string{"a"}, flags: map[string]string{consumeconf.ChkConcurrent: "0"}}, "at least 1"},
		"none retained":        {input{topics: []string{"a"}, flags: map[string]string{consumeconf.ChkRetained: "0"}}, "at least 1"},
		"none of a poll":       {input{topics: []string{"a"}, yaml: "defaults:\n  max.poll.records: 0\n"}, "at least 1"},
		"written twice":        {input{yaml: "defaults:\n  rate: 1/s\n  rate: 1/s\n"}, "written twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := build(t, c.in)
			var e *config.Error
			if !errors.As(err, &e) || e.ErrorKind() != offset.KindUsage || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	if _, _, err := build(t, input{yaml: "jobs:\n  a: {group.id: g, share_group: true}\n  b: {group.id: g, share_group: true}\n"}); err != nil {
		t.Errorf("shared on purpose: %v", err)
	}
}

// Nothing is ignored silently.
func TestNothingIsSilent(t *testing.T) {
	for text, says := range map[string]string{
		"zookeeper.connect: zk:2181":             "has no effect: Kafka's consumers have not used ZooKeeper",
		"offsets.storage: kafka":                 "has no effect",
		"properties.bootstrap.servers: k:9092":   "the connection comes from",
		"properties.security.protocol: SSL":      "belong in a profile",
		"scan.startup.modee: x":                  "did you mean scan.startup.mode?",
		"scan.startup.timestamp-millis: 1":       "has no effect",
		"execution.checkpointing.timeout: 1 min": "checkpoints are off",
		"properties.group.instance.id: x":        "joins no group",
		"state.backend.type: rocksdb":            "keeps positions and no other state",
		"properties.key.deserializer: my.Own":    "is not known",
		"ramp: 1m":                               "there is no rate",
	} {
		r, run, err := build(t, input{topics: []string{"a"}, yaml: "defaults:\n  " + text + "\n"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !strings.Contains(said(r, run), says) || !strings.Contains(said(r, run), "config.yaml:2") {
			t.Errorf("%s: said %q, want %q with its place", text, said(r, run), says)
		}
	}
	r, run, err := build(t, input{topics: []string{"a"}, env: []string{"KOFFSET_CONSUME_RATEE=1/s"}})
	if err != nil || !strings.Contains(said(r, run), "did you mean KOFFSET_CONSUME_RATE?") {
		t.Errorf("%v: %s", err, said(r, run))
	}
}

func TestFlinkConf(t *testing.T) {
	flat := "# Flink\njobmanager.rpc.address: localhost\nexecution.checkpointing.interval: 3min   # comment\nstate.backend: hashmap\nstate.checkpoints.dir: file:///ck\nbroken line\n"
	r, run, err := build(t, input{topics: []string{"a"}, flink: flat, flinkName: "conf/flink-conf.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if run.Config.Checkpoints.Interval != 3*time.Minute || run.Config.Checkpoints.Dir != "file:///ck" {
		t.Errorf("%+v", run.Config.Checkpoints)
	}
	if len(r.Unused) != 1 || !strings.Contains(said(r, run), "flink-conf.yaml:6") {
		t.Errorf("unused %v, said %s", r.Unused, said(r, run))
	}
}

func TestRates(t *testing.T) {
	for in, want := range map[string]consume.Rate{"50/s": {Records: 50}, "120/m": {Records: 2}, "10MiB/s": {Bytes: 10 << 20}, "5/s,1k/s": {Records: 5, Bytes: 1024}} {
		if got, ok := consumeconf.ParseRate(in); !ok || got != want {
			t.Errorf("%s: %v %v", in, got, ok)
		}
	}
	for _, bad := range []string{"50", "0/s", "-1/s", "/s", "5/s,6/s", "x/s", "5/fortnight"} {
		if got, ok := consumeconf.ParseRate(bad); ok {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
}

func TestExplain(t *testing.T) {
	r, run, err := build(t, input{topics: []string{"a"}, flags: map[string]string{consumeconf.GroupID: "console-consumer-1234", consumeconf.ChkInterval: "10s", consumeconf.AutoCommit: "true"}})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]consumeconf.Row{}
	for _, row := range r.Explain(run) {
		rows[row.Key] = row
	}
	for key, means := range map[string]string{consumeconf.AutoCommit: "ignored: checkpoints are on", consumeconf.ChkDir: "nothing survives the process",
		consumeconf.StartupMode: "not chosen: group-offsets", consumeconf.OffsetReset: "Flink: none", consumeconf.Rate: "as fast as"} {
		if !strings.Contains(rows[key].Meaning, means) {
			t.Errorf("%s means %q, want %q", key, rows[key].Meaning, means)
		}
	}
	if rows[consumeconf.ChkTimeout].Source != "default" || rows[consumeconf.ChkInterval].Source != "flag --"+consumeconf.ChkInterval {
		t.Errorf("sources %q, %q", rows[consumeconf.ChkTimeout].Source, rows[consumeconf.ChkInterval].Source)
	}
	bad := map[string]bool{}
	for _, c := range r.Checks(run) {
		if !c.OK {
			bad[c.Name] = true
		}
	}
	for _, name := range []string{"stable group.id", "one committer", "checkpoints", "start chosen", "fallback chosen"} {
		if !bad[name] {
			t.Errorf("%s holds, though it does not", name)
		}
	}
}

// A consumer's own file counts, Flink's keys in it too; what has no effect is told in one warning.
func TestClientFile(t *testing.T) {
	s := consumeconf.New()
	for i, line := range [][2]string{
		{"group.id", "app"}, {"auto.offset.reset", "earliest"}, {"enable.auto.commit", "true"}, {"auto.commit.interval.ms", "1000"},
		{"isolation.level", "read_uncommitted"}, {"max.poll.records", "100"}, {"fetch.max.bytes", "1048576"}, {"fetch.min.bytes", "10"},
		{"fetch.max.wait.ms", "250"}, {"client.rack", "r1"}, {"value.deserializer", "org.apache.kafka.common.serialization.LongDeserializer"},
		{"scan.startup.mode", "timestamp"}, {"scan.startup.timestamp-millis", "1700000000000"},
		{"interceptor.classes", "com.example.X"}, {"my.own", "1"}, {"acks", "all"}, {"key.deserializer", ""},
	} {
		if err := s.Client(config.Value{As: line[0], Text: line[1], Source: config.Source{Kind: config.FromProperties, File: "/x/c.properties", Line: i + 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Client(config.Value{As: "auto.commit.interval.ms", Text: "2000", Source: config.Source{Kind: config.FromX, Name: "auto.commit.interval.ms"}}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	run, err := r.Build(consumeconf.Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, offset.Clock{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	c := run.Config
	if c.Group != "app" || c.Policies.Reset != consume.ResetEarliest || !c.Commit.Auto || c.Commit.Interval != 2*time.Second || !c.ReadUncommitted ||
		c.Fetch.MaxPoll != 100 || c.Fetch.MaxBytes != 1<<20 || c.Fetch.MinBytes != 10 || c.Fetch.MaxWait != 250*time.Millisecond || c.Fetch.Rack != "r1" ||
		c.Start.Mode() != consume.ModeTimestamp {
		t.Errorf("%+v", c)
	}
	for key, want := range map[string]string{consumeconf.GroupID: "c.properties:1", consumeconf.AutoInterval: "-X auto.commit.interval.ms", consumeconf.StartupMode: "c.properties:12"} {
		if got := r.Get(key).Source.String(); got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
	if len(r.Warnings) != 1 || r.Warnings[0].String() != "c.properties: no effect in consume: acks, interceptor.classes (Java classes are not run), my.own" {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// A member takes a member's settings.
func TestClientJoin(t *testing.T) {
	_, run, err := build(t, input{topics: []string{"t"}, flags: map[string]string{consumeconf.Join: "true", consumeconf.GroupID: "g", consumeconf.Heartbeat: "1s", consumeconf.PollInterval: "90s",
		consumeconf.Assignors: "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}})
	if err != nil {
		t.Fatal(err)
	}
	j := run.Config.Join
	if j == nil || j.Heartbeat != time.Second || j.RebalanceTimeout != 90*time.Second || len(j.Assignors) != 2 || j.Assignors[0] != consume.AssignRange {
		t.Errorf("%+v", j)
	}
	if _, _, err = build(t, input{topics: []string{"t"}, flags: map[string]string{consumeconf.Join: "true", consumeconf.GroupID: "g", consumeconf.Assignors: "com.example.Mine"}}); err == nil {
		t.Error("an assignor of nobody was taken")
	}
}

// What is empty, never, or without its companion means what its owner meant.
func TestOddValues(t *testing.T) {
	_, run, err := build(t, input{topics: []string{"t"}, env: []string{"KOFFSET_CONSUME_RATE=", "KOFFSET_CONSUME_UNTIL="},
		yaml: "defaults:\n  partition.discovery.interval.ms: -1\n  scan.bounded.timestamp-millis: 1700000000000\n  offset_store: file:/tmp/x\n  properties.enable.auto.commit: true\n  properties.group.id: g\n"})
	if err != nil {
		t.Fatal(err)
	}
	if run.Config.Discovery >= 0 || run.Config.Rate != (consume.Rate{}) || run.Config.End.Until != nil {
		t.Errorf("%+v", run.Config)
	}
	var notes []string
	for _, n := range run.Notes {
		notes = append(notes, n.String())
	}
	text := strings.Join(notes, "\n")
	if !strings.Contains(text, consumeconf.BoundedMillis+" has no effect: the run has no end") || strings.Contains(text, consumeconf.StoreURL) {
		t.Errorf("notes\n%s", text)
	}
}

// No explanation and no error shows the password of a store.
func TestStorePasswords(t *testing.T) {
	for _, url := range []string{"postgres://app:s3cret@db/x", "postgres://db/x?password=s3cret&table=y", "redis://:s3cret@db:6379/0"} {
		r, run, err := build(t, input{topics: []string{"t"}, flags: map[string]string{consumeconf.StoreURL: url, consumeconf.From: "store:" + url, consumeconf.GroupID: "g"}})
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if text := fmt.Sprint(r.Explain(run), r.Checks(run), run.Notes, r.Warnings); strings.Contains(text, "s3cret") {
			t.Errorf("%s is shown: %s", url, text)
		}
		s := consumeconf.New()
		_ = s.Flag("--offset-store", consumeconf.StoreURL, url)
		if err := s.Flag("-X offset_store", consumeconf.StoreURL, url+"1"); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	}
}
