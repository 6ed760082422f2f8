// Package migrate carries a group's offsets to another cluster, where the same records have other offsets.
//
// An [Export] holds where groups stand, with a [Fingerprint] of the records around each position: time, key and value.
// [Translate], which is pure, says which offset that is on another cluster, by the strategies in the order of preference;
// what it needs to know about the other cluster is [Evidence], which [Gather] reads. The result of each row is exact,
// at most N records again, unproven, or unresolved, with the proof in words. Nothing is written here: the rows become a
// plan, which package reset applies like any other.
//
// The one rule above all: a translated position never skips an unread record, unless the user allowed unproven strategies.
// It rests on what every mirror that copies a partition into a partition does: it keeps the order of the records. And on
// knowing which records look alike, which the export searches for; not known is never taken for none.
//
// [Verify] compares positions on both clusters by fingerprint. [Syncer] does all that again and again, and knows its own commits
// from those of others. [Split] cuts a topic into ranges of offsets for parallel
// replay.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package migrate
