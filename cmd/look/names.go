package look

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

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
	f := render.Failure{Err: cli.TopicError(name, err), Kind: offset.KindNotFound, Hint: cli.RightsHint(err)}
	if cli.Denied(err) {
		f.Kind = offset.KindDenied
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		f.Hint = s.TopicHint(ctx, name)
	}
	return f
}
