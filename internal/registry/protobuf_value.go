package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/koffset/koffset/internal/text"
)

// protoWriter writes messages as JSON: names as in the schema, numbers of 64 bits as numbers, since text would make every
// comparison of a jq expression false in silence. A field that has no presence is written with its default.
type protoWriter struct {
	types linker.Resolver // of the compiled files
}

func (w protoWriter) message(dst []byte, m protoreflect.Message, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	if len(dst) > maxJSON {
		return nil, errLarge
	}
	if out, ok, err := w.wellKnown(dst, m, depth); ok || err != nil {
		return out, err
	}
	return w.fields(append(dst, '{'), m, depth)
}

// fields writes the fields of a message behind what is in the open object already, the declared ones in their order, and closes it.
func (w protoWriter) fields(dst []byte, m protoreflect.Message, depth int) ([]byte, error) {
	var err error
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	put := func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		if err != nil {
			return
		}
		comma()
		dst, err = w.field(append(text.AppendJSON(dst, name), ':'), fd, v, depth)
	}
	list := m.Descriptor().Fields()
	for i := range list.Len() {
		if fd := list.Get(i); m.Has(fd) || !fd.HasPresence() {
			put(string(fd.Name()), fd, m.Get(fd))
		}
	}
	var more []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.IsExtension() {
			more = append(more, fd)
		}
		return true
	})
	slices.SortFunc(more, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, fd := range more {
		put("["+string(fd.FullName())+"]", fd, m.Get(fd))
	}
	if err != nil {
		return nil, err
	}
	if rest := m.GetUnknown(); len(rest) > 0 {
		comma()
		dst = appendBase64(append(dst, `"@unknown_base64":`...), rest)
	}
	return append(dst, '}'), nil
}

func (w protoWriter) field(dst []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) ([]byte, error) {
	switch {
	case fd.IsList():
		dst = append(dst, '[')
		var err error
		for i := range v.List().Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = w.single(dst, fd, v.List().Get(i), depth); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case fd.IsMap():
		return w.entries(dst, fd, v.Map(), depth)
	}
	return w.single(dst, fd, v, depth)
}

// entries writes a map by the order of its keys, so that a value is always written the same.
func (w protoWriter) entries(dst []byte, fd protoreflect.FieldDescriptor, m protoreflect.Map, depth int) ([]byte, error) {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool { keys = append(keys, k); return true })
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	dst = append(dst, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = w.single(append(text.AppendJSON(dst, k.String()), ':'), fd.MapValue(), m.Get(k), depth); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (w protoWriter) single(dst []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value, depth int) ([]byte, error) {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return w.message(dst, v.Message(), depth+1)
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool()), nil
	case protoreflect.StringKind:
		if !utf8.ValidString(v.String()) { // proto2 does not forbid it
			return nil, errUTF8
		}
		return text.AppendJSON(dst, v.String()), nil
	case protoreflect.BytesKind:
		return appendBase64(dst, v.Bytes()), nil
	case protoreflect.FloatKind:
		return appendFloat(dst, v.Float(), 32), nil
	case protoreflect.DoubleKind:
		return appendFloat(dst, v.Float(), 64), nil
	case protoreflect.EnumKind:
		if e := fd.Enum().Values().ByNumber(v.Enum()); e != nil {
			return text.AppendJSON(dst, string(e.Name())), nil
		}
		return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	}
	return strconv.AppendInt(dst, v.Int(), 10), nil
}

// wellKnown writes Google's types that have a form of their own in JSON. ok is false for all others, and for a time that cannot
// be written as one, which is written field by field.
func (w protoWriter) wellKnown(dst []byte, m protoreflect.Message, depth int) (_ []byte, ok bool, err error) {
	name, found := strings.CutPrefix(string(m.Descriptor().FullName()), "google.protobuf.")
	if !found || len(m.GetUnknown()) > 0 {
		return dst, false, nil
	}
	switch name {
	case "Any":
		return w.packed(dst, m, depth)
	case "Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue":
		b, err := protojson.Marshal(m.Interface())
		if err != nil {
			return dst, false, nil
		}
		out := bytes.NewBuffer(dst) // protojson puts blanks where it likes
		err = json.Compact(out, b)
		return out.Bytes(), true, err
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
		if fd := m.Descriptor().Fields().ByNumber(1); fd != nil {
			out, err := w.single(dst, fd, m.Get(fd), depth)
			return out, true, err
		}
	}
	return dst, false, nil
}

// packed is the message in an Any, where its type is among the schema's files.
func (w protoWriter) packed(dst []byte, m protoreflect.Message, depth int) ([]byte, bool, error) {
	fields := m.Descriptor().Fields()
	at, in := fields.ByName("type_url"), fields.ByName("value")
	if at == nil || in == nil {
		return dst, false, nil
	}
	url := m.Get(at).String()
	mt, err := w.types.FindMessageByURL(url)
	if err != nil {
		return dst, false, nil
	}
	inner := dynamicpb.NewMessage(mt.Descriptor())
	if err := (proto.UnmarshalOptions{RecursionLimit: maxDepth, Resolver: w.types}).Unmarshal(m.Get(in).Bytes(), inner); err != nil {
		return nil, true, fmt.Errorf("the %s in an Any: %w", url, err)
	}
	dst = text.AppendJSON(append(dst, `{"@type":`...), url)
	if strings.HasPrefix(string(mt.Descriptor().FullName()), "google.protobuf.") {
		dst, err = w.message(append(dst, `,"value":`...), inner, depth+1)
		return append(dst, '}'), true, err
	}
	if depth > maxDepth {
		return nil, true, errDeep
	}
	dst, err = w.fields(dst, inner, depth+1)
	return dst, true, err
}
