package registry

import "encoding/binary"

// frameSize is what Confluent's serializers write before a value.
const frameSize = 5

// Looks says whether bytes may be Confluent's wire format, and of which schema. Whether they are is the registry's to say: a
// number of eight bytes can look the same.
func Looks(b []byte) (id int32, rest []byte, ok bool) {
	if len(b) < frameSize || b[0] != 0 {
		return 0, nil, false
	}
	// Registries count from 1.
	if id = int32(binary.BigEndian.Uint32(b[1:frameSize])); id <= 0 {
		return 0, nil, false
	}
	return id, b[frameSize:], true
}
