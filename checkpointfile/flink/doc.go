// Package flink reads the Kafka positions out of Apache Flink checkpoints and savepoints, and writes copies of them in
// which chosen Kafka sources stand elsewhere.
//
// A Flink job does not start from the offsets its consumer group committed: it starts from its own state, which lies in
// a binary file named _metadata and, above some 20 kB a subtask, in files beside it. [Open] reads such a snapshot from
// disk, [Parse] from bytes, [List] names the checkpoints of a job, [OperatorIDOf] says which operator a uid is.
// [PlanRewrite] and [Rewrite.Write] make the copy.
//
// Metadata versions 2 (Flink 1.3) to 7 are read. The file has no length prefixes, so every handle of every operator is
// decoded, if only to find its end: a job with any state backend can be read. What is not Kafka's is skipped without
// being loaded. The body is checked to its last byte before the first position is reported.
//
// Offsets are reported as the next offset to read, whatever the source stores. Ends are exclusive.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package flink
