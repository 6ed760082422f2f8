package look

import (
	"fmt"
	"strings"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

func (p *inspection) groupSheet(w *render.Writer) {
	columns := []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TYPE", Key: "type"},
		{Header: "STATE", Key: "state"},
		{Header: "MEMBERS", Key: "member_count", Right: true},
		{Header: "TOPICS", Key: "topic_count", Right: true},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "UNCOMMITTED", Key: "uncommitted_count", Right: true, HideEmpty: true},
		{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
	}
	columns = append(columns, statusColumns()...)
	columns = append(columns,
		render.Column{Header: "INCOMPLETE", Key: "incomplete", NoTable: true},
		render.Column{Header: "APPLICATION", Key: "application", HideEmpty: true},
		render.Column{Header: "COORDINATOR", Key: "coordinator", Right: true, Wide: true},
		render.Column{Header: "ASSIGNOR", Key: "assignor", Wide: true},
		render.Column{Header: "ERROR", Key: "error", HideEmpty: true},
	)
	w.Begin(render.Sheet{Name: "groups", Row: "group", Columns: p.withLagColumns(lagColumnOfGroup, p.withLastColumns(lagColumnOfGroup, columns), false)})
	out := &ordered{o: &p.o.order, w: w, shown: &p.troubles}
	if p.o.by != byGroup {
		out.o = &orderFlags{sort: "name"} // the groups of the partitions that JSON lists beside them
	}
	for _, d := range p.snap.Groups {
		p.groupRow(out, d)
	}
	out.end()
}

func (p *inspection) groupRow(out *ordered, d inspect.Description) {
	t := inspect.Totals{Status: inspect.StatusOK}
	var h inspect.GroupHealth
	var wrong troubles
	var head time.Duration
	hasHead, shown := true, out.o.only == ""
	for r, dg := range p.judged.Rows(d) {
		t.Add(*r)
		h.Add(inspect.GroupPartition{Group: r.Group, Partition: r.Partition}, dg)
		p.count(r, dg)
		wrong.note(r)
		shown = shown || out.o.shows(r, dg)
		if len(p.times) == 0 {
			continue
		}
		if timed, ok := p.times[inspect.GroupPartition{Group: r.Group, Partition: r.Partition}]; ok {
			p.ageFailed(timed.Err)
			to, known := timed.BehindHead(p.readAt)
			head, hasHead = max(head, to), hasHead && known
		}
	}
	gerr := p.snap.GroupErr(d)
	if p.snap.Query.CommittedOnly && t.Partitions == 0 && gerr == nil {
		return
	}
	if gerr != nil {
		t.Status, t.Incomplete = inspect.StatusError, true
		h.Health, h.Verdicts = inspect.HealthUnknown, h.Verdicts.With(inspect.HealthUnknown)
		shown = shown || out.o.only == string(inspect.StatusError) || out.o.only == string(inspect.HealthUnknown)
		p.failed(gerr)
	} else {
		p.allDenied = false
	}
	if h.Health == "" {
		h.Health = inspect.HealthNoCommit
		h.Verdicts = h.Verdicts.With(h.Health)
		shown = shown || out.o.only == string(h.Health)
	}
	last := p.last.ofGroup(p.snap, d.Name)
	if !shown || !p.inactive(out.o.idleFor, d, &h, last) {
		return
	}
	lag := render.Int(t.Lag)
	if gerr != nil || !t.Committed {
		lag = render.None()
	}
	cells := []render.Cell{render.Name(d.Name), render.Text(string(d.Type)), render.Text(d.State), cli.MembersCell(len(d.Members), d.Err == nil),
		render.Int(int64(t.Topics)), render.Int(int64(t.Partitions)), lag, cli.Nonzero(int64(t.Uncommitted)), cli.Nonzero(t.ExpiredUnread)}
	cells = statusCells(cells, t.Status, h.Health, cli.VerdictsCell(h.Verdicts))
	cells = append(cells, render.Bool(t.Incomplete), render.Text(application(d)), render.Int32(d.Coordinator), render.Text(d.Assignor), cli.ErrCell(gerr))
	out.add(standingOf(&h), wrong, p.groupLagCells(lagColumnOfGroup, p.withLastCells(lagColumnOfGroup, cells, last), &h, head, hasHead))
}

func application(d inspect.Description) string {
	if c := d.Connector(); c != "" {
		return string(d.Application) + ":" + c
	}
	return string(d.Application)
}

func (p *inspection) partitionSheet(w *render.Writer) {
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: p.withPositionColumn(p.withLagColumns(lagColumnOfPartition, p.withLastColumns(lagColumnOfPartition, []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "committed_offset", Right: true},
		{Header: "LOG-END-OFFSET", Key: "log_end_offset", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "LOG-START-OFFSET", Key: "log_start_offset", Right: true},
		{Header: "LAST-STABLE", Key: "last_stable_offset", Right: true, Wide: true},
		{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
		{Header: "SHARE-START", Key: "share_start_offset", Right: true, HideEmpty: true},
		{Header: "STATUS", NoJSON: true, NoCSV: true},
		{Key: "status", NoTable: true},
		{Key: "verdict", NoTable: true},
		{Key: "verdicts", NoTable: true, NoCSV: true},
		{Header: "LEADER-EPOCH", Key: "leader_epoch", Right: true, Wide: true},
		{Header: "METADATA", Key: "metadata", Wide: true, HideEmpty: true},
		{Header: "CLIENT-ID", Key: "client_id", HideEmpty: true, NoJSON: true},
		{Header: "HOST", Key: "host", HideEmpty: true, NoJSON: true},
		{Header: "CONSUMER-ID", Key: "member_id", Wide: true, HideEmpty: true, NoJSON: true},
		{Header: "INSTANCE-ID", Key: "instance_id", Wide: true, HideEmpty: true, NoJSON: true},
		{Key: "member", NoTable: true, NoCSV: true},
		{Header: "UNSTABLE", Key: "unstable", NoTable: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
		{Header: "ACKNOWLEDGED", Key: "acknowledged", Right: true, HideEmpty: true},
	}), true))})
	out := &ordered{o: &p.o.order, w: w, shown: &p.troubles}
	// One for all rows, and one for all with the same verdicts: new ones for each of 100,000 rows were most of what the
	// command allocated, and a third of its time.
	var cells []render.Cell
	verdicts := map[inspect.Verdicts]render.Cell{}
	for _, d := range p.snap.Groups {
		p.groupFailed(d)
		for r, dg := range p.judged.Rows(d) {
			if !p.o.order.shows(r, dg) {
				continue
			}
			p.count(r, dg)
			at := standing{lag: dg.Lag, hasLag: dg.HasLag, lagKnown: dg.HasLag || dg.Health == inspect.HealthNoCommit, age: dg.LagTime, health: dg.Health}
			list, ok := verdicts[dg.Verdicts]
			if !ok {
				list = cli.VerdictsCell(dg.Verdicts)
				verdicts[dg.Verdicts] = list
			}
			cells = partitionCells(cells[:0], r, dg, list)
			if p.o.lastCommit {
				cells = p.withLastCells(lagColumnOfPartition, cells, p.last.of(r))
			}
			cells = p.withPositionCell(p.withLagCells(lagColumnOfPartition, cells, r), *r)
			var wrong troubles
			wrong.note(r)
			out.add(at, wrong, cells)
		}
	}
	out.end()
}

// partitionCells appends the cells of a row.
func partitionCells(cells []render.Cell, r *inspect.Row, dg *inspect.Diagnosis, verdicts render.Cell) []render.Cell {
	var (
		committed, share             = render.None(), render.None()
		epoch, metadata              = render.None(), render.None()
		start, end, stable           = render.None(), render.None(), render.None()
		client, host, id, static, me = render.None(), render.None(), render.None(), render.None(), render.None()
	)
	if c := r.Committed; c != nil {
		committed, metadata, epoch = render.Int(c.Offset), render.Text(c.Metadata), leaderEpochCell(c.LeaderEpoch)
	}
	if r.ShareStart != nil {
		share = render.Int(*r.ShareStart)
	}
	if b := r.Bounds; b != nil {
		start, end, stable = render.Int(b.Start), render.Int(b.End), render.Int(b.LastStable)
	}
	if m := r.Member; m != nil {
		client, host, id, static = render.Text(m.ClientID), render.Text(strings.TrimPrefix(m.Host, "/")), render.String(m.ID), render.Text(m.InstanceID)
		me = render.Object(render.F("member_id", id), render.F("client_id", client), render.F("host", host), render.F("instance_id", static))
	}
	cells = append(cells, render.Name(r.Group), render.String(r.Topic), render.Int32(r.Partition.Partition), committed, end,
		render.IntPtr(r.Lag), start, stable, cli.Nonzero(r.ExpiredUnread), share)
	cells = statusCells(cells, r.Status, dg.Health, verdicts)
	return append(cells, epoch, metadata, client, host, id, static, me, render.Bool(r.Unstable), cli.ErrCell(r.Err), render.IntPtr(r.Acknowledged))
}

func (p *inspection) topicSheet(w *render.Writer) {
	columns := []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "UNCOMMITTED", Key: "uncommitted_count", Right: true, HideEmpty: true},
		{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
	}
	columns = append(append(columns, statusColumns()...), render.Column{Header: "INCOMPLETE", Key: "incomplete", NoTable: true})
	w.Begin(render.Sheet{Name: "topics", Row: "topic", Columns: columns})
	out := &ordered{o: &p.o.order, w: w, shown: &p.troubles}
	for _, d := range p.snap.Groups {
		p.groupFailed(d)
		var topic string
		sum := newSum()
		flush := func() {
			if topic == "" {
				return
			}
			cells := []render.Cell{render.Name(d.Name), render.String(topic), render.Int(int64(sum.Partitions)), sum.lag(), cli.Nonzero(int64(sum.Uncommitted)),
				cli.Nonzero(sum.ExpiredUnread)}
			out.add(standingOf(&sum.health), sum.troubles, append(sum.status(cells), render.Bool(sum.Incomplete)))
			sum = newSum()
		}
		for r, dg := range p.judged.Rows(d) {
			p.count(r, dg)
			if r.Topic != topic {
				flush()
				topic = r.Topic
			}
			sum.add(r, dg)
		}
		flush()
	}
	out.end()
}

// sum adds up rows with their verdicts.
type sum struct {
	inspect.Totals
	health   inspect.GroupHealth
	parts    []offset.Partition
	troubles troubles
}

func newSum() *sum { return &sum{Totals: inspect.Totals{Status: inspect.StatusOK}} }

func (s *sum) add(r *inspect.Row, d *inspect.Diagnosis) {
	s.Totals.Add(*r)
	s.troubles.note(r)
	s.health.Add(inspect.GroupPartition{Group: r.Group, Partition: r.Partition}, d)
	s.parts = append(s.parts, r.Partition)
}

func (s *sum) lag() render.Cell {
	if !s.Committed {
		return render.None()
	}
	return render.Int(s.Lag)
}

// status appends the cells of statusColumns.
func (s *sum) status(cells []render.Cell) []render.Cell {
	if s.health.Health == "" {
		return statusCells(cells, s.Status, inspect.HealthOK, cli.VerdictsCell(0))
	}
	return statusCells(cells, s.Status, s.health.Health, cli.VerdictsCell(s.health.Verdicts))
}

// groupFailed says why a group's rows are missing.
func (p *inspection) groupFailed(d inspect.Description) bool {
	err := p.snap.GroupErr(d)
	if err != nil {
		p.failed(err)
		p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("group %q: %w", d.Name, err), Kind: offset.KindPartial, Hint: cli.RightsHint(err)})
	}
	return err != nil
}

func (p *inspection) memberSheet(w *render.Writer) {
	columns := []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "CLIENT-ID", Key: "client_id", Keep: true},
		{Header: "HOST", Key: "host", Keep: true},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
	}
	columns = append(append(columns, statusColumns()...),
		render.Column{Header: "INSTANCE-ID", Key: "instance_id", HideEmpty: true},
		render.Column{Header: "CONSUMER-ID", Key: "member_id", Wide: true},
		render.Column{Header: "ASSIGNMENT", Key: "assignment", Wide: true},
		render.Column{Header: "INCOMPLETE", Key: "incomplete", NoTable: true},
		render.Column{Header: "TASKS", Key: "tasks", Wide: true, HideEmpty: true},
		render.Column{Header: "MEMBER-EPOCH", Key: "member_epoch", Right: true, Wide: true, HideEmpty: true},
		render.Column{Header: "GROUP-EPOCH", Key: "group_epoch", Right: true, Wide: true, HideEmpty: true},
		render.Column{Header: "ASSIGNMENT-EPOCH", Key: "assignment_epoch", Right: true, Wide: true, HideEmpty: true})
	w.Begin(render.Sheet{Name: "members", Row: "member", Columns: columns})
	out := &ordered{o: &p.o.order, w: w, shown: &p.troubles}
	for _, d := range p.snap.Groups {
		if !p.groupFailed(d) {
			p.memberRows(out, d)
		}
	}
	out.end()
}

// epochCell is an epoch of the protocols that have one: the classic protocol has generations, which no describe call tells.
func epochCell(d inspect.Description, epoch int32) render.Cell {
	if d.Type == inspect.TypeClassic || d.Type == "" {
		return render.None()
	}
	return render.Int32(epoch)
}

// memberRows are the members of a group with what they hold; of the partitions that were asked for where some were.
func (p *inspection) memberRows(out *ordered, d inspect.Description) {
	sums := map[string]*sum{}
	for _, m := range d.Members {
		sums[m.ID] = newSum()
	}
	for r, dg := range p.judged.Rows(d) {
		p.count(r, dg)
		if r.Member != nil {
			sums[r.Member.ID].add(r, dg)
		} else {
			p.note(r) // in no row, whatever is shown
		}
	}
	holders := 0
	for _, m := range d.Members {
		t, held := sums[m.ID], m.Assigned
		if p.o.scope.Any() {
			if held = t.parts; len(held) == 0 {
				continue
			}
		}
		holders++
		cells := []render.Cell{render.Name(d.Name), render.Text(m.ClientID), render.Text(strings.TrimPrefix(m.Host, "/")), render.Int(int64(len(held))), t.lag()}
		cells = append(t.status(cells), render.Text(m.InstanceID), render.String(m.ID), render.Text(assignment(held)), render.Bool(t.Incomplete),
			render.Text(strings.Join(m.Tasks, " ")), epochCell(d, m.Epoch), epochCell(d, d.Epoch), epochCell(d, d.AssignmentEpoch))
		out.add(standingOf(&t.health), t.troubles, cells)
	}
	switch {
	case len(d.Members) == 0:
		p.allDenied = false
		p.o.app.Streams.Note("group %s has no members (%s)", offset.NameText(d.Name), strings.TrimSpace(string(d.Type)+" "+d.State))
	case holders == 0:
		p.o.app.Streams.Note("no member of group %s holds a partition that was asked for", offset.NameText(d.Name))
	}
}

// assignment is Kafka's form: topic:0,1;topic2:0.
func assignment(parts []offset.Partition) string {
	var specs []string
	for i := 0; i < len(parts); {
		spec := offset.TopicSpec{Topic: parts[i].Topic}
		for ; i < len(parts) && parts[i].Topic == spec.Topic; i++ {
			spec.Partitions = append(spec.Partitions, parts[i].Partition)
		}
		specs = append(specs, spec.String())
	}
	return strings.Join(specs, ";")
}

// leaderEpochCell is none for an epoch that is not known.
func leaderEpochCell(e offset.LeaderEpoch) render.Cell {
	if n, known := e.Get(); known {
		return render.Int32(n)
	}
	return render.None()
}

// millisCell is a record's time in Kafka's milliseconds, none where it has no time.
func millisCell(t time.Time) render.Cell {
	if t.IsZero() {
		return render.None()
	}
	return render.Int(t.UnixMilli())
}
