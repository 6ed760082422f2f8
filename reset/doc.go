// Package reset moves the committed offsets of groups: it makes a plan of what was asked for, checks it against the
// cluster, executes exactly it, proves that it holds, and can revert it.
//
// A [Plan] is a value. [Gather] reads the facts, [Build] turns a request and facts into a plan without any I/O, and
// [Apply] reads the facts again, holds the plan to them with [Check], puts the before-image on disk, commits, and reads
// back what is stored now. [Inverse] makes the plan that reverts an operation of the journal. delete, undo, repair and
// imports from elsewhere only make other plans; there is one path that writes.
//
// Nothing here joins a group: commits are the administrator's (generation -1, no member id), which a broker accepts only
// while a group has no members. No offset below 0 is ever sent.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package reset
