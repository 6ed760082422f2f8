package registry

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"time"
)

// appendAvroLong writes a number as what it stands for; one that stands for nothing that can be written stays a number.
func appendAvroLong(dst []byte, n int64, logical string) []byte {
	var t time.Time
	layout := ""
	switch logical {
	case "date":
		if n > -1_000_000 && n < 3_000_000 {
			t, layout = time.Unix(n*86400, 0), time.DateOnly
		}
	case "time-millis":
		if n >= 0 && n < 86_400_000 {
			t, layout = time.UnixMilli(n), "15:04:05.000"
		}
	case "time-micros":
		if n >= 0 && n < 86_400_000_000 {
			t, layout = time.UnixMicro(n), "15:04:05.000000"
		}
	case "timestamp-millis", "local-timestamp-millis":
		t, layout = time.UnixMilli(n), "2006-01-02T15:04:05.000"
	case "timestamp-micros", "local-timestamp-micros":
		t, layout = time.UnixMicro(n), "2006-01-02T15:04:05.000000"
	case "timestamp-nanos", "local-timestamp-nanos":
		t, layout = time.Unix(0, n), "2006-01-02T15:04:05.000000000"
	}
	t = t.UTC()
	if year := t.Year(); layout == "" || year < 0 || year > 9999 {
		return strconv.AppendInt(dst, n, 10)
	}
	dst = t.AppendFormat(append(dst, '"'), layout)
	if logical[0] == 't' && logical[4] == 's' { // timestamp-…
		dst = append(dst, 'Z')
	}
	return append(dst, '"')
}

func appendAvroBytes(dst, b []byte, t *avroType) ([]byte, error) {
	switch {
	case t.logical == "decimal":
		return appendDecimal(dst, b, t.scale), nil
	case t.logical == "uuid" && t.kind == "fixed" && len(b) == 16:
		dst = append(dst, '"')
		for i, n := range []int{4, 2, 2, 2, 6} {
			if i > 0 {
				dst = append(dst, '-')
			}
			dst, b = hex.AppendEncode(dst, b[:n]), b[n:]
		}
		return append(dst, '"'), nil
	case t.logical == "duration" && t.kind == "fixed" && len(b) == 12:
		le := binary.LittleEndian
		return fmt.Appendf(dst, `{"months":%d,"days":%d,"millis":%d}`, le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])), nil
	}
	return appendBase64(dst, b), nil
}

// maxDecimal bounds a decimal in bytes: longer ones take long to write, and are base64.
const maxDecimal = 1024

// appendDecimal writes a number of two's complement with so many digits after the point, all of them.
func appendDecimal(dst, b []byte, scale int) []byte {
	if len(b) == 0 || len(b) > maxDecimal || scale < 0 || scale > maxDecimal {
		return appendBase64(dst, b)
	}
	n := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n.Neg(n)
	}
	digits := n.String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), digits[len(digits)-scale:]...)
	}
	return dst
}
