package consume

// What a plan says before the first record, beside its rows.

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// bigBacklog is from where on reading everything without a bound is worth a warning.
const bigBacklog = 1_000_000

// generatedID matches ids that programs make up anew at every start, so that their commits are never found again: Kafka's
// console consumer, its benchmark, Spring's anonymous groups, and anything with a UUID in it.
var generatedID = regexp.MustCompile(`(?i)^(console-consumer-\d+|perf-consumer-\d+|anonymous[.-].*|.*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}.*)$`)

func (c *Config) startNotices(p *Plan, f planFacts) []Notice {
	var out []Notice
	if p.Restored == nil {
		out = append(out, c.chosenNotices(p, f)...)
	}
	if c.Policies.Reset != "" && c.Start.Mode() != ModeGroupOffsets {
		out = append(out, warnf("{{if-expired}} and {{if-no-commit}} decide here", "auto.offset.reset=%s has no effect: the start is %s", c.Policies.Reset, c.Start))
	}
	if c.Group != "" && generatedID.MatchString(c.Group) {
		out = append(out, warnf("give the run a group.id of its own that stays the same", "group.id %s looks generated: the next start would not find its commits", c.Group))
	}
	t := p.Totals()
	if t.PassedOver > 0 {
		hint := "{{start current}} starts at the commits; {{max-skip N}} refuses"
		if p.Restored != nil {
			hint = "{{restore none}} with {{start current}} starts at the commits; {{max-skip N}} refuses"
		}
		out = append(out, warnf(hint, "group %s: %s unread offsets are passed over", p.Group, text.Count(t.PassedOver)))
	}
	if t.ReadAgain > 0 {
		out = append(out, warnf("", "group %s: %s offsets that it has committed are read again", p.Group, text.Count(t.ReadAgain)))
	}
	if c.Start.Mode() == ModeEarliest && p.Restored == nil && t.Backlog > bigBacklog && !c.Rate.limited() && !c.End.bounded() && c.End.MaxRecords == 0 {
		out = append(out, warnf("add {{rate 1000/s}} to go easy on the cluster, or {{end latest}} to stop at the present end",
			"%s offsets will be read as fast as the cluster gives them", text.Count(t.Backlog)))
	}
	return out
}

func (c *Config) chosenNotices(p *Plan, f planFacts) []Notice {
	var out []Notice
	if len(c.End.Ranges) > 0 {
		return nil
	}
	if !c.Start.IsChosen() {
		out = append(out, infof("no start was chosen: group-offsets, the commits of group %s", c.Group))
	}
	if c.Start.Mode() == ModeTimestamp {
		out = append(out, infof("start at the first record at or after %s", offset.FormatTime(c.Start.Position.At.Time)))
		if w := c.Start.Position.At.Warning(c.now()); w != "" {
			out = append(out, warnf("", "%s", w))
		}
	}
	if p.GroupIsNew {
		n := infof("group %s is new: it has no commits", c.Group)
		if len(f.nearGroups) > 0 {
			n = warnf("did you mean "+strings.Join(f.nearGroups, " or ")+"?", "group %s is new: it has no commits", c.Group)
		}
		out = append(out, n)
	}
	if c.Start.Mode() == ModeGroupOffsets && c.Policies.Reset == "" && c.Policies.IfNoCommit == "" {
		missing := 0
		for _, r := range p.Rows {
			if r.Committed == nil {
				missing++
			}
		}
		if missing > 0 {
			out = append(out, warnf("set auto.offset.reset to say what you want: earliest, latest or none",
				"%s of %s have no commit and start at the log end: auto.offset.reset is not set, and Kafka's clients then take latest", text.Count(missing), text.Plural(len(p.Rows), "partition")))
		}
	}
	return out
}

func (c *Config) restoreNotices(p *Plan, from *restored) []Notice {
	if from == nil {
		return nil
	}
	out := []Notice{infof("restored from %s of %s: the start %s and the group's commits are not used", p.Restored.Path, offset.FormatTime(p.Restored.At), c.Start)}
	var differ []string
	for _, r := range p.Rows {
		if r.Committed != nil && r.Committed.Offset != r.Start && !r.Skip {
			differ = append(differ, fmt.Sprintf("%s restored %d, committed %d", r.Partition, r.Start, r.Committed.Offset))
		}
	}
	if len(differ) > 0 {
		const shown = 5
		text := strings.Join(differ[:min(shown, len(differ))], "; ")
		if n := len(differ) - shown; n > 0 {
			text += fmt.Sprintf("; and %d more", n)
		}
		out = append(out, infof("not used: %s", text))
	}
	return append(out, from.notices...)
}
