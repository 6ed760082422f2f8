package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

type historyOptions struct {
	app     *cli.App
	out     cli.OutputFlag
	groups  cli.GroupFlags
	topics  cli.TopicFlags
	since   string
	until   string
	by      string
	deleted bool
	plot    bool

	format   render.Format
	names    []string
	matcher  *offset.Matcher
	topic    cli.TopicScope
	from, to time.Time
}

// NewHistory is the command history.
func NewHistory(a *cli.App) *cobra.Command {
	o := &historyOptions{app: a}
	c := &cobra.Command{
		Use: "history GROUP…", GroupID: "look",
		Short: "What a group committed, when, and who was in it: from Kafka's own record of the commits",
		Long: `Kafka keeps every commit as a record of __consumer_offsets until compaction removes it. This reads that record: the
commits in the order in which they took effect, how far each moved, and who was in the group then. A commit that this machine's
undo journal knows is named with its undo id. rewind marks an offset that went back, skip one that went ahead while nobody was in
the group, and new-topic one on a topic that was made again.

Compaction leaves the last commits of a partition, with none missing among them: what was before the first row of a partition is
not known. Commits of transactions are shown when they became final (transactional) or did not (aborted, superseded, pending).

--by partition and --by day sum up. --deleted lists what was removed and can still be read; reset GROUP --to current@TIME --create
puts it back. It never writes.` + cli.ExitStatus(
			"  4  partly known: a part of the topic could not be read",
			"  5  nothing of the group is left, or the topic is hidden",
			"  7  the user may not read __consumer_offsets"),
		Example: `  koffset history billing
  koffset history billing --topic orders:3 --since @-2d
  koffset history billing --since 2026-11-29T10:00:00Z --until 2026-11-29T11:00:00Z -o jsonl
  koffset history --all-groups --by day --since @-7d
  koffset history billing --topic orders:3 --plot
  koffset history --deleted`,
		ValidArgsFunction: a.Completer().Groups(),
		RunE:              a.Timed(o.parse, o.run),
	}
	f := c.Flags()
	o.out.Add(c)
	o.groups.Add(f)
	o.topics.Add(f)
	f.StringVar(&o.since, "since", "", "leave out what was before a `TIME`: @-2d, 2026-11-29T10:00:00Z")
	f.StringVar(&o.until, "until", "", "leave out what was after a `TIME`")
	f.StringVar(&o.by, "by", "commit", "a row for each `commit`, partition or day")
	f.BoolVar(&o.deleted, "deleted", false, "the commits that were removed and can still be read, with their last value; of all groups where none is named")
	f.BoolVar(&o.plot, "plot", false, "draw each partition's offset over time instead of rows")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"commit", "partition", "day"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *historyOptions) parse(cmd *cobra.Command, args []string, clock offset.Clock) (err error) {
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if o.names, o.matcher, err = o.groups.Resolve(args); err != nil {
		return err
	}
	if o.topic, err = o.topics.Resolve(cmd); err != nil {
		return err
	}
	if !o.anyGroup() && !o.deleted {
		return cli.Usagef("name a group, or use --all-groups", "which group? none was given")
	}
	if !slices.Contains([]string{"commit", "partition", "day"}, o.by) {
		return cli.Usagef("use commit, partition or day", "--by %q is not one of its values", o.by)
	}
	if o.deleted && cmd.Flags().Changed("by") {
		return cli.Usagef("leave one of them out", "--deleted has its own rows, and --by %s was given", o.by)
	}
	if o.plot && (o.deleted || cmd.Flags().Changed("by") || o.format != render.Table) {
		return cli.Usagef("leave the others out", "--plot is a picture for eyes, and --deleted, --by or -o was given")
	}
	for _, one := range []struct {
		flag, word string
		to         *time.Time
	}{{"--since", o.since, &o.from}, {"--until", o.until, &o.to}} {
		if one.word == "" {
			continue
		}
		p, err := offset.ParsePosition(one.word, offset.RoleTarget, clock)
		if err == nil && p.Kind != offset.AtTime {
			err = cli.Usagef("write @-2d, or 2026-11-29T10:00:00Z", "%s is not a time", p)
		}
		if err != nil {
			return cli.FlagFault(one.flag, err)
		}
		o.app.EchoInstants(p)
		*one.to = p.At.Time
	}
	if !o.to.IsZero() && o.to.Before(o.from) {
		return cli.Usagef("", "--until %s is before --since %s", offset.FormatTime(o.to), offset.FormatTime(o.from))
	}
	return nil
}

func (o *historyOptions) anyGroup() bool {
	return len(o.names) > 0 || len(o.groups.Match) > 0 || o.groups.All
}

// wants says that a group was asked for; with --deleted alone every one is.
func (o *historyOptions) wants(group string) bool { return !o.anyGroup() || o.matcher.Match(group) }

// only are the groups whose partitions are enough to read; nil is all of them.
func (o *historyOptions) only() []string {
	if len(o.names) > 0 && len(o.groups.Match) == 0 {
		return o.names
	}
	return nil
}

// shows says that an event is one of those that were asked for.
func (o *historyOptions) shows(e *history.Event) bool {
	switch {
	case !o.to.IsZero() && e.At.After(o.to):
		return false
	case !o.wants(e.Group):
		return false
	case e.Topic == "":
		return true
	}
	return o.inTopics(e.Partition)
}

func (o *historyOptions) inTopics(p offset.Partition) bool {
	if !o.topic.Any() {
		return true
	}
	for _, s := range o.topic.Specs {
		if s.Topic == p.Topic {
			return len(s.Partitions) == 0 || slices.Contains(s.Partitions, p.Partition)
		}
	}
	return o.topic.Matcher.Match(p.Topic)
}

// view makes rows of events.
type view struct {
	// add is told the events in the order of one partition of the offsets topic.
	add func(e *history.Event)
	// finish writes what is left, and says how many rows there were.
	finish func(r *history.Report) (rows int64)
	// left is why some events are not in the rows; nil where that cannot be.
	left func() error
}

func (o *historyOptions) run(ctx context.Context, s *cli.Session) error {
	w := render.NewWriter(o.app.Streams, o.format, s.Meta("history"))
	v := o.view(s, w)
	r, err := s.ReadHistory(ctx, history.Query{Groups: o.only(), Since: o.from, Each: func(e *history.Event) {
		if o.shows(e) {
			v.add(e)
		}
	}})
	if err != nil {
		return err
	}
	rows := v.finish(r)
	unread := r.Err()
	if v.left != nil {
		unread = errors.Join(unread, v.left())
	}
	missing := false
	for _, p := range r.Partitions {
		missing = missing || !p.Coverage.CompleteAt(r.At)
	}
	missingCell := render.Bool(missing)
	if !o.from.IsZero() { // what was before is missing because it was not read
		missing, missingCell = false, render.None()
	}
	if err := w.Close(render.End{Incomplete: unread != nil, Fields: []render.Field{render.F("records_read", render.Int(r.Records)),
		render.F("records_unknown", render.Int(r.Unknown)), render.F("records_damaged", render.Int(r.Damaged)), render.F("records_missing", missingCell)}}); err != nil {
		return err
	}
	switch {
	case unread != nil:
		o.app.Streams.Fail(render.Failure{Err: unread, Kind: offset.KindPartial})
		return cli.Quietly(offset.KindPartial)
	case rows == 0 && !(o.from.IsZero() && o.to.IsZero()):
		o.app.Streams.Note("nothing is left of the time %s: nothing was committed then, or Kafka's compaction removed it", o.window())
	case rows == 0 && len(o.names) > 0 && !o.deleted:
		return cli.Faultf(offset.KindNotFound, s.GroupHint(ctx, "history", o.names[0], nil), "nothing of %s is left in %s: it never committed, or compaction removed it",
			text.Some(offset.NameTexts(o.names), 3), history.Topic)
	case missing && rows > 0:
		o.app.Streams.Note("what was before the first row of a partition is not known: Kafka's compaction keeps the last commits")
	}
	return nil
}

// window says which time was looked at.
func (o *historyOptions) window() string {
	switch {
	case o.to.IsZero():
		return "since " + offset.FormatTime(o.from)
	case o.from.IsZero():
		return "up to " + offset.FormatTime(o.to)
	}
	return "between " + offset.FormatTime(o.from) + " and " + offset.FormatTime(o.to)
}

func (o *historyOptions) view(s *cli.Session, w *render.Writer) view {
	several := len(o.names) != 1 || len(o.groups.Match) > 0
	switch {
	case o.deleted:
		v := newDeletedView(w)
		return view{add: v.add, finish: v.finish}
	case o.plot:
		v := newPlotView(o.app.Streams)
		return view{v.add, v.finish, v.left}
	case o.by == "partition":
		v := newPartitionView(w, several)
		return view{add: v.add, finish: v.finish}
	case o.by == "day":
		v := newDayView(w, several, o.app.Streams.Zone())
		return view{add: v.add, finish: v.finish}
	}
	v := newCommitView(w, several, newJournalMatch(s, o.wants))
	return view{v.add, v.finish, v.left}
}

// journalMatch finds the operations of this machine's journal that made commits.
type journalMatch struct {
	at map[matchKey][]*matchRow
}

type matchKey struct {
	group string
	offset.Partition
}

// matchRow is one row of an operation: what it found, and what it wrote, nil for a deletion. met says that its event was met.
type matchRow struct {
	entry    *checkpointfile.Entry // without its rows
	from, to *checkpointfile.Commit
	met      bool
}

// made says that the row can have made the event: it wrote that, and found what was there before it. A member that commits the
// number to which an undo brings the group back a moment later was taken for the undo.
func (r *matchRow) made(e *history.Event) bool {
	begun := r.entry.At()
	if r.met || e.At.Before(begun.Add(-matchBefore)) || e.At.After(begun.Add(matchAfter)) {
		return false
	}
	if e.Kind == history.Deleted {
		return r.to == nil && (e.Commit == nil || r.from != nil && r.from.Offset == e.Commit.Offset)
	}
	if r.to == nil || r.to.Offset != e.Commit.Offset || r.to.Metadata != e.Commit.Metadata {
		return false
	}
	if e.Delta == nil { // what was before is not known
		return !e.At.Before(begun.Add(-matchUnproven))
	}
	return r.from != nil && r.from.Offset == e.Commit.Offset-*e.Delta
}

// A commit comes after its journal is on disk, and soon. The broker's clock may be a little behind ours.
const (
	matchBefore = 5 * time.Second
	matchAfter  = 2 * time.Minute
	// Where only the time speaks for it, it must speak clearly.
	matchUnproven = 500 * time.Millisecond
)

// newJournalMatch reads the journal as far as it is about this cluster and the groups that are wanted. What cannot be read of it
// matches nothing. The rows of other groups are not kept: a journal may hold years of operations of 100,000 rows each.
func newJournalMatch(s *cli.Session, wanted func(group string) bool) *journalMatch {
	m := &journalMatch{at: map[matchKey][]*matchRow{}}
	if s.Settings.StateDir == "" {
		return m
	}
	bad := checkpointfile.EachEntry(s.Settings.StateDir, func(e *checkpointfile.Entry) {
		if e.Header.ClusterID != s.Cluster.ID {
			return
		}
		for _, c := range e.Changes {
			if wanted(c.Group) && c.Changes() {
				k := matchKey{c.Group, c.Partition}
				m.at[k] = append(m.at[k], &matchRow{entry: e, from: c.From, to: c.To})
			}
		}
		e.Changes, e.States, e.Errors = nil, nil, nil
	})
	if len(bad) > 0 {
		s.App.Streams.Warn("%s of the undo journal cannot be read: a commit of koffset's may not be named", text.Plural(len(bad), "file"))
	}
	for _, rows := range m.at {
		slices.SortStableFunc(rows, func(a, b *matchRow) int { return strings.Compare(a.entry.ID, b.entry.ID) })
	}
	return m
}

// find is the operation that made an event, nil for none that is known. Each row of an operation made one.
func (m *journalMatch) find(e *history.Event) *checkpointfile.Entry {
	if e.Kind != history.Commit && e.Kind != history.Deleted {
		return nil
	}
	for _, r := range m.at[matchKey{e.Group, e.Partition}] {
		if r.made(e) {
			r.met = true
			return r.entry
		}
	}
	return nil
}

// whoText says who made an event, as far as it is known: an operation of the journal, or who was in the group.
func whoText(e *history.Event, by *checkpointfile.Entry) string {
	if by != nil {
		who := by.User
		if who == "" {
			who = "somebody"
		}
		return fmt.Sprintf("%s by %s, undo %s", by.Verb, who, by.ID)
	}
	if e.Life == nil {
		return ""
	}
	if e.Life.Empty() {
		return "no members"
	}
	names := make([]string, len(e.Life.Members))
	for i, m := range e.Life.Members {
		names[i] = m.String()
	}
	const shown = 2
	list := strings.Join(names[:min(shown, len(names))], ", ")
	if n := len(names) - shown; n > 0 {
		list += fmt.Sprintf(", %d more", n)
	}
	more := ""
	if e.Life.AtLeast {
		more = "at least "
	}
	if list != "" {
		list = ": " + list
	}
	return more + text.Plural(len(names), "member") + list
}
