package look

// The times of groups' commits: a commit says how far, and the record there says how long ago.

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

const (
	// storedTimes is for how many partitions the times are read without being asked for: a record is fetched for each.
	storedTimes = 200
	// storedTimeout bounds what is only a courtesy.
	storedTimeout = 5 * time.Second
)

// isCommit says that a position, or one of a map, is what a group has committed, or counts from it.
func isCommit(p offset.Position) bool {
	for _, one := range p.Map {
		if isCommit(one) {
			return true
		}
	}
	switch p.Kind {
	case offset.Current, offset.FromCurrent, offset.CurrentAt, offset.OfGroup, offset.OfGroupAt:
		return true
	}
	return false
}

// readStored reads the records at commits. A time that cannot be read is said, and is no failure: the question was which offset.
func (o *resolveOptions) readStored(ctx context.Context, s *cli.Session, rows []resolved) {
	if !isCommit(o.position) {
		return
	}
	of := o.fromTargets(rows)
	if len(of) > storedTimes {
		o.app.Streams.Note("the times of the records there were not read: these are more than %s", text.Plural(storedTimes, "partition"))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(storedTimeout, s.Settings.Timeout))
	defer cancel()
	unread, why := 0, ""
	for span, a := range o.reader(s).First(ctx, slices.Collect(maps.Keys(of))) {
		if of[span].found = a.Record; a.Err != nil {
			unread, why = unread+1, cli.ShortErr(a.Err)
		}
	}
	if unread > 0 {
		o.app.Streams.Note("the times of the records on %s are not known: %s", text.Plural(unread, "partition"), why)
	}
}
