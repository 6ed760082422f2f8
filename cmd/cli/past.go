package cli

// Where groups stood in the past, which Kafka's own record of the commits tells.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// ReadHistory reads the history of groups, shows progress, and names the right that is missing. The time that is bounded is that in
// which nothing moves.
func (s *Session) ReadHistory(ctx context.Context, q history.Query) (*history.Report, error) {
	ctx, moved, cancel := s.Moving(ctx, "read "+history.Topic)
	defer cancel()
	p := s.App.Streams.Progress("reading the commits")
	defer p.Stop()
	q.Now = s.App.Now
	q.Progress = func(done, total int64) {
		moved()
		p.Set(done, total)
	}
	r, err := history.Read(ctx, s.Client, q)
	if err != nil {
		return nil, s.historyFault(Cause(ctx, err))
	}
	s.sayCounts(r.Counts)
	return r, nil
}

// CommittedSince says of groups with the time of their last commit whether they committed since, and when; of a group whose record cannot
// be read it has the error.
func (s *Session) CommittedSince(ctx context.Context, last map[string]time.Time) (since map[string]time.Time, unknown map[string]error, err error) {
	since, unknown = map[string]time.Time{}, map[string]error{}
	var blind error
	groups := slices.Sorted(maps.Keys(last))
	r, err := s.ReadHistory(ctx, history.Query{Groups: groups, Each: func(e *history.Event) {
		switch {
		case e.Kind == history.Unreadable && e.Group == "":
			blind = e.Err
		case e.Kind == history.Unreadable && e.At.After(last[e.Group]):
			unknown[e.Group] = e.Err
		case e.Kind.OfCommit() && e.At.After(last[e.Group]) && e.At.After(since[e.Group]):
			since[e.Group] = e.At
		}
	}})
	if err != nil {
		return nil, nil, err
	}
	for _, g := range groups {
		if err := errors.Join(blind, r.For(g).Err); err != nil {
			unknown[g] = err
		}
	}
	return since, unknown, nil
}

// historyFault says what to do where the topic cannot be read.
func (s *Session) historyFault(err error) error {
	var t *history.TopicError
	if !errors.As(err, &t) {
		return err
	}
	return &Fault{Kind: t.ErrorKind(), Err: err, Hint: s.historyHint(t)}
}

func (s *Session) historyHint(t *history.TopicError) (hint string) {
	switch service := hidingService(s.Settings.Brokers); {
	case service != "" && (t.Denied() || t.Missing()):
		hint = service + " does not let its users read that topic: what a group had before is not known there"
	case t.Missing() && strings.HasPrefix(s.Cluster.ID, "sandbox-"):
		hint = "the sandbox has no such topic, as it keeps commits in its memory alone: history needs a real Kafka"
	case t.Denied():
		hint = "grant it: kafka-acls.sh … --add --allow-principal User:NAME --operation Read --topic " + history.Topic
	}
	return hint
}

// FollowCommits reads what groups have from Kafka's own record of the commits. Where that cannot be, it says why, and what to do.
func (s *Session) FollowCommits() func(context.Context, []inspect.Group) inspect.Standing {
	f := &history.Follow{Client: s.Client, Now: s.App.Now}
	return func(ctx context.Context, groups []inspect.Group) inspect.Standing {
		at := f.Standing(ctx, groups)
		var t *history.TopicError
		if errors.As(at.Unfollowed, &t) {
			if hint := s.historyHint(t); hint != "" {
				at.Unfollowed = fmt.Errorf("%w (%s)", at.Unfollowed, hint)
			}
		}
		return at
	}
}

// hidingService is the managed service that the brokers' names belong to, of those that keep the topic to themselves.
func hidingService(brokers []string) string {
	for _, b := range brokers {
		host, _, _ := strings.Cut(b, ":")
		switch {
		case strings.HasSuffix(host, ".confluent.cloud"):
			return "Confluent Cloud"
		case strings.HasSuffix(host, ".servicebus.windows.net"):
			return "Azure Event Hubs"
		case strings.Contains(host, ".kafka-serverless."):
			return "Amazon MSK Serverless"
		}
	}
	return ""
}

// sayCounts says what could not be read among the records.
func (s *Session) sayCounts(c history.Counts) {
	st := s.App.Streams
	if c.Damaged > 0 {
		newer := ""
		if c.Newer > 0 {
			newer = fmt.Sprintf(" (%d of a newer Kafka)", c.Newer)
		}
		st.Warn("%s of %s could not be decoded%s, the first: %v", text.Plural(c.Damaged, "record"), history.Topic, newer, c.FirstDamaged)
	}
	if c.Unknown > 0 {
		st.Note("%s of types that this koffset does not know, which are not commits", text.Plural(c.Unknown, "record"))
	}
	if c.Orphans > 0 {
		st.Warn("%s began before what was read: which commits they made final is not known", text.Plural(c.Orphans, "transaction"))
	}
}

// ReadPast reads what a position names where that is in the past; LoadSaved then has it. It is called before a phase begins whose time is
// bounded as a whole: reading a long history takes as long as it moves.
func (s *Session) ReadPast(ctx context.Context, pos offset.Position, groups ...string) error {
	var err error
	switch pos.Kind {
	case offset.CurrentAt:
		_, err = s.pastOf(ctx, pos, groups)
	case offset.OfGroupAt:
		_, err = s.pastOf(ctx, pos, []string{pos.Ref})
	}
	return err
}

// pastOf reads it once.
func (s *Session) pastOf(ctx context.Context, pos offset.Position, groups []string) (map[string]offset.Saved, error) {
	key := strings.Join(append([]string{offset.FormatTime(pos.At.Time)}, groups...), "\x00")
	if known, ok := s.past[key]; ok {
		return known, nil
	}
	out, err := s.savedThen(ctx, groups, pos.At)
	if err != nil {
		return nil, err
	}
	if s.past == nil {
		s.past = map[string]map[string]offset.Saved{}
	}
	s.past[key] = out
	return out, nil
}

// savedThen reads what groups had committed at an instant.
func (s *Session) savedThen(ctx context.Context, groups []string, at offset.Instant) (map[string]offset.Saved, error) {
	if at.Time.After(s.App.Now()) {
		return nil, Usagef("", "%s is in the future: it is %s now", offset.FormatTime(at.Time), offset.FormatTime(s.App.Now()))
	}
	then := &history.Then{At: at.Time}
	r, err := s.ReadHistory(ctx, history.Query{Groups: groups, Each: then.Add})
	if err != nil {
		return nil, err
	}
	then.Tombstones, then.Now = r.Tombstones, r.At
	out := map[string]offset.Saved{}
	some := false
	for _, g := range groups {
		out[g] = then.Saved(r, g, s.Cluster.ID)
		some = some || len(then.Partitions(g)) > 0
	}
	switch one := out[groups[0]]; {
	case some && len(one.Offsets) == 0 && one.Rest == nil && len(groups) == 1:
		return nil, Faultf(offset.KindNotFound, "koffset history "+offset.NameText(groups[0])+" shows what it had when", "group %q had no commit at %s", groups[0], offset.FormatTime(at.Time))
	case !some && r.Err() == nil:
		return nil, Faultf(offset.KindNotFound, "koffset history --deleted lists what can still be read of deleted groups", "no commit of group %s is left in %s", text.Some(offset.NameTexts(groups), 3), history.Topic)
	}
	return out, nil
}
