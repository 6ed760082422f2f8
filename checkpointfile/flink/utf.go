package flink

import (
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// Java's modified UTF-8: NUL is C0 80, and characters above U+FFFF are two surrogates of three bytes each.

var errUTF = errors.New("a string is not Java's modified UTF-8")

func decodeUTF(b []byte) (string, error) {
	ascii := true
	for _, x := range b {
		if x == 0 || x >= 0x80 {
			ascii = false
			break
		}
	}
	if ascii {
		return string(b), nil
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		u, n := utfUnit(b[i:])
		if n == 0 {
			return "", errUTF
		}
		i += n
		r := rune(u)
		if utf16.IsSurrogate(r) {
			v, m := utfUnit(b[i:])
			r = utf16.DecodeRune(r, rune(v))
			if r != utf8.RuneError {
				i += m
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

// utfUnit decodes one UTF-16 unit and says how many bytes it took, 0 where there is none.
func utfUnit(b []byte) (uint16, int) {
	switch {
	case len(b) >= 1 && b[0] < 0x80:
		return uint16(b[0]), 1
	case len(b) >= 2 && b[0]&0xE0 == 0xC0 && b[1]&0xC0 == 0x80:
		return uint16(b[0]&0x1F)<<6 | uint16(b[1]&0x3F), 2
	case len(b) >= 3 && b[0]&0xF0 == 0xE0 && b[1]&0xC0 == 0x80 && b[2]&0xC0 == 0x80:
		return uint16(b[0]&0x0F)<<12 | uint16(b[1]&0x3F)<<6 | uint16(b[2]&0x3F), 3
	}
	return 0, 0
}

// appendUTF writes s as a Java UTF, for handles that a rewrite replaces. Its strings are paths and names far below the
// 65,535 bytes that fit.
func appendUTF(dst []byte, s string) []byte {
	at := len(dst)
	dst = append(dst, 0, 0)
	for _, u := range utf16.Encode([]rune(s)) {
		switch {
		case u != 0 && u < 0x80:
			dst = append(dst, byte(u))
		case u < 0x800:
			dst = append(dst, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
		default:
			dst = append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
		}
	}
	n := len(dst) - at - 2
	dst[at], dst[at+1] = byte(n>>8), byte(n)
	return dst
}
