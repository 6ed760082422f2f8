package look

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// nearGroups is the hint for a group that does not exist.
func nearGroups(ctx context.Context, s *cli.Session, name string) string {
	ctx, cancel := s.Phase(ctx, "list the groups")
	defer cancel()
	listed, _, err := s.Cluster.ListGroups(ctx, s.Client)
	if err != nil {
		return ""
	}
	names := make([]string, len(listed))
	for i, g := range listed {
		names[i] = g.Name
	}
	if near := text.Near(name, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return "koffset inspect lists all groups"
}

// loggedIn says that the broker knows who asks, and so may hide something.
func loggedIn(s *cli.Session) bool {
	for _, key := range []string{"sasl.mechanism", "tls.cert"} {
		if v, ok := s.Settings.Value(key); ok && v.Text != "" {
			return true
		}
	}
	return false
}

// topicFailure says why a topic cannot be shown, with the nearest names where it does not exist.
func topicFailure(ctx context.Context, s *cli.Session, name string, err error) render.Failure {
	f := render.Failure{Err: fmt.Errorf("topic %q: %w", name, err), Kind: offset.KindNotFound, Hint: cli.RightsHint(err)}
	if cli.Denied(err) {
		f.Kind = offset.KindDenied
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		f.Err = fmt.Errorf("topic %q does not exist, or may not be described", name)
		ctx, cancel := s.Phase(ctx, "list the topics")
		defer cancel()
		if all, err := inspect.ReadTopics(ctx, s.Client, nil); err == nil {
			if near := text.Near(name, inspect.VisibleNames(all)); len(near) > 0 {
				f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
			}
		}
	}
	return f
}
