package consume_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/offset"
)

// Whoever misses a right is told which, wherever it is found missing.
func TestMissingRightsAreNamed(t *testing.T) {
	k, cl := fake(t)
	kafkatest.CreateTopic(t, cl, "rights", 1)
	kafkatest.Produce(t, cl, kafkatest.Records("rights", 0, 10, 1000, 1)...)
	kafkatest.Commit(t, cl, "other", kafkatest.At("rights", 0, 5))
	for name, c := range map[string]struct {
		key   kmsg.Key
		err   *kerr.Error
		group string
		edit  func(*consume.Config)
		hint  string
	}{
		"topic":           {kmsg.Metadata, kerr.TopicAuthorizationFailed, "", nil, "READ on the topic"},
		"log":             {kmsg.ListOffsets, kerr.TopicAuthorizationFailed, "", nil, "READ on the topic"},
		"records":         {kmsg.Fetch, kerr.TopicAuthorizationFailed, "", nil, "READ on the topic"},
		"commits":         {kmsg.OffsetFetch, kerr.GroupAuthorizationFailed, "g", nil, "DESCRIBE on the group"},
		"another group's": {kmsg.OffsetFetch, kerr.GroupAuthorizationFailed, "other", func(c *consume.Config) { c.Start.Position = &offset.Position{Kind: offset.OfGroup, Ref: "other"} }, "DESCRIBE on the group"},
		"own, to commit":  {kmsg.OffsetFetch, kerr.GroupAuthorizationFailed, "g", func(c *consume.Config) { c.Commit.Auto = true }, "READ on the group"},
		"the last commit": {kmsg.OffsetCommit, kerr.GroupAuthorizationFailed, "g", func(c *consume.Config) { c.Commit.Auto = true }, "READ on the group"},
	} {
		t.Run(name, func(t *testing.T) {
			f := kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.err, Count: -1, Group: c.group}
			if c.group == "" {
				f.Topic = "rights"
			}
			h := k.Fault(f)
			defer h.Remove()
			cfg := consume.Config{Client: cl, Topics: topics("rights"), Group: "g", Start: consume.FromEarliest(), End: consume.UntilLatest(),
				Sink: consume.SinkFunc(func(context.Context, consume.Batch) error { return nil })}
			if c.edit != nil {
				c.edit(&cfg)
			}
			_, err := consume.Run(t.Context(), cfg)
			var e *consume.Error
			if !errors.As(err, &e) || !errors.Is(err, c.err) || e.ErrorKind() != offset.KindDenied || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%v, of kind %v with hint %q; want %q", err, offset.KindOf(err), e.Hint, c.hint)
			}
		})
	}
}
