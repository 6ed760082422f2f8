package consume

// Which right is missing, for hints.

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	needsTopic    = "the user needs READ on the topic"
	needsGroup    = "the user needs READ on the group"
	needsDescribe = "the user needs DESCRIBE on the group"
)

// needed names the right that a broker found missing; empty for every other error. READ includes DESCRIBE.
func needed(err error) string {
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return needsTopic
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return needsGroup
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return "the user needs DESCRIBE on the cluster"
	}
	return ""
}
