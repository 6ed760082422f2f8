package reset

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// DriftKind says what is not any more as a plan saw it.
type DriftKind string

// The kinds of drift. Only commit can be allowed, and bounds can be answered by a policy.
const (
	DriftCluster  DriftKind = "cluster"  // another cluster
	DriftTopic    DriftKind = "topic"    // the topic is gone, or was made anew
	DriftGroup    DriftKind = "group"    // the group is gone, and the plan was not to create it
	DriftActive   DriftKind = "active"   // members are there
	DriftUnstable DriftKind = "unstable" // a transaction holds a commit
	DriftCommit   DriftKind = "commit"   // the group committed since
	DriftBounds   DriftKind = "bounds"   // the target is outside the log now
	DriftUnknown  DriftKind = "unknown"  // it could not be read again
)

// Drift is one thing that moved between a plan and now.
type Drift struct {
	Kind  DriftKind
	Group string // empty for the cluster
	Key   *Key   // nil where it is about the group or the cluster as a whole
	Text  string
	Err   error // the cause where it could not be read; may be nil
}

func (d Drift) Error() string {
	switch {
	case d.Key != nil:
		return fmt.Sprintf("%s: %s", d.Key, d.Text)
	case d.Group != "":
		return fmt.Sprintf("group %s: %s", d.Group, d.Text)
	}
	return d.Text
}

// Unwrap returns the cause where something could not be read.
func (d Drift) Unwrap() error { return d.Err }

// DriftError is a plan, or one group of it, that does not fit the cluster any more. Nothing of it was changed.
type DriftError struct {
	Drifts []Drift
}

func (e *DriftError) Error() string {
	const shown = 5
	var lines []string
	for _, d := range e.Drifts[:min(shown, len(e.Drifts))] {
		lines = append(lines, d.Error())
	}
	if n := len(e.Drifts) - shown; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns the drifts.
func (e *DriftError) Unwrap() []error {
	out := make([]error, len(e.Drifts))
	for i, d := range e.Drifts {
		out[i] = d
	}
	return out
}

// Has says whether a kind of drift is among them.
func (e *DriftError) Has(k DriftKind) bool {
	for _, d := range e.Drifts {
		if d.Kind == k {
			return true
		}
	}
	return false
}

// Allowed says which drift is accepted.
type Allowed struct {
	// Commits accepts commits that moved since the plan was made: the plan's targets stand, whatever was there.
	Commits bool
	// OutOfRange says what happens to a target that is outside the log now.
	OutOfRange offset.OutOfRange
}

// Checked is a plan held against fresh facts.
type Checked struct {
	// Drifts are what does not fit, in the order of the plan.
	Drifts []Drift
	// Rows are the plan's rows as they would be applied now, in the plan's order: From is what is stored now, and a row
	// that stands at its target already has action none. Behind them is what a group that is to be deleted stored since,
	// where that is allowed.
	Rows []Change
}

// Of are the drifts that concern one group, with those of the whole cluster.
func (c *Checked) Of(group string) []Drift {
	var out []Drift
	for _, d := range c.Drifts {
		if d.Group == group || d.Group == "" {
			out = append(out, d)
		}
	}
	return out
}

// Check holds a plan against fresh facts. It is pure. A row that is at its target already is no drift: a second run of a
// plan does what the first one left.
func Check(p *Plan, f *Facts, allow Allowed) *Checked {
	c := &Checked{Rows: make([]Change, len(p.Changes))}
	copy(c.Rows, p.Changes)
	if p.ClusterID != "" && f.ClusterID != "" && p.ClusterID != f.ClusterID {
		c.Drifts = append(c.Drifts, Drift{Kind: DriftCluster,
			Text: fmt.Sprintf("the plan is for cluster %s, this is cluster %s", p.ClusterID, f.ClusterID)})
		return c
	}
	for _, pg := range p.Groups {
		c.group(p, pg, f.Groups[pg.Name], f, allow)
	}
	return c
}

func (c *Checked) group(p *Plan, pg PlanGroup, g *GroupFacts, f *Facts, allow Allowed) {
	add := func(k DriftKind, key *Key, err error, format string, args ...any) {
		c.Drifts = append(c.Drifts, Drift{Kind: k, Group: pg.Name, Key: key, Err: err, Text: fmt.Sprintf(format, args...)})
	}
	if g == nil {
		add(DriftUnknown, nil, nil, "it was not read")
		return
	}
	if err := g.err(); err != nil {
		add(DriftUnknown, nil, err, "%v", err)
		return
	}
	writes, first := pg.Delete && !g.NotFound, len(c.Drifts)
	for i := range p.Changes {
		row := &c.Rows[i]
		if row.Group != pg.Name || !row.Changes() {
			continue
		}
		if c.row(row, &p.Changes[i], g, f, allow, add) {
			writes = true
		}
	}
	if pg.Delete {
		c.unseen(p, g, f, allow, add)
	}
	if writes && g.Missing() && !pg.Create {
		// Its commits are gone as well, but allowing those to have moved is no leave to make a group anew.
		c.Drifts = c.Drifts[:first]
		add(DriftGroup, nil, &NotFoundError{What: "group", Name: pg.Name}, "the group does not exist any more")
	}
	if writes && g.Active() {
		// A group in use commits all the time: what moved would bury why.
		c.Drifts = c.Drifts[:first]
		add(DriftActive, nil, nil, "%s", Activity(g.Description))
	}
	if pg.Type != "" && g.Type != "" && !g.NotFound && (pg.Type == string(inspect.TypeShare)) != (g.Type == inspect.TypeShare) {
		add(DriftUnknown, nil, nil, "it was a %s group when the plan was made and is a %s group now", pg.Type, g.Type)
	}
}

// unseen finds what a group that is to be deleted stored since the plan was made. Deleting the group takes it along, so it
// must be in the plan, and with that in the journal, or undo could not bring it back.
func (c *Checked) unseen(p *Plan, g *GroupFacts, f *Facts, allow Allowed, add func(DriftKind, *Key, error, string, ...any)) {
	planned := map[Key]bool{}
	for _, one := range p.Changes {
		planned[one.Key()] = true
	}
	for _, part := range g.partitions() {
		row := deleteRow(f, g, part)
		key := row.Key()
		switch {
		case planned[key]:
		case row.Action == checkpointfile.ActionRefuse:
			kind := DriftUnknown
			if _, unstable, _ := g.stored(part); unstable {
				kind = DriftUnstable
			}
			add(kind, &key, nil, "%s", row.Error)
		case row.Action == checkpointfile.ActionNone:
		case allow.Commits:
			c.Rows = append(c.Rows, row)
		default:
			add(DriftCommit, &key, nil, "its commit was %s when the plan was made and is %s now", show(nil), show(row.From))
		}
	}
}

// row checks one row and says whether it still has something to write.
func (c *Checked) row(row, planned *Change, g *GroupFacts, f *Facts, allow Allowed,
	add func(DriftKind, *Key, error, string, ...any)) bool {
	key := planned.Key()
	now, unstable := f.of(g, row.Partition, nil)
	topic := f.Parts.Topics[row.Topic]
	var stored *Commit
	if now.Committed != nil {
		stored = &Commit{Offset: now.Committed.Offset, LeaderEpoch: now.Committed.LeaderEpoch, Metadata: now.Committed.Metadata}
	}
	if unstable {
		add(DriftUnstable, &key, nil, "a transaction that is still open holds a commit for it")
		return true
	}
	gone := isUnknown(topic.PartitionErr(row.Partition.Partition))
	switch {
	case gone && row.Action == checkpointfile.ActionDelete:
		// Deleting what is left of a topic that is gone needs no topic.
	case now.Err != nil:
		kind := DriftUnknown
		if gone {
			kind = DriftTopic
		}
		add(kind, &key, now.Err, "%v", now.Err)
		return true
	case row.TopicID != "" && topic.TopicID() != "" && row.TopicID != topic.TopicID():
		add(DriftTopic, &key, nil, "the topic was deleted and made anew since (its id was %s and is %s): offsets of the old one mean nothing in it", row.TopicID, topic.TopicID())
		return true
	}
	if done(planned, stored) {
		row.Action, row.From = checkpointfile.ActionNone, stored
		return false
	}
	if !identical(planned.From, stored) {
		if !allow.Commits {
			add(DriftCommit, &key, nil, "its commit was %s when the plan was made and is %s now", show(planned.From), show(stored))
		}
		row.From = stored
	}
	if now.Bounds != nil {
		row.LogStart, row.LogEnd, row.LastStable = &now.Bounds.Start, &now.Bounds.End, &now.Bounds.LastStable
	}
	if row.Action == checkpointfile.ActionCommit && !row.Exact && now.Bounds != nil {
		return c.bounds(row, &key, *now.Bounds, allow, add)
	}
	return true
}

// bounds holds a target to the log as it is now.
func (c *Checked) bounds(row *Change, key *Key, b offset.Bounds, allow Allowed, add func(DriftKind, *Key, error, string, ...any)) bool {
	to := row.To.Offset
	if to >= b.Start && to <= b.End {
		return true
	}
	nearest := min(max(to, b.Start), b.End)
	switch allow.OutOfRange {
	case offset.OutOfRangeClamp:
		row.Asked = &to
		row.To = &Commit{Offset: nearest, Metadata: row.To.Metadata}
		row.How, row.Detail = offset.ReasonClampedToStart, fmt.Sprintf("planned %d is below log start %d now", to, b.Start)
		if to > b.End {
			row.How, row.Detail = offset.ReasonClampedToEnd, fmt.Sprintf("planned %d is past log end %d now", to, b.End)
		}
		if same(row.From, row.To) {
			row.Action = checkpointfile.ActionNone
			return false
		}
		return true
	case offset.OutOfRangeSkip:
		row.Action, row.Detail = checkpointfile.ActionLeave, fmt.Sprintf("planned %d is outside the log now: log start %d, log end %d", to, b.Start, b.End)
		return false
	}
	add(DriftBounds, key, nil, "its target %d is outside the log now: log start %d, log end %d", to, b.Start, b.End)
	return true
}

// done says that a row stands where the plan wants it.
func done(row *Change, stored *Commit) bool {
	if row.Action == checkpointfile.ActionDelete {
		return stored == nil
	}
	if same(row.From, row.To) {
		return identical(row.To, stored) // a repair that changes the epoch alone
	}
	return stored != nil && same(row.To, stored)
}

func show(c *Commit) string {
	if c == nil {
		return "none"
	}
	s := fmt.Sprint(c.Offset)
	if e, ok := c.LeaderEpoch.Get(); ok {
		s += fmt.Sprintf(" (epoch %d)", e)
	}
	if c.Metadata != "" {
		s += fmt.Sprintf(" with metadata %q", c.Metadata)
	}
	return s
}
