package registry

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// mainProto names the schema itself among the files that it imports.
const mainProto = "\u00abschema\u00bb.proto"

// compileProtobuf compiles a schema with what it imports. Google's well-known types and Confluent's own files are there without
// a reference, as in Confluent's registry.
func compileProtobuf(ctx context.Context, t source) (func(dst, b []byte) ([]byte, error), error) {
	files := confluentFiles()
	wanted := []string{mainProto} // and the others, whose types may be in an Any
	for _, r := range t.refs {
		files[r.name] = r.schema
		wanted = append(wanted, r.name)
	}
	files[mainProto] = t.Schema.Schema
	compiler := protocompile.Compiler{MaxParallelism: 1,
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(files)})}
	done, err := compiler.Compile(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	w := protoWriter{types: done.AsResolver()}
	unmarshal := proto.UnmarshalOptions{RecursionLimit: maxDepth, Resolver: w.types}
	return func(dst, b []byte) ([]byte, error) {
		md, b, err := messageOf(done[0], b)
		if err != nil {
			return nil, err
		}
		m := dynamicpb.NewMessage(md)
		if err := unmarshal.Unmarshal(b, m); err != nil {
			return nil, err
		}
		return w.message(dst, m, 0)
	}, nil
}

// messageOf reads which message of the file a value is: the path of indexes that Confluent writes before it. A single 0 is the
// first message.
func messageOf(file protoreflect.FileDescriptor, b []byte) (protoreflect.MessageDescriptor, []byte, error) {
	next := func() (int64, error) {
		n, size := binary.Varint(b)
		if size <= 0 {
			return 0, fmt.Errorf("it has no message indexes")
		}
		b = b[size:]
		return n, nil
	}
	count, err := next()
	if err != nil {
		return nil, nil, err
	}
	if count < 0 || count > maxDepth {
		return nil, nil, fmt.Errorf("it has %d message indexes", count)
	}
	in := file.Messages()
	var md protoreflect.MessageDescriptor
	for step := range max(count, 1) {
		n := int64(0)
		if count > 0 {
			if n, err = next(); err != nil {
				return nil, nil, err
			}
		}
		if n < 0 || n >= int64(in.Len()) {
			return nil, nil, fmt.Errorf("its schema has no message with index %d in step %d", n, step+1)
		}
		md = in.Get(int(n))
		in = md.Messages()
	}
	return md, b, nil
}

// confluentFiles are those that Confluent's registry lets schemas import without a reference.
func confluentFiles() map[string]string {
	return map[string]string{
		"confluent/meta.proto": `syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
`,
		"confluent/type/decimal.proto": `syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
`,
	}
}
