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
	checkpoints := c.Checkpoints.Interval > 0
	switch k.Name {
	case GroupID:
		if v.Text == "" {
			return "no commits, and no start at the group's commits"
		}
	case From, StartupMode:
		if !c.Start.IsChosen() {
			return "not chosen: group-offsets"
		}
		if k.Name == StartupMode && v.Text == "" {
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
	case Until:
		if v.Text == "" && c.End.Until == nil && c.End.MaxRecords == 0 && c.End.JobRecords == 0 {
			return "the run does not end on its own"
		}
	case AutoCommit:
		if v.Text == "true" && checkpoints {
			return "ignored: checkpoints are on"
		}
	case AutoInterval:
		if !c.Commit.Auto && c.Join == nil || checkpoints {
			return "without effect: nothing is committed by interval"
		}
	case ChkInterval:
		if !checkpoints {
			return "checkpoints are off"
		}
		return "a checkpoint every " + c.Checkpoints.Interval.String()
	case ChkDir:
		if v.Text == "" {
			if checkpoints {
				return "in memory: nothing survives the process"
			}
			return "no checkpoints"
		}
		return "kept in " + consumeJobDir(c)
	case ChkMode, ChkTimeout, ChkPause, ChkConcurrent, ChkTolerable, ChkRetained, ChkRetention, CommitChk:
		if !checkpoints {
			return "without effect: checkpoints are off"
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
	return k.Why
}

func consumeJobDir(c consume.Config) string {
	return checkpointfile.JobDir(c.Checkpoints.Dir, c.Checkpoints.Job)
}

var generated = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-|^console-consumer-|^anonymous`)

// Checks hold a run against a check list for production.
func (r *Resolved) Checks(run Run) []Check {
	c := run.Config
	committer, why := c.Committer()
	var out []Check
	add := func(name string, ok bool, format string, args ...any) {
		out = append(out, Check{name, ok, fmt.Sprintf(format, args...)})
	}
	switch {
	case c.Group == "":
		add("stable group.id", false, "none: positions are only in checkpoints, and lag is in no monitoring")
	case generated.MatchString(c.Group):
		add("stable group.id", false, "%s looks generated: the next start would not find its commits", c.Group)
	default:
		add("stable group.id", true, "%s (%s)", c.Group, r.Get(GroupID).Source)
	}
	switch {
	case c.Commit.Auto && c.Checkpoints.Interval > 0:
		add("one committer", false, "checkpoints commit, and enable.auto.commit (%s) is ignored: leave it out", r.Get(AutoCommit).Source)
	case committer == consume.CommitsNever:
		add("one committer", false, "nothing commits: %s", why)
	default:
		add("one committer", true, "%s: %s", committer, why)
	}
	switch k := c.Checkpoints; {
	case k.Interval == 0 && c.Join != nil:
		add("checkpoints", true, "the group's commits stand in for them")
	case k.Interval == 0:
		add("checkpoints", false, "off: after a crash the run continues at the group's commits, or at its start")
	case k.Dir == "":
		add("checkpoints", false, "every %s, in memory: nothing survives the process", k.Interval)
	case k.Retention == consume.NoExternalized:
		add("checkpoints", false, "every %s, and none survives a failure (%s)", k.Interval, k.Retention)
	default:
		add("checkpoints", true, "every %s in %s", k.Interval, consumeJobDir(c))
	}
	switch {
	case !c.Start.IsChosen():
		add("start chosen", false, "no start was chosen, which means group-offsets")
	default:
		add("start chosen", true, "%s", offset.Mask(c.Start.String()))
	}
	switch {
	case c.Start.Mode() != consume.ModeGroupOffsets:
		add("fallback chosen", true, "not needed: the start is %s", offset.Mask(c.Start.String()))
	case c.Policies.Reset == "" && c.Policies.IfNoCommit == "":
		add("fallback chosen", false, "auto.offset.reset is not set: a new partition's first records can be passed over")
	default:
		add("fallback chosen", true, "%s", cmp.Or(string(c.Policies.IfNoCommit), string(c.Policies.Reset)))
	}
	if c.Policies.IfExpired == offset.IfExpiredEarliest || c.Policies.Reset == consume.ResetEarliest || c.Policies.Reset == consume.ResetLatest {
		add("expiry", true, "an offset that has expired continues at %s, with a warning", cmp.Or(string(c.Policies.IfExpired), string(c.Policies.Reset)))
	} else {
		add("expiry", true, "an offset that has expired stops the run with what is lost")
	}
	if c.Policies.FailOnForeign {
		add("foreign committers", true, "stop the run")
	} else {
		add("foreign committers", true, "are told; on_foreign_commit: fail stops the run")
	}
	return out
}
