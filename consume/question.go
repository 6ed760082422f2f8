package consume

// What a run is asked, as its checkpoints hold it, and what a restore makes of a difference.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// question is what the run is asked to read.
func (c *Config) question() checkpointfile.CheckpointAsked {
	q := checkpointfile.CheckpointAsked{JobRecords: c.End.JobRecords}
	for _, t := range c.Topics {
		ps := slices.Compact(sorted(t.Partitions))
		q.Topics = append(q.Topics, offset.TopicSpec{Topic: t.Topic, Partitions: ps}.String())
	}
	for _, r := range c.End.Ranges {
		q.Ranges = append(q.Ranges, r.String())
	}
	slices.Sort(q.Topics)
	slices.Sort(q.Ranges)
	if len(q.Ranges) > 0 {
		q.Part = c.End.Part
	}
	if u := c.End.Until; u != nil {
		q.Until = untilText(*u)
	}
	return q
}

// untilText is the end as it was written: @-2h is the same question an hour later. Flink's modes have their companions apart,
// so the whole position is their text.
func untilText(p offset.Position) string {
	if _, err := ParseMode(p.Text); p.Text == "" || err == nil {
		return p.String()
	}
	return p.Text
}

// differences name both sides of what two questions do not have in common. Where a range file lies does not matter.
func differences(then, now checkpointfile.CheckpointAsked) []string {
	var out []string
	differ := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: then %s, now %s", what, orNone(a), orNone(b)))
		}
	}
	differ("topics", shortList(then.Topics), shortList(now.Topics))
	if !slices.Equal(then.Ranges, now.Ranges) {
		a, b := shortList(then.Ranges), shortList(now.Ranges)
		if then.Part != now.Part || a == b {
			a, b = inPart(a, then.Part), inPart(b, now.Part)
		}
		if a == b {
			b += " (others)"
		}
		differ("ranges", a, b)
	}
	if !endsNow(then, now) {
		differ("end", then.Until, now.Until)
	}
	differ("records of the job", limitText(then.JobRecords), limitText(now.JobRecords))
	return out
}

func inPart(ranges, part string) string {
	if part == "" {
		return ranges
	}
	return ranges + " (" + part + ")"
}

// endsNow says that a job without an end gets one: it reads the same from the same places, and stops.
func endsNow(then, now checkpointfile.CheckpointAsked) bool {
	return then.Until == "" && len(then.Ranges) == 0 && now.Until != ""
}

func limitText(n int64) string {
	if n == 0 {
		return ""
	}
	return text.Count(n)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// shortList is a list for a message.
func shortList(list []string) string { return text.Some(list, 4) }

// reconcile compares what the checkpoint's run was asked with what this one is asked, and decides whose question counts.
func (r *restored) reconcile(c *Config) error {
	now := c.question()
	if r.chk.Asked == nil {
		if c.Checkpoints.RestoreWith == RestoreOld {
			return usagef("leave it out, or restore with this run's own question (new)", "checkpoint %s does not say what its run was asked: an older koffset wrote it", r.from.Path)
		}
		r.asked = now
		r.notices = append(r.notices, warnf("", "checkpoint %s does not say what its run was asked, since an older koffset wrote it: whether it was the same is not known", r.from.Path))
		return nil
	}
	then := *r.chk.Asked
	differ := differences(then, now)
	r.asked = now
	if len(differ) == 0 {
		if endsNow(then, now) {
			r.notices = append(r.notices, infof("the checkpoint's run had no end, this one ends at %s", now.Until))
		}
		return nil
	}
	text := strings.Join(differ, "; ")
	switch c.Checkpoints.RestoreWith {
	case RestoreNew:
		r.renewed = true
		r.notices = append(r.notices, warnf("", "the checkpoint's run was asked something else, and this run's question counts: %s", text))
		return nil
	case RestoreOld:
		r.notices = append(r.notices, warnf("", "this run was asked something else, and the checkpoint's question counts: %s", text))
		return r.askOld(c, then)
	}
	return errorf(Refused, "ask for the same again, or choose whose question counts: {{restore-with old}}, or {{restore-with new}} (which reads from the checkpoint's positions)",
		"checkpoint %s: its run was asked something else: %s", r.from.Path, text)
}

// askOld gives the run the checkpoint's question. Its ends are numbers in the checkpoint.
func (r *restored) askOld(c *Config, then checkpointfile.CheckpointAsked) error {
	r.asked = then
	c.Topics, c.End.Ranges, c.End.Until, c.End.JobRecords, c.End.Part = nil, nil, nil, then.JobRecords, then.Part
	for _, text := range then.Topics {
		t, err := offset.ParseTopicSpec(text)
		if err != nil {
			return errorf(Failed, "", "checkpoint %s: %w", r.from.Path, err)
		}
		c.Topics = append(c.Topics, t)
	}
	for _, text := range then.Ranges {
		rg, err := ParseRange(text)
		if err != nil {
			return errorf(Failed, "", "checkpoint %s: %w", r.from.Path, err)
		}
		c.End.Ranges = append(c.End.Ranges, rg)
	}
	return nil
}

// carried are the positions of the checkpoint that this run does not read. They stay in its own checkpoints, so that reading
// less for a while loses no place.
func (r *restored) carried(rows []PlanRow) []checkpointfile.CheckpointPartition {
	read := make(map[offset.Partition]bool, len(rows))
	for _, row := range rows {
		read[row.Partition] = true
	}
	var out []checkpointfile.CheckpointPartition
	for _, p := range r.chk.Partitions {
		if !read[p.At()] {
			p.Carried = true
			out = append(out, p)
		}
	}
	return out
}
