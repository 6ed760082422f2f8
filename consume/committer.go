package consume

// Who commits, and what must be said about it.

import (
	"fmt"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Committer is who commits to the group during a run.
type Committer string

// The ways of committing.
const (
	CommitsOnCheckpoint Committer = "on-checkpoint" // each completed checkpoint's offsets, never ahead of it
	CommitsByInterval   Committer = "auto-commit"   // what the sink has accepted, every interval
	CommitsNever        Committer = "never"
)

// committer decides who commits, and which setting made it so.
func (c *Config) committer() (who Committer, why string) {
	switch {
	case c.Group == "":
		return CommitsNever, "there is no group.id"
	case c.Join != nil:
		return CommitsByInterval, "as a member: every " + c.Commit.Interval.String() + " and when partitions are handed over"
	case c.Checkpoints.Interval > 0 && !c.Commit.NotOnCheckpoint:
		return CommitsOnCheckpoint, "checkpoints are on, every " + c.Checkpoints.Interval.String()
	case c.Checkpoints.Interval > 0:
		return CommitsNever, "commit.offsets.on.checkpoint is false"
	case c.Commit.Auto:
		return CommitsByInterval, "enable.auto.commit is true, every " + c.Commit.Interval.String()
	}
	return CommitsNever, "checkpoints are off and enable.auto.commit is false"
}

// commitNotices say who commits, and what is ignored.
func (c *Config) commitNotices(p *Plan, f planFacts) []Notice {
	var out []Notice
	if c.Checkpoints.Interval > 0 && c.Commit.Auto {
		out = append(out, warnf("turn checkpoints off to commit by interval, or leave enable.auto.commit out",
			"enable.auto.commit is ignored: checkpoints are on, and two committers would commit offsets that no checkpoint holds"))
	}
	switch p.Committer {
	case CommitsNever:
		out = append(out, infof("nothing is committed: %s", p.CommitterWhy))
	default:
		out = append(out, infof("offsets are committed to group %s: %s", p.Group, p.CommitterWhy))
	}
	if n := len(f.members); n > 0 && p.Committer != CommitsNever {
		out = append(out, warnf("use a group.id of its own, or {{join}} to share the topic with them",
			"group %s has %s (%s …): while they are there the broker refuses commits of this run", p.Group, text.Plural(n, "member"), f.members[0].Where()))
	}
	if c.Checkpoints.Interval > 0 && c.Checkpoints.Dir == "" {
		out = append(out, infof("checkpoints are kept in memory: they decide commits, and nothing survives this process"))
	}
	return out
}

// commitVerdict is what a look at the group before a commit says about one partition.
type commitVerdict uint8

const (
	commitOurs     commitVerdict = iota // as the engine left it
	commitForeign                       // somebody else wrote it; ours goes forward
	commitBackward                      // somebody else wrote it, and ours lies before it
)

// judgeCommit compares what the group has with what the engine knows it wrote. ours holds the value before the run and
// every value that a commit of the engine may have left, since an answer can be lost on the way.
func judgeCommit(now *offset.Committed, ours []int64, next int64) commitVerdict {
	if now == nil {
		// Nothing there: it never was, or it expired or was deleted. Either way nothing is overwritten.
		return commitOurs
	}
	for _, o := range ours {
		if o == now.Offset {
			return commitOurs
		}
	}
	if now.Offset <= next {
		return commitForeign
	}
	return commitBackward
}

// String is for messages.
func (r Rate) String() string {
	switch {
	case r.Records > 0 && r.Bytes > 0:
		return fmt.Sprintf("%g records/s, %s/s", r.Records, sizeText(r.Bytes))
	case r.Records > 0:
		return fmt.Sprintf("%g records/s", r.Records)
	case r.Bytes > 0:
		return sizeText(r.Bytes) + "/s"
	}
	return "no limit"
}

func sizeText(b float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= u.size {
			return fmt.Sprintf("%g %s", float64(int64(b/u.size*10))/10, u.name)
		}
	}
	return fmt.Sprintf("%g B", b)
}

// Committer is who commits in a run with this configuration, and which setting makes it so.
func (c Config) Committer() (who Committer, why string) {
	c.fill()
	return c.committer()
}
