package commits

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// errNoShareCall says that the broker cannot move share groups.
var errNoShareCall = errors.New("the broker cannot move the start offsets of share groups: the call (AlterShareGroupOffsets, KIP-932) came with Kafka 4.1")

// ask sends one request for some rows. The answers are in the order of rows; the error is that there was none.
func (t *task) ask(ctx context.Context, cl *kgo.Client, node int32, rows []int) (answers []error, err error) {
	var all error
	byPart := map[offset.Partition]error{}
	switch t.Op {
	case Commit:
		byPart, err = t.askCommit(ctx, cl, node, rows)
	case Remove:
		byPart, all, err = t.askRemove(ctx, cl, node, rows)
	case MoveShare:
		byPart, all, err = t.askMoveShare(ctx, cl, node, rows)
	case RemoveShare:
		byPart, all, err = t.askRemoveShare(ctx, cl, node, rows)
	case RemoveGroup:
		return nil, errors.New("a group is not removed by rows")
	}
	if err != nil {
		return nil, err
	}
	answers = make([]error, len(rows))
	for n, i := range rows {
		one, ok := byPart[t.Rows[i].Partition]
		switch {
		case all != nil:
			answers[n] = all
		case !ok:
			answers[n] = errLeftOut
		default:
			answers[n] = one
		}
	}
	return answers, nil
}

// byTopic calls add for each row, and topic before the first of each topic.
func (t *task) byTopic(rows []int, topic func(name string), add func(r *Row)) {
	last := ""
	for n, i := range rows {
		r := &t.Rows[i]
		if n == 0 || r.Topic != last {
			last = r.Topic
			topic(last)
		}
		add(r)
	}
}

// offsetCommitV9 keeps the request below version 10, which names topics by id, where not every row says its id: one that
// cannot be looked up, for want of a right or because the topic is going away, would fail every partition of the request.
type offsetCommitV9 struct{ *kmsg.OffsetCommitRequest }

func (offsetCommitV9) MaxVersion() int16 { return 9 }

// offsetCommitV4 is the last version of the request with a time to keep the commits for. Every broker from 0.9 to 4.3 takes it.
type offsetCommitV4 struct{ *kmsg.OffsetCommitRequest }

func (offsetCommitV4) MaxVersion() int16 { return 4 }

func (t *task) askCommit(ctx context.Context, cl *kgo.Client, node int32, rows []int) (map[offset.Partition]error, error) {
	// Raw: kadm looks topics up first, and one that is forbidden fails every partition; it never splits what is too large.
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = t.Group, -1
	byID, names := true, map[[16]byte]string{}
	t.byTopic(rows, func(name string) {
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}, func(r *Row) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = r.Partition.Partition, r.Offset, r.LeaderEpoch.Wire(), &r.Metadata
		last := &req.Topics[len(req.Topics)-1]
		last.TopicID = r.TopicID
		names[r.TopicID] = r.Topic
		byID = byID && r.TopicID != [16]byte{}
		last.Partitions = append(last.Partitions, p)
	})
	var sent kmsg.Request = offsetCommitV9{req}
	switch {
	case t.KeepFor > 0:
		req.RetentionTimeMillis = t.KeepFor.Milliseconds()
		sent = offsetCommitV4{req}
	case byID:
		sent = req
	}
	resp, err := inspect.CallOnce[*kmsg.OffsetCommitResponse](ctx, cl, node, sent)
	if err != nil {
		return nil, err
	}
	out := make(map[offset.Partition]error, len(rows))
	for _, rt := range resp.Topics {
		name := rt.Topic
		if name == "" {
			name = names[rt.TopicID]
		}
		for _, p := range rt.Partitions {
			out[offset.Partition{Topic: name, Partition: p.Partition}] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return out, nil
}

func (t *task) askRemove(ctx context.Context, cl *kgo.Client, node int32, rows []int) (byPart map[offset.Partition]error, all, err error) {
	// Raw: kadm looks for the coordinator again by itself, so that it is not known whether a first request was carried out.
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = t.Group
	t.byTopic(rows, func(name string) {
		rt := kmsg.NewOffsetDeleteRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}, func(r *Row) {
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = r.Partition.Partition
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	})
	resp, err := inspect.CallOnce[*kmsg.OffsetDeleteResponse](ctx, cl, node, req)
	if err != nil {
		return nil, nil, err
	}
	byPart = make(map[offset.Partition]error, len(rows))
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			byPart[offset.Partition{Topic: rt.Topic, Partition: p.Partition}] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return byPart, kerr.ErrorForCode(resp.ErrorCode), nil
}

// askRemoveGroup asks for the removal of the group; answer is the broker's, err that there was none.
func (t *task) askRemoveGroup(ctx context.Context, cl *kgo.Client, node int32) (answer, err error) {
	// Raw: kadm does not ask again where no coordinator is there yet.
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{t.Group}
	resp, err := inspect.CallOnce[*kmsg.DeleteGroupsResponse](ctx, cl, node, req)
	if err != nil {
		return nil, err
	}
	for _, g := range resp.Groups {
		if g.Group == t.Group {
			return inspect.CodeError(g.ErrorCode, nil), nil
		}
	}
	return errLeftOut, nil
}

func (t *task) askMoveShare(ctx context.Context, cl *kgo.Client, node int32, rows []int) (byPart map[offset.Partition]error, all, err error) {
	// Raw: kadm looks for the coordinator again by itself, so that it is not known whether a first request was carried out.
	req := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	req.GroupID = t.Group
	t.byTopic(rows, func(name string) {
		rt := kmsg.NewAlterShareGroupOffsetsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}, func(r *Row) {
		p := kmsg.NewAlterShareGroupOffsetsRequestTopicPartition()
		p.Partition, p.StartOffset = r.Partition.Partition, r.Offset
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	})
	resp, err := inspect.CallOnce[*kmsg.AlterShareGroupOffsetsResponse](ctx, cl, node, req)
	if err != nil {
		return nil, nil, shareCall(err)
	}
	byPart = make(map[offset.Partition]error, len(rows))
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			byPart[offset.Partition{Topic: rt.Topic, Partition: p.Partition}] = inspect.CodeError(p.ErrorCode, p.ErrorMessage)
		}
	}
	return byPart, inspect.CodeError(resp.ErrorCode, resp.ErrorMessage), nil
}

func (t *task) askRemoveShare(ctx context.Context, cl *kgo.Client, node int32, rows []int) (byPart map[offset.Partition]error, all, err error) {
	// Raw: kadm looks for the coordinator again by itself, so that it is not known whether a first request was carried out.
	req := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
	req.GroupID = t.Group
	t.byTopic(rows, func(name string) {
		rt := kmsg.NewDeleteShareGroupOffsetsRequestTopic()
		rt.Topic = name
		req.Topics = append(req.Topics, rt)
	}, func(*Row) {})
	resp, err := inspect.CallOnce[*kmsg.DeleteShareGroupOffsetsResponse](ctx, cl, node, req)
	if err != nil {
		return nil, nil, shareCall(err)
	}
	byTopic := map[string]error{}
	for _, rt := range resp.Topics {
		byTopic[rt.Topic] = inspect.CodeError(rt.ErrorCode, rt.ErrorMessage)
	}
	byPart = map[offset.Partition]error{}
	for _, i := range rows {
		if err, ok := byTopic[t.Rows[i].Topic]; ok {
			byPart[t.Rows[i].Partition] = err
		}
	}
	return byPart, inspect.CodeError(resp.ErrorCode, resp.ErrorMessage), nil
}

// shareCall names the feature where the broker lacks the call.
func shareCall(err error) error {
	if errors.Is(err, inspect.ErrNoCall) {
		return fmt.Errorf("%w (%w)", errNoShareCall, err)
	}
	return err
}
