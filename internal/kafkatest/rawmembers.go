package kafkatest

// Members of groups that no Go client can join: Connect workers and Streams applications, by raw requests.

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeat is how often raw members say that they live.
const heartbeat = 500 * time.Millisecond

// JoinConnect adds a Connect worker: protocol type "connect", metadata and assignment in Connect's own format, which a tool must not
// read as a consumer's. It is the only member its group can have here.
func JoinConnect(t testing.TB, cl *kgo.Client, group, clientID string) *Member {
	t.Helper()
	worker := derive(t, cl, kgo.ClientID(clientID))
	const url = "http://127.0.0.1:8083/"
	meta := kmsg.NewConnectMemberMetadata()
	meta.URL = url
	return joinAlone(t, cl, worker, group, "connect", meta.AppendTo(nil), func(memberID string) []byte {
		assignment := kmsg.NewConnectMemberAssignment()
		assignment.Leader, assignment.LeaderURL = memberID, url
		a := kmsg.NewConnectMemberAssignmentAssignment()
		a.Connector, a.Tasks = "sink", []int16{0}
		assignment.Assignment = append(assignment.Assignment, a)
		return assignment.AppendTo(nil)
	})
}

// JoinIdle adds a consumer that is assigned nothing, as one is whose topic is gone. It is the only member its group can have here.
func JoinIdle(t testing.TB, cl *kgo.Client, group string, topics ...string) *Member {
	t.Helper()
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = topics
	return joinAlone(t, cl, derive(t, cl, kgo.ClientID("idle")), group, "consumer", meta.AppendTo(nil), func(string) []byte {
		assignment := kmsg.NewConsumerMemberAssignment()
		return assignment.AppendTo(nil)
	})
}

// joinAlone joins a group as its only member and leader, which assigns to itself.
func joinAlone(t testing.TB, cl, worker *kgo.Client, group, protocolType string, metadata []byte, assign func(memberID string) []byte) *Member {
	t.Helper()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType = group, protocolType
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 30_000, 30_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "default", metadata
	join.Protocols = append(join.Protocols, p)
	var joined *kmsg.JoinGroupResponse
	retried(t, "join "+group, func(ctx context.Context) (code int16, err error) {
		if joined, err = join.RequestWith(ctx, worker); err != nil {
			return 0, err
		}
		if joined.ErrorCode == kerr.MemberIDRequired.Code {
			join.MemberID = joined.MemberID
			if joined, err = join.RequestWith(ctx, worker); err != nil {
				return 0, err
			}
		}
		return joined.ErrorCode, nil
	})
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.Generation, sync.MemberID = group, joined.Generation, joined.MemberID
	sync.ProtocolType, sync.Protocol = joined.ProtocolType, joined.Protocol
	ga := kmsg.NewSyncGroupRequestGroupAssignment()
	ga.MemberID, ga.MemberAssignment = joined.MemberID, assign(joined.MemberID)
	sync.GroupAssignment = append(sync.GroupAssignment, ga)
	retried(t, "sync "+group, func(ctx context.Context) (int16, error) {
		resp, err := sync.RequestWith(ctx, worker)
		if err != nil {
			return 0, err
		}
		return resp.ErrorCode, nil
	})

	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.Generation, beat.MemberID = group, joined.Generation, joined.MemberID
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = group, joined.MemberID
	lm := kmsg.NewLeaveGroupRequestMember()
	lm.MemberID = joined.MemberID
	leave.Members = append(leave.Members, lm)
	m := beating(t, func(ctx context.Context) { _, _ = beat.RequestWith(ctx, worker) },
		func(ctx context.Context) { _, _ = leave.RequestWith(ctx, worker) })
	WaitGroupState(t, cl, group, "Stable")
	return m
}

// JoinStreams adds a Streams application with one subtopology that reads topics (KIP-1071), and waits until its group is stable.
// kfake has no streams groups.
func JoinStreams(t testing.TB, cl *kgo.Client, group, clientID string, topics ...string) *Member {
	t.Helper()
	app := derive(t, cl, kgo.ClientID(clientID))
	node := coordinator(t, cl, group)

	sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	sub.SubtopologyID, sub.SourceTopics = "0", topics
	topology := kmsg.NewStreamsGroupHeartbeatRequestTopology()
	topology.Epoch = 0
	topology.Subtopologies = append(topology.Subtopologies, sub)

	// Streams requests are not routed by the client, so each goes to the coordinator by node id.
	send := func(ctx context.Context, req *kmsg.StreamsGroupHeartbeatRequest) (*kmsg.StreamsGroupHeartbeatResponse, error) {
		resp, err := app.Broker(int(node)).RetriableRequest(ctx, req)
		if err != nil {
			return nil, err
		}
		return resp.(*kmsg.StreamsGroupHeartbeatResponse), nil
	}
	request := func(memberID string, epoch int32) *kmsg.StreamsGroupHeartbeatRequest {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch = group, memberID, epoch
		req.RebalanceTimeoutMillis = 30_000
		return req
	}

	memberID := "streams-" + clientID // the member chooses it
	var last *kmsg.StreamsGroupHeartbeatResponse
	retried(t, "join streams group "+group, func(ctx context.Context) (code int16, err error) {
		req := request(memberID, 0)
		req.Topology = &topology
		req.ProcessID = kmsg.StringPtr("process-" + clientID)
		req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		if last, err = send(ctx, req); err != nil {
			return 0, err
		}
		return last.ErrorCode, nil
	})
	epoch, owned := last.MemberEpoch, last.ActiveTasks
	beat := func(ctx context.Context) {
		req := request(memberID, epoch)
		// Owning exactly what was assigned is what makes the group stable.
		req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = owned, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		if req.ActiveTasks == nil {
			req.ActiveTasks = []kmsg.TaskIDs{}
		}
		resp, err := send(ctx, req)
		if err != nil || resp.ErrorCode != 0 {
			return
		}
		epoch = resp.MemberEpoch
		if resp.ActiveTasks != nil { // null means unchanged
			owned = resp.ActiveTasks
		}
	}
	m := beating(t, beat, func(ctx context.Context) { _, _ = send(ctx, request(memberID, -1)) })
	waitStreams(t, cl, node, group)
	return m
}

// waitStreams waits until a streams group with members is stable.
func waitStreams(t testing.TB, cl *kgo.Client, node int32, group string) {
	t.Helper()
	Until(t, "streams group "+group+" is stable", func() bool {
		req := kmsg.NewPtrStreamsGroupDescribeRequest()
		req.Groups = []string{group}
		resp, err := cl.Broker(int(node)).RetriableRequest(t.Context(), req)
		if err != nil {
			return false
		}
		groups := resp.(*kmsg.StreamsGroupDescribeResponse).Groups
		return len(groups) == 1 && groups[0].State == "Stable" && len(groups[0].Members) > 0
	})
}

// beating calls beat at once and every half second until the member is closed, then leave.
func beating(t testing.TB, beat, leave func(context.Context)) *Member {
	ctx, cancel := context.WithCancel(context.Background()) // the test's own context ends before its cleanups run
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			beat(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	m := &Member{leave: func() {
		cancel()
		<-over
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		leave(ctx)
	}}
	t.Cleanup(m.Close)
	return m
}

// coordinator is the node id of a group's coordinator.
func coordinator(t testing.TB, cl *kgo.Client, group string) int32 {
	t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	var node int32
	retried(t, "find the coordinator of "+group, func(ctx context.Context) (int16, error) {
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return 0, err
		}
		if len(resp.Coordinators) == 1 {
			node = resp.Coordinators[0].NodeID
			return resp.Coordinators[0].ErrorCode, nil
		}
		node = resp.NodeID
		return resp.ErrorCode, nil
	})
	return node
}
