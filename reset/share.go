package reset

// Share groups (KIP-932): their start offsets have calls of their own.

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// ErrNoShareCall says that the broker cannot move share groups.
var ErrNoShareCall = errors.New("the broker cannot move the start offsets of share groups: the call (AlterShareGroupOffsets, KIP-932) came with Kafka 4.1")

// alterShare moves the start offsets of a share group.
func (a *applier) alterShare(ctx context.Context, node int32, group string, rows []int) error {
	if len(rows) == 0 {
		return nil
	}
	req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	req.GroupID = group
	for _, i := range rows {
		c := a.res.Rows[i].Change
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != c.Topic {
			t := kmsg.NewAlterShareGroupOffsetsRequestTopic()
			t.Topic = c.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()
		p.Partition, p.StartOffset = c.Partition.Partition, c.To.Offset
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := inspect.Call[*kmsg.AlterShareGroupOffsetsResponse](ctx, a.cl, node, req)
	if err != nil {
		return a.noAnswer(ctx, shareCall(err), rows)
	}
	errs := map[offset.Partition]error{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			errs[offset.Partition{Topic: t.Topic, Partition: p.Partition}] = inspect.CodeError(p.ErrorCode, p.ErrorMessage)
		}
	}
	return a.answered(rows, rights{group: "READ", topic: "READ"}, func(c Change) error {
		if err := inspect.CodeError(resp.ErrorCode, resp.ErrorMessage); err != nil {
			return err
		}
		err, ok := errs[c.Partition]
		if !ok {
			return errLeftOut
		}
		return err
	})
}

// deleteShare removes what a share group has on whole topics; BuildDelete saw to it that the rows are whole topics.
func (a *applier) deleteShare(ctx context.Context, node int32, group string, rows []int) error {
	if len(rows) == 0 {
		return nil
	}
	req := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
	req.GroupID = group
	seen := map[string]bool{}
	for _, i := range rows {
		if name := a.res.Rows[i].Topic; !seen[name] {
			seen[name] = true
			t := kmsg.NewDeleteShareGroupOffsetsRequestTopic()
			t.Topic = name
			req.Topics = append(req.Topics, t)
		}
	}
	resp, err := inspect.Call[*kmsg.DeleteShareGroupOffsetsResponse](ctx, a.cl, node, req)
	if err != nil {
		return a.noAnswer(ctx, shareCall(err), rows)
	}
	errs := map[string]error{}
	for _, t := range resp.Topics {
		errs[t.Topic] = inspect.CodeError(t.ErrorCode, t.ErrorMessage)
	}
	return a.answered(rows, rights{group: "DELETE", topic: "READ"}, func(c Change) error {
		if err := inspect.CodeError(resp.ErrorCode, resp.ErrorMessage); err != nil {
			return err
		}
		err, ok := errs[c.Topic]
		if !ok {
			return errLeftOut
		}
		return err
	})
}

// shareCall names the feature where the broker lacks the call.
func shareCall(err error) error {
	if errors.Is(err, inspect.ErrNoCall) || errors.Is(err, kerr.UnsupportedVersion) {
		return fmt.Errorf("%w (%w)", ErrNoShareCall, err)
	}
	return err
}

func (a *applier) readBackShare(ctx context.Context, groups []string, out standing) {
	for name, s := range inspect.ReadShareOffsets(ctx, a.cl, groups) {
		// A group that is gone has nothing stored.
		if s.Err != nil && !errors.Is(s.Err, kerr.GroupIDNotFound) {
			out.groups[name] = s.Err
		}
		for _, r := range s.Rows {
			if r.Err != nil {
				out.rows[Key{Group: name, Partition: r.Partition}] = r.Err
			}
			if r.Start != nil {
				out.stored[Key{Group: name, Partition: r.Partition}] = &Commit{Offset: *r.Start}
			}
		}
	}
}
