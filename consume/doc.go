// Package consume is koffset's consuming engine: it starts exactly where it is told, stops exactly where it is told, knows
// who commits, survives being killed, and never skips silently.
//
// A run is a [Config]. [New] resolves where every partition starts and ends and returns an [Engine] whose [Engine.Plan]
// can be shown; nothing has been read, written or committed then. [Engine.Run] reads until the end is reached, the context
// ends, or something fails. [Run] is both.
//
//	summary, err := consume.Run(ctx, consume.Config{
//		Client: client,                                   // any *kgo.Client of the cluster
//		Topics: []offset.TopicSpec{{Topic: "orders"}},
//		Start:  consume.Start{Position: position},        // or one of the five modes, see ParseStart
//		Sink:   consume.SinkFunc(func(ctx context.Context, b consume.Batch) error { … }),
//	})
//
// Positions are resolved once, to numbers, and checked against the log before anything is read. What then happens to the
// log (retention passes the reader, the log is truncated, the topic is deleted and created again) stops the run with both
// numbers, unless a policy says otherwise; Kafka's clients silently jump instead.
//
// # Who commits
//
// The engine assigns partitions to itself and joins no group, as Flink does. A group.id is only a place to commit to: on
// every completed checkpoint exactly its offsets, or without checkpoints every auto-commit interval what the sink has
// accepted, or never. [Config.Join] is the exception: Kafka's group protocol, without checkpoints.
//
// # What is guaranteed
//
// With checkpoints in a folder, a restored run goes on from the newest one. A [Sink] that can go back to it (the files of
// package sink do) holds every record exactly once, also after a kill -9. Any other sink gets every record at least once.
// Without a folder nothing survives the process but the group's commits, which are never ahead of what the sink accepted.
//
// # How a run ends
//
// The context's cause says which: [ErrSuspended] is a suspension (SIGTERM: a last checkpoint, always kept), any other
// cause a cancellation (Ctrl-C: a last checkpoint, then the [Retention] decides).
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package consume
