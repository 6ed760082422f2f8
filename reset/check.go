package reset

import (
	"errors"
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
	DriftHidden   DriftKind = "hidden"   // a group that is to be deleted may store what this user may not see
)

// Drift is one thing that moved between a plan and now.
type Drift struct {
	Kind  DriftKind
	Group string // says nothing with DriftCluster; the empty name is a group's too
	Key   *Key   // nil where it is about the group or the cluster as a whole
	Text  string
	Err   error // the cause where it could not be read; may be nil
}

func (d Drift) Error() string {
	switch {
	case d.Key != nil:
		return fmt.Sprintf("%s: %s", d.Key, d.Text)
	case d.Kind != DriftCluster:
		return fmt.Sprintf("group %s: %s", offset.NameText(d.Group), d.Text)
	}
	return d.Text
}

// Unwrap returns the cause where something could not be read.
func (d Drift) Unwrap() error { return d.Err }

// DriftError is a plan, or one group of it, that does not fit the cluster any more. Nothing of it was changed.
type DriftError struct {
	Drifts []Drift
	More   int // drifts that are not listed
}

// short is the error with its first drifts alone, for what stands beside many rows.
func (e *DriftError) short() *DriftError {
	n := min(3, len(e.Drifts))
	return &DriftError{Drifts: e.Drifts[:n:n], More: e.More + len(e.Drifts) - n}
}

// ErrorKind is always refused.
func (e *DriftError) ErrorKind() offset.ErrorKind { return offset.KindRefused }

func (e *DriftError) Error() string {
	const shown = 5
	var lines []string
	for _, d := range e.Drifts[:min(shown, len(e.Drifts))] {
		lines = append(lines, d.Error())
	}
	if n := len(e.Drifts) + e.More - len(lines); n > 0 {
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
	// Gone are the groups that were to be deleted and do not exist any more.
	Gone map[string]bool
	// Said is what cannot be compared of where the plan's offsets come from.
	Said []offset.Finding
}

// byGroup are the drifts of each group of a plan; one of the whole cluster concerns all of them.
func (c *Checked) byGroup(groups []PlanGroup) map[string][]Drift {
	out := map[string][]Drift{}
	for _, d := range c.Drifts {
		if d.Kind != DriftCluster {
			out[d.Group] = append(out[d.Group], d)
			continue
		}
		for _, g := range groups {
			out[g.Name] = append(out[g.Name], d)
		}
	}
	return out
}

// Check holds a plan against fresh facts. It is pure. Every row is looked at, also one that stood where it should when the
// plan was made: what was reviewed includes that it stays there. A row that is at its target already is no drift: a second
// run of a plan does what the first one left.
func Check(p *Plan, f *Facts, allow Allowed) *Checked {
	c := &Checked{Rows: make([]Change, len(p.Changes)), Gone: map[string]bool{}}
	copy(c.Rows, p.Changes)
	from := compare(p.Origin(), p.Changes, f)
	if err := from.Err(); hasMismatch(err, offset.OtherCluster) {
		c.Drifts = append(c.Drifts, Drift{Kind: DriftCluster, Text: err.Error(), Err: err})
		return c
	}
	c.Said = from.Said()
	rows := rowsByGroup(p.Changes)
	for _, pg := range p.Groups {
		one := groupCheck{c: c, p: p, pg: pg, g: f.Groups[pg.Name], f: f, from: from, allow: allow, rows: rows[pg.Name]}
		one.run()
	}
	return c
}

// compare holds rows that were planned or done before to the cluster, by offset's rule of origins. Nothing of it can be allowed
// here: whoever wants the numbers in another log makes a plan of them.
func compare(o offset.Origin, rows []Change, f *Facts) offset.Comparison {
	// The deletion of a group that stores nothing has no rows, and is of one cluster all the same.
	used := map[offset.Partition]offset.Foreign{{}: {}}
	for _, c := range rows {
		if c.Changes() || c.Action == checkpointfile.ActionNone {
			used[c.Partition] = offset.Foreign{}
		}
	}
	return o.Compare(inspect.Here(f.ClusterID, f.Parts.Topics), used, nil)
}

// hasMismatch says that an error is an *offset.OriginError for a mismatch.
func hasMismatch(err error, m offset.Mismatch) bool {
	var o *offset.OriginError
	return errors.As(err, &o) && o.Has(m)
}

// rowsByGroup are the rows of each group, by index: a plan of thousands of groups is gone through once, not once a group.
func rowsByGroup(rows []Change) map[string][]int {
	out := map[string][]int{}
	for i := range rows {
		out[rows[i].Group] = append(out[rows[i].Group], i)
	}
	return out
}

// groupCheck holds one group of a plan to what is there now.
type groupCheck struct {
	c     *Checked
	p     *Plan
	pg    PlanGroup
	g     *GroupFacts
	f     *Facts
	from  offset.Comparison
	allow Allowed
	rows  []int // of the plan
}

func (x *groupCheck) add(k DriftKind, key *Key, err error, format string, args ...any) {
	x.c.Drifts = append(x.c.Drifts, Drift{Kind: k, Group: x.pg.Name, Key: key, Err: err, Text: fmt.Sprintf(format, args...)})
}

func (x *groupCheck) run() {
	c, g := x.c, x.g
	if g == nil {
		x.add(DriftUnknown, nil, nil, "it was not read")
		return
	}
	if err := g.err(); err != nil {
		x.add(DriftUnknown, nil, err, "%v", err)
		return
	}
	first := len(c.Drifts)
	var writes []int
	for _, i := range x.rows {
		if x.row(&c.Rows[i], &x.p.Changes[i]) {
			writes = append(writes, i)
		}
	}
	removes := x.pg.Delete && x.pg.Hidden == "" && !g.NotFound
	if v := x.f.Visibility; removes && v != nil && !v.All() && !x.pg.TakeHidden && g.Type != inspect.TypeShare {
		x.add(DriftHidden, nil, nil, "%s", v)
	}
	if x.pg.Delete {
		c.Gone[g.Name] = g.NotFound
		x.unseen()
	}
	if (len(writes) > 0 || removes) && g.Missing() && !x.pg.Create {
		// Its commits are gone as well, but allowing those to have moved is no leave to make a group anew.
		c.Drifts = c.Drifts[:first]
		x.add(DriftGroup, nil, &NotFoundError{What: "group", Name: x.pg.Name}, "the group does not exist any more")
	}
	if (len(writes) > 0 || removes) && g.Active() && (removes || !x.givenUp(writes)) {
		// A group in use commits all the time: what moved would bury why.
		c.Drifts = c.Drifts[:first]
		x.add(DriftActive, nil, nil, "%s", Activity(g.Description))
	}
	if x.pg.Type != "" && g.Type != "" && !g.NotFound && (x.pg.Type == string(inspect.TypeShare)) != (g.Type == inspect.TypeShare) {
		x.add(DriftUnknown, nil, nil, "it was a %s group when the plan was made and is a %s group now", x.pg.Type, g.Type)
	}
}

// givenUp says that all that is to be written are removals on topics that no member of the group in use subscribes to.
func (x *groupCheck) givenUp(writes []int) bool {
	for _, i := range writes {
		if c := &x.c.Rows[i]; c.Action != checkpointfile.ActionDelete || !x.g.gaveUp(c.Topic) {
			return false
		}
	}
	return true
}

// unseen finds what a group that is to be deleted stored since the plan was made. Deleting the group takes it along, so it
// must be in the plan, and with that in the journal, or undo could not bring it back.
func (x *groupCheck) unseen() {
	planned := make(map[offset.Partition]bool, len(x.rows))
	for _, i := range x.rows {
		planned[x.p.Changes[i].Partition] = true
	}
	for _, part := range x.g.partitions() {
		if planned[part] {
			continue
		}
		row := deleteRow(x.f, x.g, part)
		key := row.Key()
		switch {
		case row.Action == checkpointfile.ActionRefuse:
			kind := DriftUnknown
			if _, unstable, _ := x.g.stored(part); unstable {
				kind = DriftUnstable
			}
			x.add(kind, &key, nil, "%s", row.Error)
		case row.Action == checkpointfile.ActionNone:
		case x.allow.Commits:
			x.c.Rows = append(x.c.Rows, row)
		default:
			x.add(DriftCommit, &key, nil, "its commit was %s when the plan was made and is %s now", show(nil), show(row.From))
		}
	}
}

// row checks one row and says whether it still has something to write.
func (x *groupCheck) row(row, planned *Change) bool {
	stays := row.Action == checkpointfile.ActionNone
	if !row.Changes() && !stays {
		return false
	}
	key := planned.Key()
	now, unstable := x.f.of(x.g, row.Partition, nil)
	topic := x.f.Parts.Topics[row.Topic]
	var stored *Commit
	if now.Committed != nil {
		stored = &Commit{Offset: now.Committed.Offset, LeaderEpoch: now.Committed.LeaderEpoch, Metadata: now.Committed.Metadata}
	}
	if unstable {
		x.add(DriftUnstable, &key, nil, "a transaction that is still open holds a commit for it")
		return !stays
	}
	gone := isUnknown(topic.PartitionErr(row.Partition.Partition))
	switch {
	case gone && planned.To == nil:
		// Deleting what is left of a topic that is gone needs no topic.
	case now.Err != nil:
		kind := DriftUnknown
		if gone {
			kind = DriftTopic
		}
		x.add(kind, &key, now.Err, "%v", now.Err)
		return !stays
	}
	if err := x.from.Topic(row.Topic); err != nil {
		x.add(DriftTopic, &key, err, "%v", err)
		return !stays
	}
	if done(planned, stored) && !again(planned) {
		row.Action, row.From = checkpointfile.ActionNone, stored
		return false
	}
	if stays && !x.moved(row, planned) {
		x.add(DriftCommit, &key, nil, "it was to stay at %s and is %s now", show(planned.To), show(stored))
		return false
	}
	if !stays && !identical(planned.From, stored) && !x.allow.Commits {
		x.add(DriftCommit, &key, nil, "its commit was %s when the plan was made and is %s now", show(planned.From), show(stored))
	}
	row.From = stored
	if now.Bounds != nil {
		row.LogStart, row.LogEnd, row.LastStable = &now.Bounds.Start, &now.Bounds.End, &now.Bounds.LastStable
	}
	if row.Action == checkpointfile.ActionCommit && !row.Exact && now.Bounds != nil {
		return x.bounds(row, &key, *now.Bounds)
	}
	return true
}

// moved plans to put a row back that was to stay where it was, if that is allowed: the plan's numbers stand.
func (x *groupCheck) moved(row, planned *Change) bool {
	if !x.allow.Commits {
		return false
	}
	row.Action = checkpointfile.ActionCommit
	if planned.To == nil {
		row.Action = checkpointfile.ActionDelete
		return x.g.Type != inspect.TypeShare // Kafka deletes a share group's offsets by topic
	}
	return true
}

// bounds holds a target to the log as it is now.
func (x *groupCheck) bounds(row *Change, key *Key, b offset.Bounds) bool {
	to := row.To.Offset
	if to >= b.Start && to <= b.End {
		return true
	}
	nearest := min(max(to, b.Start), b.End)
	switch x.allow.OutOfRange {
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
	x.add(DriftBounds, key, nil, "its target %d is outside the log now: log start %d, log end %d", to, b.Start, b.End)
	return true
}

// again says that a row was planned to be committed as it is, so that it does not expire: that it is there is no reason not to.
func again(planned *Change) bool {
	return planned.Action == checkpointfile.ActionCommit && planned.From != nil && identical(planned.From, planned.To)
}

// done says that a row stands where the plan wants it.
func done(row *Change, stored *Commit) bool {
	switch row.Action {
	case checkpointfile.ActionDelete:
		return stored == nil
	case checkpointfile.ActionNone:
		return same(row.To, stored)
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
