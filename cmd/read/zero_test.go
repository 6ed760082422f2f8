package read

import (
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/consumeconf"
	"github.com/koffset/koffset/offset"
)

// built is the run of one setting.
func built(t *testing.T, key, value string) error {
	t.Helper()
	set := consumeconf.New()
	flags := map[string]string{consumeconf.Topic: "t", consumeconf.GroupID: "g", key: value}
	switch key { // what the setting belongs to
	case consumeconf.InstanceID, consumeconf.SessionTimeout, consumeconf.Heartbeat, consumeconf.PollInterval, consumeconf.Assignors:
		flags[consumeconf.Join] = "true"
	case consumeconf.Ramp:
		flags[consumeconf.Rate] = "5/s"
	case consumeconf.StartupMillis:
		flags[consumeconf.StartupMode] = "timestamp"
	case consumeconf.StartupOffsets:
		flags[consumeconf.StartupMode] = "specific-offsets"
	case consumeconf.BoundedMillis:
		flags[consumeconf.BoundedMode] = "timestamp"
	case consumeconf.BoundedOffsets:
		flags[consumeconf.BoundedMode] = "specific-offsets"
	case consumeconf.ChkDir, consumeconf.JobName, consumeconf.JobRecords:
		flags[consumeconf.ChkInterval] = "1m"
		if key != consumeconf.ChkDir {
			flags[consumeconf.ChkDir] = "dir"
		}
	case consumeconf.AutoInterval:
		flags[consumeconf.AutoCommit] = "true"
	default:
		if strings.HasPrefix(key, "execution.checkpointing") && key != consumeconf.ChkInterval {
			flags[consumeconf.ChkInterval] = "1m"
		}
	}
	for k, v := range flags {
		// As a file of Kafka's or Flink's has it: a number without a unit.
		if err := set.Flag("-X "+k+".ms", k, v); err != nil {
			t.Fatal(err)
		}
	}
	r, err := set.Resolve()
	if err != nil {
		return err
	}
	run, err := r.Build(consumeconf.Scope{}, offset.Clock{Now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		return err
	}
	run.Config.Sink = consume.SinkFunc(nil)
	return run.Config.CheckSettings()
}

// Of a setting that somebody wrote nothing is made up: each says what its 0 means, or refuses it. Settings that hold names, words and
// positions take a 0 as one.
func TestEachSettingSaysWhatZeroIs(t *testing.T) {
	names := " topic properties.group.id from until pipeline.name properties.group.instance.id properties.client.rack properties.key.deserializer properties.value.deserializer" +
		" format files_dir offset_store metrics_listen state.backend.type execution.checkpointing.dir execution.state-recovery.path" +
		" scan.startup.timestamp-millis scan.bounded.timestamp-millis "
	says := map[string]string{
		consumeconf.Discovery:    "0 is never",
		consumeconf.ChkInterval:  "0 is never",
		consumeconf.ChkPause:     "0 is none",
		consumeconf.ChkTolerable: "0 is none",
		consumeconf.MaxSkip:      "0 is none",
		consumeconf.Ramp:         "0 is at once",
	}
	usage := map[string]string{}
	for _, f := range settingFlags() {
		usage[f.key] = f.usage
	}
	for _, k := range consumeconf.New().Table.Keys {
		if strings.Contains(names, " "+k.Name+" ") {
			continue
		}
		for _, zero := range []string{"0", "0s", "0B", "0.4"} {
			err := built(t, k.Name, zero)
			if says[k.Name] == "" && err == nil {
				t.Errorf("%s=%s is taken, and nothing says what it means", k.Name, zero)
			}
		}
		if want := says[k.Name]; want != "" {
			if err := built(t, k.Name, "0"); err != nil {
				t.Errorf("%s=0: %v", k.Name, err)
			}
			if !strings.Contains(usage[k.Name], want) {
				t.Errorf("%s takes 0, and its help does not say %q: %s", k.Name, want, usage[k.Name])
			}
		}
		if err := built(t, k.Name, "-1"); err == nil && k.Name != consumeconf.Discovery {
			t.Errorf("%s=-1 is taken", k.Name)
		}
	}
}

// A size that no response can have is cut, and said.
func TestFetchSizesAreCutAloud(t *testing.T) {
	set := consumeconf.New()
	if err := set.Flag("-X", consumeconf.FetchMaxBytes, "1GiB"); err != nil {
		t.Fatal(err)
	}
	r, err := set.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	run, err := r.Build(consumeconf.Scope{Topics: []offset.TopicSpec{{Topic: "t"}}}, offset.Clock{})
	if err != nil || run.Config.Fetch.MaxBytes != 90<<20 || len(run.Notes) != 1 || !strings.Contains(run.Notes[0].String(), "1GiB is more than one response can hold here") {
		t.Errorf("%v, %d bytes, %v", err, run.Config.Fetch.MaxBytes, run.Notes)
	}
}
