// Package sink has the sinks of package consume that write bytes: [NewWriter] to a stream such as standard output, and
// [NewFiles] to a folder of files that holds every record exactly once.
//
// How a record is written is an [Encoder], made by [ParseFormat] or one of its siblings. Encoders append to a buffer and
// allocate nothing for a record.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package sink
