package inspect

// Which topics the cluster does not show to this user.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/text"
)

// Visibility says which topics exist that may not be described. An OffsetFetch leaves the commits on such topics out
// without a word, so an answer proves that a group stores nothing more only where none are hidden.
type Visibility struct {
	Hidden []string // sorted
	// Err is why it is not known which topics are hidden; nil where Hidden is all of them. Some may be known all the same.
	Err error
}

// All says that it is known that no topic is hidden.
func (v Visibility) All() bool { return v.Err == nil && len(v.Hidden) == 0 }

// String says what may be hidden.
func (v Visibility) String() string {
	switch {
	case v.Err != nil && len(v.Hidden) == 0:
		return fmt.Sprintf("commits on topics that this user may not describe are hidden, and whether there are such topics is not known (%v)", v.Err)
	case len(v.Hidden) == 0:
		return "no topic is hidden from this user"
	}
	hidden := "commits on topics that this user may not describe are hidden: " + text.Some(v.Hidden, 5)
	if v.Err != nil {
		hidden += fmt.Sprintf("; whether there are more such topics is not known (%v)", v.Err)
	}
	return hidden
}

// With is a visibility that also knows of these hidden topics.
func (v Visibility) With(hidden []string) Visibility {
	v.Hidden = slices.Compact(slices.Sorted(slices.Values(slices.Concat(v.Hidden, hidden))))
	return v
}

// ReadVisibility compares the topics that the cluster's metadata shows with those that the brokers' log folders hold, which
// DESCRIBE on the cluster lets a user see whatever topics he may describe. A cluster without an authorizer hides nothing.
func ReadVisibility(ctx context.Context, cl *kgo.Client) Visibility {
	// Raw: kadm's filters are for lists; this asks the least that tells whether there is an authorizer.
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeCluster, kmsg.ACLResourcePatternTypeAny
	req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	if resp, err := req.RequestWith(ctx, cl); err == nil && errors.Is(kerr.ErrorForCode(resp.ErrorCode), kerr.SecurityDisabled) {
		return Visibility{}
	}
	dirs, err := kadm.NewClient(cl).DescribeAllLogDirs(ctx, nil)
	held := map[string]bool{}
	dirs.Each(func(d kadm.DescribedLogDir) {
		err = errors.Join(err, d.Err)
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) { held[p.Topic] = true })
	})
	if err == nil && len(held) == 0 {
		err = errors.New("the brokers name no topic, as without DESCRIBE on the cluster")
	}
	if err != nil {
		return Visibility{Err: err}
	}
	topics, err := ReadTopics(ctx, cl, nil)
	if err != nil {
		return Visibility{Err: err}
	}
	var out Visibility
	for name := range held {
		if t, ok := topics[name]; (!ok || t.Err != nil) && !kafkaTopic(name) {
			out.Hidden = append(out.Hidden, name)
		}
	}
	slices.Sort(out.Hidden)
	return out
}

// kafkaTopic says that a topic is one of Kafka's own, to which no group commits.
func kafkaTopic(name string) bool {
	switch name {
	case "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata":
		return true
	}
	return false
}
