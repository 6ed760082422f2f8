// Package offset is koffset's vocabulary: what a position means on a partition. It does no I/O.
//
// What is asked (a [Position]) and what is known about one partition ([Facts]) go into [Resolve]; out comes a [Target]
// with the [Reason] for it, or a [Refusal]. Every command that turns a word such as "earliest", "@-2h" or "5000" into a
// number goes through Resolve, so that a word has one meaning in the whole program.
//
// Words used throughout:
//
//   - log start: the first offset that can still be read.
//   - log end: the high watermark, or the last stable offset under read_committed. Ends are exclusive.
//   - committed: a group's commit, the next offset it would read.
//   - position: where a reader is, its next record.
//
// Kafka's negative markers (-1, -2, …) never appear in these types: what is absent is nil, or a zero value that means
// unknown.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package offset
