package commits

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
)

// Right is whether the user may commit to a group.
type Right uint8

// What is known of it.
const (
	rightUnknown Right = iota // the broker does not say
	mayCommit
	MayNotCommit // READ on the group is missing
)

// describeGroupsV5 keeps the request below version 6, whose answer for a group that does not exist yet, or that is not a
// classic one, is an error without rights.
type describeGroupsV5 struct{ *kmsg.DescribeGroupsRequest }

func (describeGroupsV5) MaxVersion() int16 { return 5 }

// MayI asks whether the user may commit to a group, before anything is done whose result could then not be committed. Without
// an answer it is not known, and the first commit tells.
func MayI(ctx context.Context, cl *kgo.Client, group string) Right {
	node, err := inspect.Coordinator(ctx, cl, group)
	if err != nil {
		return rightUnknown
	}
	// Raw: kadm does not cap the version, and its rights are not told from none where the group does not exist.
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups, req.IncludeAuthorizedOperations = []string{group}, true
	resp, err := inspect.Call[*kmsg.DescribeGroupsResponse](ctx, cl, node, describeGroupsV5{req})
	if err != nil || len(resp.Groups) != 1 || resp.Groups[0].ErrorCode != 0 {
		return rightUnknown
	}
	return rightOf(resp.Groups[0].AuthorizedOperations)
}

// rightOf reads a set of operations, a bit each. Who was told of the group may describe it: a set without that was not filled in.
func rightOf(operations int32) Right {
	has := func(op kmsg.ACLOperation) bool { return operations > 0 && operations&(1<<op) != 0 }
	switch {
	case !has(kmsg.ACLOperationDescribe):
		return rightUnknown
	case has(kmsg.ACLOperationRead):
		return mayCommit
	}
	return MayNotCommit
}
