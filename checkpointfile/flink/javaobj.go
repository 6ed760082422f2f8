package flink

import (
	"fmt"
	"strings"
)

// The checkpoint's properties, at the end of _metadata from version 4 on, are one Java-serialized object. It is walked
// token by token, not searched: only so a file that was cut inside it is told from a whole one.

// properties is what the object says.
type properties struct {
	isSavepoint, isCheckpoint bool
	canonical, native         bool
	name                      string // Flink's words: "Checkpoint", "Full Checkpoint", "Suspend Savepoint", …
}

const (
	tcNull        = 0x70
	tcReference   = 0x71
	tcClassDesc   = 0x72
	tcObject      = 0x73
	tcString      = 0x74
	tcArray       = 0x75
	tcBlock       = 0x77
	tcEnd         = 0x78
	tcBlockLong   = 0x7A
	tcLongString  = 0x7C
	tcEnum        = 0x7E
	javaWire      = 0x7E0000
	javaWriteMeth = 0x01
)

// javaClass is a class descriptor: its fields in the order in which an object stores them, and its parent.
type javaClass struct {
	name   string
	flags  byte
	fields []javaField
	parent *javaClass
}

type javaField struct {
	kind byte
	name string
}

type javaWalk struct {
	c       *cursor
	handles []any // *javaClass, string, or nil for what is never looked at again
	props   properties
	bad     error // well formed Java that this does not read: not a damage
}

// readProperties walks the object. A cut file sticks in the cursor; an object of another shape is the error returned,
// since the positions do not depend on it.
func readProperties(c *cursor) (properties, error) {
	w := &javaWalk{c: c}
	pos := c.pos()
	if magic := uint32(c.i32()); c.err == nil && magic != 0xACED0005 {
		c.fail(at(pos, fmt.Errorf("not a Java object: it starts with %08x", magic)))
		return properties{}, nil
	}
	w.content(0)
	return w.props, w.bad
}

func (w *javaWalk) stop() bool { return w.c.err != nil || w.bad != nil }

func (w *javaWalk) odd(pos int64, format string, args ...any) {
	if w.bad == nil && w.c.err == nil {
		w.bad = at(pos, fmt.Errorf(format, args...))
	}
}

func (w *javaWalk) remember(v any) int {
	if len(w.handles) == 10_000 { // real ones have about twenty
		w.odd(w.c.pos(), "more than %d objects in the checkpoint's properties", len(w.handles))
		return 0
	}
	w.handles = append(w.handles, v)
	return len(w.handles) - 1
}

func (w *javaWalk) reference() any {
	pos := w.c.pos()
	i := int(w.c.i32()) - javaWire
	if i < 0 || i >= len(w.handles) {
		w.odd(pos, "a reference to object %d of %d", i, len(w.handles))
		return nil
	}
	return w.handles[i]
}

// content reads one object, string, enum or null and returns it where it is a string.
func (w *javaWalk) content(depth int) any {
	if w.stop() {
		return nil
	}
	pos := w.c.pos()
	if depth > maxDepth {
		w.odd(pos, "objects are nested too deep")
		return nil
	}
	switch tag := w.c.u8(); tag {
	case tcNull:
		return nil
	case tcReference:
		return w.reference()
	case tcString:
		s := w.c.utf()
		w.remember(s)
		return s
	case tcLongString:
		w.remember(nil)
		w.c.skip(w.c.i64())
	case tcEnum:
		cl := w.class(depth)
		at0 := w.remember(nil)
		s, _ := w.content(depth + 1).(string)
		w.handles[at0] = s
		if cl != nil && strings.HasSuffix(cl.name, ".SavepointFormatType") {
			w.props.canonical, w.props.native = s == "CANONICAL", s == "NATIVE"
		}
		return s
	case tcObject:
		cl := w.class(depth)
		w.remember(nil)
		w.object(cl, depth)
	case tcArray:
		w.odd(pos, "an array in the checkpoint's properties")
	default:
		if w.c.err == nil {
			w.odd(pos, "Java token %#x in the checkpoint's properties", tag)
		}
	}
	return nil
}

// class reads a class descriptor, or a reference to one.
func (w *javaWalk) class(depth int) *javaClass {
	if w.stop() {
		return nil
	}
	pos := w.c.pos()
	if depth > maxDepth {
		w.odd(pos, "classes are nested too deep")
		return nil
	}
	switch tag := w.c.u8(); tag {
	case tcNull:
		return nil
	case tcReference:
		cl, ok := w.reference().(*javaClass)
		if !ok {
			w.odd(pos, "a reference that is not a class")
		}
		return cl
	case tcClassDesc:
	default:
		if w.c.err == nil {
			w.odd(pos, "Java token %#x where a class belongs", tag)
		}
		return nil
	}
	cl := &javaClass{name: w.c.utf()}
	w.c.i64() // serialVersionUID
	w.remember(cl)
	cl.flags = w.c.u8()
	for n := w.c.u16(); n > 0 && !w.stop(); n-- {
		f := javaField{kind: w.c.u8(), name: w.c.utf()}
		if f.kind == 'L' || f.kind == '[' {
			w.content(depth + 1)
		}
		cl.fields = append(cl.fields, f)
	}
	w.annotations(depth)
	cl.parent = w.class(depth + 1)
	switch {
	case strings.HasSuffix(cl.name, ".runtime.checkpoint.CheckpointType"):
		w.props.isCheckpoint = true
	case strings.HasSuffix(cl.name, ".runtime.checkpoint.SavepointType"):
		w.props.isSavepoint = true
	}
	return cl
}

// annotations skips what a class or a writeObject method adds, up to its end mark.
func (w *javaWalk) annotations(depth int) {
	for !w.stop() {
		b, err := w.c.peek(1)
		if err != nil || len(b) == 0 {
			w.c.u8() // records the truncation
			return
		}
		switch b[0] {
		case tcEnd:
			w.c.u8()
			return
		case tcBlock:
			w.c.u8()
			w.c.skip(int64(w.c.u8()))
		case tcBlockLong:
			w.c.u8()
			w.c.skip(int64(w.c.i32()))
		default:
			w.content(depth + 1)
		}
	}
}

// object reads the fields of an object, those of its parents first.
func (w *javaWalk) object(cl *javaClass, depth int) {
	if cl == nil || w.stop() {
		return
	}
	if depth > maxDepth {
		w.odd(w.c.pos(), "objects are nested too deep")
		return
	}
	w.object(cl.parent, depth+1)
	for _, f := range cl.fields {
		switch f.kind {
		case 'B', 'Z':
			w.c.u8()
		case 'C', 'S':
			w.c.u16()
		case 'I', 'F':
			w.c.i32()
		case 'J', 'D':
			w.c.i64()
		case 'L', '[':
			v := w.content(depth + 1)
			// The snapshot type's name says what the user asked for, in Flink's words.
			if s, ok := v.(string); ok && f.name == "name" {
				w.props.name = s
			}
		default:
			w.odd(w.c.pos(), "field kind %#x in the checkpoint's properties", f.kind)
		}
		if w.stop() {
			return
		}
	}
	if cl.flags&javaWriteMeth != 0 {
		w.annotations(depth)
	}
}
