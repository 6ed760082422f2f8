package look

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// notes says on stderr what a table of numbers leaves open. With few groups each gets a line; with many only what is
// wrong is said, since a screen of notes is read by nobody.
func (p *inspection) notes() {
	if p.o.by == byPartition && len(p.snap.Groups) <= 5 {
		for _, d := range p.snap.Groups {
			p.o.app.Streams.Note("%s", p.summary(d))
			p.advice(d)
		}
	}
	if p.o.by == byGroup && p.judged.LeftOut > 0 {
		p.o.app.Streams.Note("ages were not read for %s with the most lagging partitions; --lag-time reads them all", text.Plural(p.judged.LeftOut, "group"))
	}
	st := p.o.app.Streams
	if p.o.by == byPartition && len(p.o.names) > 0 && len(p.o.expect) == 0 && loggedIn(p.s) {
		st.Note("the broker omits topics that this user may not describe; verify with --expect-topics TOPIC,…")
	}
	if len(p.snap.Groups) == 0 && len(p.o.names) == 0 && len(p.o.states)+len(p.o.types) > 0 {
		st.Note("%s", p.noneSuch())
	}
	if len(p.snap.Groups) == 0 && !p.partial && len(p.o.names) == 0 && !p.o.scope.Any() {
		switch {
		case loggedIn(p.s):
			st.Note("no group is shown: there is none, or this user may see none, since the broker leaves out groups without DESCRIBE on them, and says nothing")
		case len(p.o.states)+len(p.o.types) == 0 && !p.o.groups.Narrowed():
			st.Note("no broker lists a group: nothing has joined one or committed for one yet, or all have expired")
		case p.o.groups.Narrowed():
			st.Note("no group is shown: --group-exclude leaves out every one")
		}
	}
	if p.past > 0 {
		st.Warn("%s past the log end: the next fetch gets OFFSET_OUT_OF_RANGE, and the consumer's auto.offset.reset decides where it continues", cli.Partitions(p.past, "is", "are"))
	}
	if p.below > 0 {
		st.Warn("%s below the log start: %s expired unread; auto.offset.reset decides where the consumer continues",
			cli.Partitions(p.below, "is", "are"), text.Plural(p.expired, "offset"))
	}
	if p.invalid > 0 {
		st.Warn("%s a negative commit, which counts as no commit: koffset delete GROUP --topic TOPIC:PARTITION removes it", cli.Partitions(p.invalid, "has", "have"))
	}
	if p.unstable > 0 {
		st.Note("%s a commit in an open transaction: what is shown is the last final one, and a reader of the group waits", cli.Partitions(p.unstable, "has", "have"))
	}
	if p.held > 0 {
		st.Note("%s held back by an open transaction: a read_committed reader ends at the last stable offset (-o wide); lag here is %s", cli.Partitions(p.held, "is", "are"), p.o.iso)
	}
}

// noneSuch says that --state and --type left no group: a header over nothing does not say whether that is the answer.
func (p *inspection) noneSuch() string {
	line := "no group"
	if len(p.o.groups.Match) > 0 {
		line += " that matches"
	}
	if p.partial {
		line += " of those that could be read"
	}
	var such []string
	if len(p.o.types) > 0 {
		such = append(such, "of type "+strings.Join(p.o.types, " or "))
	}
	if len(p.o.states) > 0 {
		such = append(such, "in state "+strings.Join(p.o.states, " or "))
	}
	return line + " is " + strings.Join(such, " and ")
}

// advice says what to do about a group's worst verdict, where somebody should do something.
func (p *inspection) advice(d inspect.Description) {
	var h inspect.GroupHealth
	for r, dg := range p.judged.Rows(d) {
		h.Add(inspect.GroupPartition{Group: r.Group, Partition: r.Partition}, dg)
	}
	if h.Health == inspect.HealthNeverCommitted || h.Health == inspect.HealthStopped || h.Health == inspect.HealthAboutToExpire || h.Health == inspect.HealthBehind {
		why := h.Why()
		if h.Partitions > 1 { // its numbers are one partition's, and the group's lag stands beside them
			why = h.Of.Partition.String() + ": " + why
		}
		p.o.app.Streams.Note("%s is %s: %s; %s", offset.NameText(d.Name), h.Health, why, h.Health.Next(d))
	}
}

// summary is one line about a group: what it is, how far behind, what is not in the total.
func (p *inspection) summary(d inspect.Description) string {
	t := p.snap.Sum(d)
	var what []string
	if d.Type != "" {
		what = append(what, string(d.Type))
	}
	if d.State != "" {
		what = append(what, d.State)
	}
	switch {
	case d.Err != nil:
		what = append(what, "members not known")
	case len(d.Members) == 0:
		what = append(what, "no members")
	default:
		what = append(what, text.Plural(len(d.Members), "member"))
	}
	line := fmt.Sprintf("group %s (%s): ", offset.NameText(d.Name), strings.Join(what, ", "))
	switch {
	case t.Committed:
		line += fmt.Sprintf("lag %s", text.Count(t.Lag))
	case p.o.scope.Any():
		line += "no commits on what was asked for"
	default:
		line += "nothing committed"
	}
	if t.Incomplete {
		line += ", incomplete: rows without a lag are not in it"
	}
	if t.Uncommitted > 0 {
		line += fmt.Sprintf(", %s", cli.Partitions(t.Uncommitted, "uncommitted", "uncommitted"))
	}
	switch d.Application {
	case inspect.AppOffsetsOnly:
		line += "; it only commits (assign(), Flink, Spark), so a running reader cannot be seen"
	case inspect.AppConnectSink:
		line += "; the sink connector " + d.Connector() + " of Kafka Connect"
	case inspect.AppConnectWorkers:
		line += "; workers of a Kafka Connect cluster"
	case inspect.AppStreams:
		line += "; a Kafka Streams application"
	}
	return line
}
