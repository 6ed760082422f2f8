// Package monitor has the commands that watch groups over time: watch, check and serve.
package monitor

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// monitorFlags are what watch, check and serve have in common: which groups, which topics, and when a verdict is reached.
type monitorFlags struct {
	groups    cli.GroupFlags
	topics    cli.TopicFlags
	isolation string
	interval  string

	stallAfter, expireWithin, idleAfter, behindAfter string
	behindLag                                        int64
	follow                                           bool

	// What parse made of them.
	names   []string
	matcher *offset.Matcher
	scope   cli.TopicScope
	iso     offset.Isolation
	every   time.Duration
	rules   inspect.Rules
}

func (m *monitorFlags) add(c *cobra.Command, interval string) {
	f := c.Flags()
	m.groups.Add(f)
	m.topics.Add(f)
	f.StringVar(&m.isolation, "isolation", "read_uncommitted", "which end counts: read_uncommitted (high watermark) or read_committed (last stable offset)")
	f.StringVar(&m.interval, "interval", interval, "sample the cluster every `DURATION`")
	f.StringVar(&m.expireWithin, "expire-within", "6h", "about-to-expire: retention reaches the commit in less than this `DURATION`")
}

// addSlow adds the thresholds that only a long observation can reach.
func (m *monitorFlags) addSlow(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.stallAfter, "stall-after", "60s", "stalled: a commit does not move for at least this `DURATION`, two intervals and three times the usual gap between commits")
	f.StringVar(&m.behindAfter, "behind-after", "24h", "behind: the next record is older than this `DURATION`; 0s is off")
	f.Int64Var(&m.behindLag, "behind-lag", 0, "behind: the lag is at least `RECORDS`; 0 is off")
	f.StringVar(&m.idleAfter, "idle-after", "24h", "idle-long: no commit for this `DURATION` and no members")
}

// addFollow adds what only a long observation gains from.
func (m *monitorFlags) addFollow(c *cobra.Command) {
	c.Flags().BoolVar(&m.follow, "follow-commits", false, "read commits from __consumer_offsets as they come instead of asking for each group, and show when and how often groups commit; needs READ on it, and asks where it may not be read")
}

func (m *monitorFlags) parse(c *cobra.Command, args []string) error {
	var err error
	if m.names, m.matcher, err = m.groups.Resolve(args); err != nil {
		return err
	}
	if m.scope, err = m.topics.Resolve(c); err != nil {
		return err
	}
	if m.iso, err = offset.ParseIsolation(m.isolation); err != nil {
		return err
	}
	m.rules = inspect.DefaultRules()
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{{"interval", m.interval, &m.every}, {"stall-after", m.stallAfter, &m.rules.MinStall}, {"expire-within", m.expireWithin, &m.rules.ExpireWithin}, {"idle-after", m.idleAfter, &m.rules.IdleAfter}, {"behind-after", m.behindAfter, &m.rules.BehindAfter}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = parseDuration(d.flag, d.text); err != nil {
			return err
		}
	}
	if m.every < 100*time.Millisecond {
		return cli.Usagef("", "--interval %s is shorter than 100ms", m.interval)
	}
	m.rules.Interval, m.rules.BehindLag = m.every, m.behindLag
	return nil
}

// parseDuration reads the value of a flag; the error names the flag.
func parseDuration(flag, text string) (time.Duration, error) {
	d, err := offset.ParseDuration(text)
	if err != nil {
		return 0, cli.FlagFault("--"+flag, err)
	}
	return d, nil
}

// sampler looks at what the flags chose.
func (m *monitorFlags) sampler(s *cli.Session) *inspect.Sampler {
	q := inspect.Query{Isolation: m.iso, Wanted: m.scope.Specs}
	if m.scope.Any() {
		q.Topics = m.scope.Matcher
		q.CommittedOnly = len(m.names) == 0
	}
	out := &inspect.Sampler{
		Client: s.Client, Names: m.names, Match: func(g inspect.Group) bool { return m.matcher.Match(g.Name) },
		Query: q, History: inspect.NewHistory(m.rules), Now: s.App.Now,
	}
	if m.follow {
		out.Standing = s.FollowCommits()
	}
	return out
}
