// Package inspect reads a cluster: groups of every kind, what they committed, where the logs begin and end, and which
// offset a time means. It computes lag and status itself, from raw numbers.
//
// It speaks Kafka's protocol through kmsg and not through kadm's convenience calls, for reasons that were measured:
// kadm.Lag shows a commit past the end of the log as lag 0 and leaves out every group that is not classic; one topic that
// may not be described makes a whole kadm call fail; and a missing record at a time comes back as the log end.
//
// Every function that talks to a cluster returns what it could read, and an error per group or partition for what it
// could not. A call error means that nothing was read. Errors are the broker's *kerr.Error where it answered.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package inspect
