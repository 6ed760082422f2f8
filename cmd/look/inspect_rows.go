package look

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

func (p *inspection) groupSheet(w *render.Writer) {
	w.Begin(render.Sheet{Name: "groups", Row: "group", Columns: p.withLagColumns(lagColumnOfGroup, []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TYPE", Key: "type"},
		{Header: "STATE", Key: "state"},
		{Header: "MEMBERS", Key: "member_count", Right: true},
		{Header: "TOPICS", Key: "topic_count", Right: true},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "UNCOMMITTED", Key: "uncommitted_count", Right: true, HideEmpty: true},
		{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
		{Header: "STATUS", Key: "status"},
		{Header: "INCOMPLETE", Key: "incomplete", NoTable: true},
		{Header: "APPLICATION", Key: "application", HideEmpty: true},
		{Header: "COORDINATOR", Key: "coordinator", Right: true, Wide: true},
		{Header: "ASSIGNOR", Key: "assignor", Wide: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}, false)})
	for _, d := range p.snap.Groups {
		t := inspect.Totals{Status: inspect.StatusOK}
		for r := range p.snap.Rows(d) {
			t.Add(r)
			p.count(r)
		}
		gerr := p.snap.GroupErr(d)
		if p.snap.Query.CommittedOnly && t.Partitions == 0 && gerr == nil {
			continue
		}
		if gerr != nil {
			t.Status, t.Incomplete = inspect.StatusError, true
			p.failed(gerr)
		} else {
			p.allDenied = false
		}
		lag := render.Int(t.Lag)
		if gerr != nil || !t.Committed {
			lag = render.None()
		}
		w.Row(p.groupLagCells(lagColumnOfGroup, []render.Cell{render.String(d.Name), render.Text(string(d.Type)), render.Text(d.State), render.Int(int64(len(d.Members))),
			render.Int(int64(t.Topics)), render.Int(int64(t.Partitions)), lag, cli.Nonzero(int64(t.Uncommitted)), cli.Nonzero(t.ExpiredUnread),
			cli.StatusCell(t.Status), render.Bool(t.Incomplete), render.Text(application(d)), render.Int32(d.Coordinator), render.Text(d.Assignor), cli.ErrCell(gerr)}, d)...)
	}
}

func application(d inspect.Description) string {
	if c := d.Connector(); c != "" {
		return string(d.Application) + ":" + c
	}
	return string(d.Application)
}

func (p *inspection) partitionSheet(w *render.Writer) {
	w.Begin(render.Sheet{Name: "partitions", Row: "partition", Columns: p.withPositionColumn(p.withLagColumns(lagColumnOfPartition, []render.Column{
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
		{Header: "STATUS", Key: "status"},
		{Header: "LEADER-EPOCH", Key: "leader_epoch", Right: true, Wide: true},
		{Header: "METADATA", Key: "metadata", Wide: true, HideEmpty: true},
		{Header: "CLIENT-ID", Key: "client_id", HideEmpty: true, NoJSON: true},
		{Header: "HOST", Key: "host", HideEmpty: true, NoJSON: true},
		{Header: "CONSUMER-ID", Key: "member_id", Wide: true, HideEmpty: true, NoJSON: true},
		{Header: "INSTANCE-ID", Key: "instance_id", Wide: true, HideEmpty: true, NoJSON: true},
		{Key: "member", NoTable: true, NoCSV: true},
		{Header: "UNSTABLE", Key: "unstable", NoTable: true},
		{Header: "ERROR", Key: "error", HideEmpty: true},
	}, true))})
	for _, d := range p.snap.Groups {
		if err := p.snap.GroupErr(d); err != nil {
			p.failed(err)
			p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("group %q: %w", d.Name, err), Kind: offset.KindPartial, Hint: cli.RightsHint(err)})
		}
		for r := range p.snap.Rows(d) {
			if !p.shows(r) {
				continue
			}
			p.count(r)
			w.Row(p.withPositionCell(p.withLagCells(lagColumnOfPartition, partitionCells(r), r), r)...)
		}
	}
}

func partitionCells(r inspect.Row) []render.Cell {
	var (
		committed, share             = render.None(), render.None()
		epoch, metadata              = render.None(), render.None()
		start, end, stable           = render.None(), render.None(), render.None()
		client, host, id, static, me = render.None(), render.None(), render.None(), render.None(), render.None()
	)
	if c := r.Committed; c != nil {
		committed, metadata = render.Int(c.Offset), render.Text(c.Metadata)
		if n, ok := c.LeaderEpoch.Get(); ok {
			epoch = render.Int32(n)
		}
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
	return []render.Cell{
		render.String(r.Group), render.String(r.Topic), render.Int32(r.Partition.Partition), committed, end, render.IntPtr(r.Lag), start, stable,
		cli.Nonzero(r.ExpiredUnread), share, cli.StatusCell(r.Status), epoch, metadata, client, host, id, static, me, render.Bool(r.Unstable), cli.ErrCell(r.Err),
	}
}

func (p *inspection) topicSheet(w *render.Writer) {
	w.Begin(render.Sheet{Name: "topics", Row: "topic", Columns: []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "UNCOMMITTED", Key: "uncommitted_count", Right: true, HideEmpty: true},
		{Header: "EXPIRED", Key: "expired_unread", Right: true, HideEmpty: true},
		{Header: "STATUS", Key: "status"},
		{Header: "INCOMPLETE", Key: "incomplete", NoTable: true},
	}})
	for _, d := range p.snap.Groups {
		if err := p.snap.GroupErr(d); err != nil {
			p.failed(err)
			p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("group %q: %w", d.Name, err), Kind: offset.KindPartial, Hint: cli.RightsHint(err)})
		}
		var topic string
		t := inspect.Totals{Status: inspect.StatusOK}
		flush := func() {
			if topic == "" {
				return
			}
			lag := render.Int(t.Lag)
			if !t.Committed {
				lag = render.None()
			}
			w.Row(render.String(d.Name), render.String(topic), render.Int(int64(t.Partitions)), lag, cli.Nonzero(int64(t.Uncommitted)),
				cli.Nonzero(t.ExpiredUnread), cli.StatusCell(t.Status), render.Bool(t.Incomplete))
			t = inspect.Totals{Status: inspect.StatusOK}
		}
		for r := range p.snap.Rows(d) {
			p.count(r)
			if r.Topic != topic {
				flush()
				topic = r.Topic
			}
			t.Add(r)
		}
		flush()
	}
}

func (p *inspection) memberSheet(w *render.Writer) {
	w.Begin(render.Sheet{Name: "members", Row: "member", Columns: []render.Column{
		{Header: "GROUP", Key: "group"},
		{Header: "CLIENT-ID", Key: "client_id"},
		{Header: "HOST", Key: "host"},
		{Header: "PARTITIONS", Key: "partition_count", Right: true},
		{Header: "LAG", Key: "lag", Right: true},
		{Header: "STATUS", Key: "status"},
		{Header: "INSTANCE-ID", Key: "instance_id", HideEmpty: true},
		{Header: "CONSUMER-ID", Key: "member_id", Wide: true},
		{Header: "ASSIGNMENT", Key: "assignment", Wide: true},
		{Header: "INCOMPLETE", Key: "incomplete", NoTable: true},
	}})
	for _, d := range p.snap.Groups {
		if err := p.snap.GroupErr(d); err != nil {
			p.failed(err)
			p.o.app.Streams.Fail(render.Failure{Err: fmt.Errorf("group %q: %w", d.Name, err), Kind: offset.KindPartial, Hint: cli.RightsHint(err)})
			continue
		}
		sums := map[string]*inspect.Totals{}
		for _, m := range d.Members {
			sums[m.ID] = &inspect.Totals{Status: inspect.StatusOK}
		}
		for r := range p.snap.Rows(d) {
			p.count(r)
			if r.Member != nil {
				sums[r.Member.ID].Add(r)
			}
		}
		for _, m := range d.Members {
			t := sums[m.ID]
			lag := render.Int(t.Lag)
			if !t.Committed {
				lag = render.None()
			}
			w.Row(render.String(d.Name), render.Text(m.ClientID), render.Text(strings.TrimPrefix(m.Host, "/")), render.Int(int64(len(m.Assigned))),
				lag, cli.StatusCell(t.Status), render.Text(m.InstanceID), render.String(m.ID), render.Text(assignment(m.Assigned)), render.Bool(t.Incomplete))
		}
		if len(d.Members) == 0 {
			p.allDenied = false
			p.o.app.Streams.Note("group %s has no members (%s)", d.Name, strings.TrimSpace(string(d.Type)+" "+d.State))
		}
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
