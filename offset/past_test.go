package offset_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/offset"
)

// A group's name may hold an @ of its own: what follows the last one is a time only where it can be read as one, and quotes end the
// question.
func TestParsePast(t *testing.T) {
	t.Parallel()
	clock := offset.Clock{Now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	for word, want := range map[string]string{
		"current@2026-11-29T10:00:00Z": "current@2026-11-29T10:00:00Z",
		"committed@-2h":                "current@2026-11-29T10:00:00Z",
		"current@-1h/d":                "current@2026-11-29T00:00:00Z",
		"group:billing@-2h":            "group:billing@2026-11-29T10:00:00Z",
		"group:a@b@2026-11-29":         "group:a@b@2026-11-29T00:00:00Z",
		`group:"a@-1h"@-2h`:            "group:\"a@-1h\"@2026-11-29T10:00:00Z",
		"group:a@b":                    "group:a@b",
		"group:a@10":                   "group:a@10",
		`group:"a@-2h"`:                "group:a@-2h",
		"group:@-2h":                   "group:@-2h",
	} {
		p, err := offset.ParsePosition(word, offset.RoleTarget, clock)
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		got := p.String()
		if p.Kind == offset.OfGroupAt && strings.Contains(word, `"`) {
			got = "group:\"" + p.Ref + "\"@" + offset.FormatTime(p.At.Time)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
		if past := strings.Contains(want, "2026"); p.HasInstant() != past || p.NeedsGroup() != strings.HasPrefix(want, "current") || !p.Needs().Foreign {
			t.Errorf("%s: %+v", word, p.Needs())
		}
	}
	for _, word := range []string{"current@", "current@noon", "current@5"} {
		if p, err := offset.ParsePosition(word, offset.RoleStart, clock); err == nil {
			t.Errorf("%s is %+v", word, p)
		}
	}
	a, _ := offset.ParsePosition("group:g@-1h", offset.RoleStart, clock)
	b, _ := offset.ParsePosition("group:g@-2h", offset.RoleStart, clock)
	if a.Source() == b.Source() {
		t.Error("two moments of one group are one source")
	}
}

// What a group had is the answer, none is none, and not known is neither: only a policy of its own lets something be taken.
func TestResolvePast(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	pos := offset.Position{Kind: offset.CurrentAt, At: offset.Instant{Time: at}}
	oldest := &offset.Committed{Offset: 7, Metadata: "m", LeaderEpoch: offset.EpochOf(2)}
	known := &offset.Foreign{Committed: offset.Committed{Offset: 5, LeaderEpoch: offset.EpochOf(1), Metadata: "x"}, Then: at}
	unknown := &offset.Foreign{Unknown: &offset.Unknown{Why: "compaction", Oldest: oldest, OldestAt: at.Add(time.Hour)}}
	nothing := &offset.Foreign{Unknown: &offset.Unknown{Why: "compaction"}}
	for _, c := range []struct {
		name   string
		f      *offset.Foreign
		r      offset.Rules
		want   string // reason and offset, or the reason of a refusal
		offset int64
		leave  bool
		refuse bool
	}{
		{"known", known, offset.Rules{}, "committed-then", 5, false, false},
		{"none", nil, offset.Rules{}, "no-commit", 0, false, true},
		{"none, skipped", nil, offset.Rules{IfNoCommit: offset.IfNoCommitSkip}, "skipped", 0, true, false},
		{"not known", unknown, offset.Rules{IfNoCommit: offset.IfNoCommitEarliest}, "not-known", 0, false, true},
		{"skipped", unknown, offset.Rules{IfUnknown: offset.IfUnknownSkip}, "not-known", 0, true, false},
		{"oldest", unknown, offset.Rules{IfUnknown: offset.IfUnknownOldest}, "not-known", 7, false, false},
		{"no oldest", nothing, offset.Rules{IfUnknown: offset.IfUnknownOldest}, "not-known", 0, false, true},
		{"start", nothing, offset.Rules{IfUnknown: offset.IfUnknownEarliest}, "not-known", 2, false, false},
		{"end", nothing, offset.Rules{IfUnknown: offset.IfUnknownLatest}, "not-known", 10, false, false},
		{"expired", &offset.Foreign{Committed: offset.Committed{Offset: 1}, Then: at}, offset.Rules{}, "expired", 0, false, true},
		{"negative", &offset.Foreign{Committed: offset.Committed{Offset: -5}, Then: at}, offset.Rules{}, "negative-offset", 0, false, true},
	} {
		got, err := offset.Resolve(offset.Partition{Topic: "t"}, pos, offset.Facts{Bounds: &offset.Bounds{Start: 2, End: 10, LastStable: 10}, Foreign: c.f}, c.r)
		var no *offset.Refusal
		switch {
		case errors.As(err, &no) != c.refuse:
			t.Errorf("%s: %+v, %v", c.name, got, err)
		case c.refuse && string(no.Reason) != c.want, !c.refuse && (string(got.Reason) != c.want || got.Leave != c.leave || got.Offset != c.offset):
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
		if c.name == "oldest" && (got.Metadata == nil || *got.Metadata != "m" || !strings.Contains(got.Detail, "7 of 2026-11-29T11:00:00Z")) {
			t.Errorf("%+v", got)
		}
	}
}

// What the source does not know of is not known, too, and epochs go along only on the same topic.
func TestTakePast(t *testing.T) {
	t.Parallel()
	p0, p1, p2 := offset.Partition{Topic: "t"}, offset.Partition{Topic: "t", Partition: 1}, offset.Partition{Topic: "u"}
	s := offset.Saved{Origin: offset.Origin{From: "the history", ClusterID: "c", TopicIDs: map[string]string{"t": "id"}}, Rest: &offset.Unknown{Why: "compaction"},
		Offsets: map[offset.Partition]offset.Foreign{p0: {Unknown: &offset.Unknown{Oldest: &offset.Committed{Offset: 3, LeaderEpoch: offset.EpochOf(4)}}}}}
	got, said, err := s.Take(offset.Here{ClusterID: "c", TopicIDs: map[string]string{"t": "id", "u": "other"}}, []offset.Partition{p0, p1, p2}, nil)
	if err != nil || len(said) != 0 || got[p1].Unknown == nil || got[p2].Unknown == nil || got[p0].Unknown.Oldest.LeaderEpoch != offset.EpochOf(4) {
		t.Errorf("%+v, %v, %v", got, said, err)
	}
	got, _, err = s.Take(offset.Here{ClusterID: "c", TopicIDs: map[string]string{"t": "new"}}, []offset.Partition{p0}, offset.AllowOrigin{offset.OtherTopic})
	if _, known := got[p0].Unknown.Oldest.LeaderEpoch.Get(); err != nil || known || s.Offsets[p0].Unknown.Oldest.LeaderEpoch != offset.EpochOf(4) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err = s.Take(offset.Here{ClusterID: "c", TopicIDs: map[string]string{"t": "new"}}, []offset.Partition{p0}, nil); err == nil {
		t.Error("the oldest commit of another topic is taken")
	}
}
