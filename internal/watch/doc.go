// Package watch is the live view of `koffset watch`.
//
// A Frame is what one look saw. The Model is the state of the view: a frame or a key goes in, the next state comes out
// (model.go, keys.go), and the screen's lines come out of a state and a size (view.go). All of that is pure; only
// terminal.go touches a terminal, and restores it on every way out.
package watch
