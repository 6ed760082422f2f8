package reset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Built is a plan and what its reader should know beside the rows.
type Built struct {
	Plan *Plan
	// Failed are the groups that are not in the plan: not found, not readable, nothing in scope.
	Failed []*GroupError
	// Without are the groups that a pattern chose and that have nothing stored in scope: they are not in the plan.
	Without []string
	// Notes are facts about a group that a reader of the plan should know.
	Notes []Note
	// Said is what is not known about where the offsets come from, or was allowed.
	Said []offset.Finding

	topics map[string]inspect.Topic                       // as they were read for the plan, nil where it was made otherwise
	saved  map[string]map[offset.Partition]offset.Foreign // by group, as the rule of origins lets them through
}

// NoteKind says what a note is about.
type NoteKind string

// The kinds of note.
const (
	NoteActive      NoteKind = "active"       // members are there: executing would be refused
	NoteConnect     NoteKind = "connect"      // a Connect sink
	NoteOffsetsOnly NoteKind = "offsets-only" // commits without members: it may be running unseen
	NoteStreams     NoteKind = "streams"      // internal topics were left out
	NoteShare       NoteKind = "share"        // what of a share group no undo puts back
	NotePastStable  NoteKind = "past-stable"  // records of an open transaction would be skipped
	NoteGone        NoteKind = "gone"         // commits on topics or partitions that do not exist any more
	NoteHidden      NoteKind = "hidden"       // commits that this user may not see
	NoteNothing     NoteKind = "nothing"      // an undo has nothing to put back
	NoteWithout     NoteKind = "without"      // groups that a pattern chose and that store nothing in scope
)

// Note is one fact about a group of the plan.
type Note struct {
	Group string
	// Several says that it is about several groups: Group says nothing then, and the empty name is a group's too.
	Several bool
	Kind    NoteKind
	Text    string
}

// Build makes a plan. It is pure: the same request and facts make the same plan. Rows without a target under the rules are
// in the plan with action refuse, so that all of them are seen at once; such a plan is not applied. The error is an
// *offset.OriginError where the offsets are not of this cluster, or not final.
func Build(r *Request, f *Facts) (*Built, error) {
	b := &Built{Plan: &Plan{Verb: r.Verb, Asked: r.Asked, ClusterID: f.ClusterID, Isolation: r.Rules.Isolation}}
	if err := b.takeSaved(r, f); err != nil {
		return nil, err
	}
	return b.eachGroup(r, f, func(g *GroupFacts) error { return b.group(r, f, g) })
}

// takeSaved holds the offsets that the position itself says against the cluster, for every group of the request. One that
// is refused refuses all: a source is of one cluster.
func (b *Built) takeSaved(r *Request, f *Facts) error {
	if r.Saved == nil {
		return nil
	}
	b.saved = map[string]map[offset.Partition]offset.Foreign{}
	here := inspect.Here(f.ClusterID, f.Parts.Topics)
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		in, _, err := r.partitions(f.Groups[name], f.Parts.Topics)
		if err != nil {
			continue // planning the group says so
		}
		wanted := make([]offset.Partition, len(in))
		for i, c := range in {
			wanted[i] = c.Partition
		}
		taken, said, err := r.saved(name).Take(here, wanted, r.AllowOrigin)
		if err != nil {
			return err
		}
		b.saved[name] = taken
		for _, s := range said {
			if !slices.Contains(b.Said, s) {
				b.Said = append(b.Said, s)
			}
		}
	}
	return nil
}

// eachGroup plans every group of the request once, and continues past one that failed.
func (b *Built) eachGroup(r *Request, f *Facts, plan func(*GroupFacts) error) (*Built, error) {
	seen := map[string]bool{}
	for _, listed := range r.Groups {
		g := f.Groups[listed.Name]
		if g == nil || seen[listed.Name] {
			continue
		}
		seen[listed.Name] = true
		if err := plan(g); err != nil {
			b.Failed = append(b.Failed, &GroupError{Group: g.Name, Err: err})
		}
	}
	if v := f.Visibility; v != nil && !v.All() && (len(b.Plan.Groups) > 0 || r.Task.Repair != nil) {
		// That nothing is to be repaired is not known of what cannot be seen.
		b.Notes = append(b.Notes, Note{Several: true, Kind: NoteHidden, Text: v.String()})
	}
	if n := len(b.Without); n > 0 {
		said := fmt.Sprintf("%s nothing in scope and %s left out: %s", plural(n, "group stores", "groups store"), map[bool]string{true: "is", false: "are"}[n == 1], text.Some(offset.NameTexts(b.Without), 5))
		b.Notes = append(b.Notes, Note{Several: true, Kind: NoteWithout, Text: said})
	}
	b.finish()
	return b, nil
}

// finish sorts a plan: the same contents always have the same digest.
func (b *Built) finish() {
	slices.SortFunc(b.Plan.Groups, func(x, y PlanGroup) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.Plan.Changes, func(x, y Change) int { return x.Key().Compare(y.Key()) })
}

func (b *Built) group(r *Request, f *Facts, g *GroupFacts) error {
	if err := g.err(); err != nil {
		return err
	}
	if g.Missing() {
		if !r.Create {
			return &NotFoundError{What: "group", Name: g.Name}
		}
		made := *g
		made.Type = r.CreateType
		g = &made
	}
	if r.Saved != nil {
		if _, ok := r.Saved.For(g.Name); !ok && !r.Patterned[g.Name] {
			return &NothingSavedError{Position: r.Position.String(), Groups: r.Saved.Names()}
		}
	}
	in, internal, err := r.partitions(g, f.Parts.Topics)
	if r.leavesOut(g, in, err) {
		b.Without = append(b.Without, g.Name)
		return nil
	}
	if err != nil {
		return err
	}
	var rows []Change
	for _, c := range in {
		row, keep := b.row(r, f, g, c)
		if keep {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		if r.Patterned[g.Name] {
			return nil
		}
		return fmt.Errorf("%w (only %s)", ErrNothingInScope, r.Only)
	}
	b.Plan.Changes = append(b.Plan.Changes, rows...)
	b.addGroup(g, false)
	b.notes(g, rows, internal)
	return nil
}

// leavesOut says that a pattern chose a group that has nothing stored in scope. err is what partitions said.
func (r *Request) leavesOut(g *GroupFacts, in []chosen, err error) bool {
	return r.Patterned[g.Name] && (errors.Is(err, ErrNothingInScope) || err == nil && !g.storesOn(in))
}

func (b *Built) addGroup(g *GroupFacts, remove bool) {
	b.Plan.Groups = append(b.Plan.Groups, PlanGroup{Name: g.Name, Type: string(g.Type), Create: g.Missing(), Delete: remove,
		Application: string(g.Application)})
}

// row plans one partition. keep is false where --only leaves it out.
func (b *Built) row(r *Request, f *Facts, g *GroupFacts, c chosen) (row Change, keep bool) {
	one, unstable := f.of(g, c.Partition, b.saved[g.Name])
	row = newRow(g, c.Partition, f, one)
	if !r.Only.keeps(one, r.Rules.Isolation) {
		return row, false
	}
	if c.gone {
		row.Action, row.How = checkpointfile.ActionLeave, offset.ReasonUnreadable
		row.Detail = "the topic or partition does not exist any more: left alone (koffset repair finds such commits)"
		return row, true
	}
	if unstable {
		refuse(&row, offset.ReasonUnreadable, "a transaction that is still open holds a commit for it: what is stored then is not known yet",
			"wait until the transaction ends, or add {{wait-empty 60s}}")
		return row, true
	}
	t, err := offset.Resolve(c.Partition, r.Position, one, r.Rules)
	var no *offset.Refusal
	switch {
	case errors.As(err, &no):
		refuse(&row, no.Reason, strings.TrimPrefix(no.Detail, c.Partition.String()+": "), no.Hint)
		row.Asked = no.Asked
	case err != nil:
		refuse(&row, offset.ReasonUnreadable, err.Error(), "")
	case t.Leave:
		row.Action, row.How, row.Detail, row.Asked = checkpointfile.ActionLeave, t.Reason, t.Detail, t.Asked
	default:
		row.How, row.Detail, row.Asked, row.Proof = t.Reason, t.Detail, t.Asked, r.Proof[c.Partition]
		row.To = r.target(g, row.From, t, one)
		row.Action = checkpointfile.ActionCommit
		if same(row.From, row.To) && !g.finishedBeyond(row) {
			// What is there stays byte for byte, with its epoch: not even the commit's age changes.
			row.Action, row.To = checkpointfile.ActionNone, row.From
		}
	}
	return row, true
}

// newRow is a row before anything is decided.
func newRow(g *GroupFacts, p offset.Partition, f *Facts, one offset.Facts) Change {
	topic := f.Parts.Topics[p.Topic]
	row := Change{Group: g.Name, Partition: p, TopicID: topic.TopicID(), Gone: isUnknown(topic.PartitionErr(p.Partition))}
	if c := one.Committed; c != nil {
		row.From = &Commit{Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata}
	}
	if s, ok := g.Share.Find(p); ok {
		if n, known := s.Acknowledged(one.Bounds); known {
			row.Acknowledged = &n
		}
	}
	if bo := one.Bounds; bo != nil {
		row.LogStart, row.LogEnd, row.LastStable = &bo.Start, &bo.End, &bo.LastStable
	}
	return row
}

func refuse(row *Change, why offset.Reason, text, hint string) {
	row.Action, row.How, row.Error, row.Hint = checkpointfile.ActionRefuse, why, text, hint
}

// target is what is stored for a row: the offset, its epoch where it is known, and the metadata.
func (r *Request) target(g *GroupFacts, from *Commit, t offset.Target, one offset.Facts) *Commit {
	to := &Commit{Offset: t.Offset, LeaderEpoch: t.LeaderEpoch}
	if g.Type == inspect.TypeShare {
		return &Commit{Offset: t.Offset} // start offsets have neither epoch nor metadata
	}
	if _, known := to.LeaderEpoch.Get(); !known {
		to.LeaderEpoch = epochBetween(one)
	}
	switch {
	case r.Metadata.Replace:
		to.Metadata = r.Metadata.Text
	case t.Reason == offset.ReasonThen && t.Metadata != nil:
		to.Metadata = *t.Metadata // what was there then, and so was no metadata
	case t.Metadata != nil && *t.Metadata != "":
		to.Metadata = *t.Metadata // a CSV or a checkpoint carries none, which is no reason to wipe what is there
	case from != nil:
		to.Metadata = from.Metadata
	}
	return to
}

// epochBetween is the epoch of every offset in the log where both ends have the same: leaders never went back.
func epochBetween(one offset.Facts) offset.LeaderEpoch {
	s, ok := one.StartEpoch.Get()
	e, ok2 := one.EndEpoch.Get()
	if ok && ok2 && s == e {
		return one.EndEpoch
	}
	return offset.LeaderEpoch{}
}

// same says that a reader and the application would notice no difference. The epoch alone is no reason to write: it only
// guards against truncation, and the one that is stored was read with the record.
func same(a, b *Commit) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Offset == b.Offset && a.Metadata == b.Metadata
}

// identical also compares the epoch: what an undo must restore.
func identical(a, b *Commit) bool {
	return same(a, b) && (a == nil || a.LeaderEpoch == b.LeaderEpoch)
}

func (o Only) keeps(f offset.Facts, iso offset.Isolation) bool {
	c, b := f.Committed, f.Bounds
	switch o {
	case OnlyNoCommit:
		return c == nil
	case OnlyLagging:
		return c != nil && b != nil && max(c.Offset, b.Start) < b.EndFor(iso)
	case OnlyOutOfRange:
		return c != nil && b != nil && (c.Offset < b.Start || c.Offset > b.End)
	}
	return true
}

// allowedInUse says that what a plan does to a group in use is only to remove commits on topics that it gave up.
func (b *Built) allowedInUse(g *GroupFacts, rows []Change) bool {
	pg := b.Plan.Groups[len(b.Plan.Groups)-1]
	n := 0
	for _, c := range rows {
		if !c.Changes() {
			continue
		}
		if n++; c.Action != checkpointfile.ActionDelete || !g.gaveUp(c.Topic) {
			return false
		}
	}
	return n > 0 && (!pg.Delete || pg.Hidden != "")
}

// notes says what a reader of the group's rows should know.
func (b *Built) notes(g *GroupFacts, rows []Change, internal []string) {
	add := func(k NoteKind, format string, args ...any) {
		b.Notes = append(b.Notes, Note{Group: g.Name, Kind: k, Text: fmt.Sprintf(format, args...)})
	}
	if g.Active() && !b.allowedInUse(g, rows) {
		add(NoteActive, "%s: executing the plan would be refused", Activity(g.Description))
	}
	switch g.Application {
	case inspect.AppConnectSink:
		add(NoteConnect, "it is the group of Connect's sink %q: stop that connector, since pausing it keeps the members", g.Connector())
	case inspect.AppConnectWorkers:
		add(NoteConnect, "it is a group of Connect workers, which store no offsets of topics they read")
	case inspect.AppOffsetsOnly:
		if len(rows) > 0 && !g.Missing() {
			add(NoteOffsetsOnly, "it only ever stored offsets, so whether its application runs cannot be seen; Flink and Spark restore from their own state and overwrite this")
		}
	}
	switch {
	case len(internal) > 0:
		add(NoteStreams, "a Streams application: its internal topics are left out (%s), and its local state is not reset", strings.Join(internal, ", "))
	case g.Type == inspect.TypeStreams && b.Plan.Verb != "delete" && b.Plan.Verb != VerbKeep:
		add(NoteStreams, "a Streams application: its local state is not reset")
	}
	if g.Type == inspect.TypeShare {
		if text := ShareNote(rows); text != "" {
			add(NoteShare, "%s", text)
		}
	}
	stable, gone := 0, 0
	for _, c := range rows {
		if bo, ok := c.Bounds(); ok && c.Action == checkpointfile.ActionCommit && c.To.Offset > bo.LastStable {
			stable++
		}
		if c.Action == checkpointfile.ActionLeave && c.LogEnd == nil {
			gone++
		}
	}
	if stable > 0 {
		add(NotePastStable, "%s past the last stable offset: records of a transaction that is still open would be skipped", plural(stable, "target is", "targets are"))
	}
	if gone > 0 {
		add(NoteGone, "%s on topics or partitions that do not exist any more, and left alone", plural(gone, "commit is", "commits are"))
	}
}

// Activity says in words who is in a group: what a refusal and a warning name.
func Activity(d inspect.Description) string {
	if d.Err != nil {
		return fmt.Sprintf("whether the group is in use is not known: %v", d.Err)
	}
	if len(d.Members) == 0 {
		return fmt.Sprintf("the group is %s", d.State)
	}
	const shown = 5
	var who []string
	for _, m := range d.Members[:min(shown, len(d.Members))] {
		who = append(who, m.Where())
	}
	if n := len(d.Members) - shown; n > 0 {
		who = append(who, fmt.Sprintf("and %d more", n))
	}
	noun := "members"
	if len(d.Members) == 1 {
		noun = "member"
	}
	stays := ""
	if !slices.ContainsFunc(d.Members, func(m inspect.Member) bool { return m.InstanceID == "" }) {
		stays = "; a static member that was stopped stays until its session times out"
	}
	return fmt.Sprintf("the group is %s with %d %s (%s)%s", d.State, len(d.Members), noun, strings.Join(who, ", "), stays)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
