// Package checkpointfile reads and writes every file that koffset leaves behind: reset plans, the undo journal, the audit
// log, the checkpoints of the consuming engine, and the CSV of Kafka's own reset tool.
//
// Files of koffset's own are JSON in one [Header], the envelope: what kind of file it is, the version of its contents,
// when, by which koffset and for which cluster it was written, and a digest of what it holds. A file of another kind or of
// a newer version is refused by name, and so is one that was changed after it was written: a plan that was reviewed is the
// plan that is applied.
//
// Whole files appear at once or not at all: they are written beside their place, synced, renamed, and the folder is
// synced, so that a crash leaves the old file or the new one. Their mode is 0600, since commit metadata is the
// application's own data.
//
// The package knows nothing about a cluster. Offsets in its types are never Kafka's negative markers: what is absent is nil.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package checkpointfile
