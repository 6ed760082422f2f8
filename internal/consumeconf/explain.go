package consumeconf

// Every effective setting with its source and what it means for this run, and a check list for production.

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// Row is one setting as it counts.
type Row struct {
	Key, Value, Source, Meaning string
}

// Check is a line of the check list.
type Check struct {
	Name   string
	OK     bool
	Detail string
}

// Explain lists the settings that count, in the table's order: those that somebody set, and the built-in ones that decide
// something in this run.
func (r *Resolved) Explain(run Run) []Row {
	var out []Row
	for _, k := range r.table.Keys {
		v := r.Get(k.Name)
		if v.Text == "" && !explainedUnset(k.Name) {
			continue
		}
		out = append(out, Row{Key: k.Name, Value: offset.Mask(v.Text), Source: v.Source.String(), Meaning: offset.Mask(meaning(k, v, run))})
	}
	return out
}

// explainedUnset are settings whose absence decides something.
func explainedUnset(name string) bool {
	switch name {
	case GroupID, StartupMode, ChkInterval, OffsetReset, IfExpired, Rate, Until, ChkDir:
		return true
	}
	return false
}

func meaning(k config.Key, v Value, run Run) string {
	c := run.Config
	switch k.Name {
	case GroupID:
		if v.Text == "" {
			return "no commits, and no start at the group's commits"
		}
	case Until:
		if v.Text == "" && c.End.Until == nil && c.End.MaxRecords == 0 && c.End.JobRecords == 0 {
			return "the run does not end on its own"
		}
	case Rate:
		if v.Text == "" {
			return "as fast as the cluster gives"
		}
		return c.Rate.String()
	case Discovery:
		if c.End.Until != nil || len(c.End.Ranges) > 0 {
			return "without effect: the run has an end"
		}
	}
	return cmp.Or(startMeaning(k.Name, v, c), checkpointMeaning(k.Name, v, c), k.Why)
}

// startMeaning is what a setting of the start means, or empty where that is what the table says.
func startMeaning(key string, v Value, c consume.Config) string {
	switch key {
	case From, StartupMode:
		if !c.Start.IsChosen() {
			return "not chosen: group-offsets"
		}
		if key == StartupMode && v.Text == "" {
			return "the start is " + c.Start.String()
		}
		return "start at " + c.Start.String()
	case OffsetReset:
		if c.Start.Mode() != consume.ModeGroupOffsets {
			return "without effect: the start is " + c.Start.String()
		}
		if v.Text == "" {
			return "a partition without a commit starts at the log end, as with Kafka's clients (Flink: none)"
		}
		return "a partition without a usable commit: " + v.Text
	case IfExpired:
		if v.Text == "" {
			return "a commit or restored offset that has expired stops the run; a time starts at the first record left"
		}
	}
	return ""
}

// checkpointMeaning is what a setting of checkpoints and commits means, or empty where that is what the table says.
func checkpointMeaning(key string, v Value, c consume.Config) string {
	on := c.Checkpoints.Interval > 0
	switch key {
	case AutoCommit:
		if v.Text == "true" && on {
			return "ignored: checkpoints are on"
		}
	case AutoInterval:
		if !c.Commit.Auto && c.Join == nil || on {
			return "without effect: nothing is committed by interval"
		}
	case ChkInterval:
		if !on {
			return "checkpoints are off"
		}
		return "a checkpoint every " + c.Checkpoints.Interval.String()
	case ChkDir:
		if v.Text != "" {
			return "kept in " + consumeJobDir(c)
		}
		if on {
			return "in memory: nothing survives the process"
		}
		return "no checkpoints"
	case ChkMode, ChkTimeout, ChkPause, ChkConcurrent, ChkTolerable, ChkRetained, ChkRetention, CommitChk:
		if !on {
			return "without effect: checkpoints are off"
		}
	}
	return ""
}

func consumeJobDir(c consume.Config) string {
	return checkpointfile.JobDir(c.Checkpoints.Dir, c.Checkpoints.Job)
}

var generated = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-|^console-consumer-|^anonymous`)

// Checks hold a run against a check list for production.
func (r *Resolved) Checks(run Run) []Check {
	c := run.Config
	return []Check{r.groupCheck(c), r.committerCheck(c), checkpointsCheck(c), startCheck(c), fallbackCheck(c), expiryCheck(c.Policies), foreignCheck(c.Policies)}
}

func check(name string, ok bool, format string, args ...any) Check {
	return Check{name, ok, fmt.Sprintf(format, args...)}
}

func (r *Resolved) groupCheck(c consume.Config) Check {
	const name = "stable group.id"
	switch {
	case c.Group == "":
		return check(name, false, "none: positions are only in checkpoints, and lag is in no monitoring")
	case generated.MatchString(c.Group):
		return check(name, false, "%s looks generated: the next start would not find its commits", c.Group)
	}
	return check(name, true, "%s (%s)", c.Group, r.Get(GroupID).Source)
}

func (r *Resolved) committerCheck(c consume.Config) Check {
	const name = "one committer"
	committer, why := c.Committer()
	switch {
	case c.Commit.Auto && c.Checkpoints.Interval > 0:
		return check(name, false, "checkpoints commit, and enable.auto.commit (%s) is ignored: leave it out", r.Get(AutoCommit).Source)
	case committer == consume.CommitsNever:
		return check(name, false, "nothing commits: %s", why)
	}
	return check(name, true, "%s: %s", committer, why)
}

func checkpointsCheck(c consume.Config) Check {
	const name = "checkpoints"
	switch k := c.Checkpoints; {
	case k.Interval == 0 && c.Join != nil:
		return check(name, true, "the group's commits stand in for them")
	case k.Interval == 0:
		return check(name, false, "off: after a crash the run continues at the group's commits, or at its start")
	case k.Dir == "":
		return check(name, false, "every %s, in memory: nothing survives the process", k.Interval)
	case k.Retention == consume.NoExternalized:
		return check(name, false, "every %s, and none survives a failure (%s)", k.Interval, k.Retention)
	}
	return check(name, true, "every %s in %s", c.Checkpoints.Interval, consumeJobDir(c))
}

func startCheck(c consume.Config) Check {
	const name = "start chosen"
	if !c.Start.IsChosen() {
		return check(name, false, "no start was chosen, which means group-offsets")
	}
	return check(name, true, "%s", offset.Mask(c.Start.String()))
}

func fallbackCheck(c consume.Config) Check {
	const name = "fallback chosen"
	switch {
	case c.Start.Mode() != consume.ModeGroupOffsets:
		return check(name, true, "not needed: the start is %s", offset.Mask(c.Start.String()))
	case c.Policies.Reset == "" && c.Policies.IfNoCommit == "":
		return check(name, false, "auto.offset.reset is not set: a new partition's first records can be passed over")
	}
	return check(name, true, "%s", cmp.Or(string(c.Policies.IfNoCommit), string(c.Policies.Reset)))
}

func expiryCheck(p consume.Policies) Check {
	const name = "expiry"
	if p.IfExpired == offset.IfExpiredEarliest || p.Reset == consume.ResetEarliest || p.Reset == consume.ResetLatest {
		return check(name, true, "an offset that has expired continues at %s, with a warning", cmp.Or(string(p.IfExpired), string(p.Reset)))
	}
	return check(name, true, "an offset that has expired stops the run with what is lost")
}

func foreignCheck(p consume.Policies) Check {
	const name = "foreign committers"
	if p.FailOnForeign {
		return check(name, true, "stop the run")
	}
	return check(name, true, "are told; on_foreign_commit: fail stops the run")
}
