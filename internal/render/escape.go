// What makes text from a cluster safe to print. Group ids, client ids, commit
// metadata and record keys are chosen by others: written raw, an ESC can rewrite
// the screen, a newline can forge a row, and a bidi override can make one name
// look like another.

package render

import (
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Escape returns s with everything that does not print replaced by Go's escapes:
// \n, \t, \x1b, \u202e, \xff for a byte that is no UTF-8. That is control
// characters (C0, DEL, C1), bidi and other format characters, line separators,
// blanks other than the space, and code points nobody has assigned. A space at
// either end becomes \x20, since it would be lost among padding. A backslash is
// doubled, so that two different strings never look the same and the original
// can be had back with strconv.Unquote.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	return string(appendEscaped(make([]byte, 0, len(s)+16), s))
}

// Clean is Escape for whole sentences: backslashes and blanks at the ends are
// left alone, only what could disturb a terminal is replaced.
func Clean(s string) string {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= 0x7f {
			return string(appendClean(nil, s))
		}
	}
	return s
}

// plain reports whether s is printable ASCII that needs no escape: nearly every
// name there is, so the loop is kept this simple.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= 0x7f || b == '\\' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}

func appendEscaped(dst []byte, s string) []byte {
	if plain(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		switch b := s[i]; {
		case b == '\\':
			dst = append(dst, '\\', '\\')
			i++
		case b == ' ' && (i == 0 || i == len(s)-1):
			dst = append(dst, `\x20`...)
			i++
		default:
			var size int
			dst, size = appendRune(dst, s[i:])
			i += size
		}
	}
	return dst
}

func appendClean(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		var size int
		dst, size = appendRune(dst, s[i:])
		i += size
	}
	return dst
}

// appendRune appends the first character of s, escaped if it does not print,
// and says how many bytes it took.
func appendRune(dst []byte, s string) ([]byte, int) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1:
		return append(dst, '\\', 'x', hexDigits[s[0]>>4], hexDigits[s[0]&15]), 1
	case unicode.IsPrint(r):
		return append(dst, s[:size]...), size
	case r == '\n':
		return append(dst, '\\', 'n'), 1
	case r == '\r':
		return append(dst, '\\', 'r'), 1
	case r == '\t':
		return append(dst, '\\', 't'), 1
	case r < utf8.RuneSelf:
		return append(dst, '\\', 'x', hexDigits[r>>4], hexDigits[r&15]), 1
	case r <= 0xffff:
		return appendU(dst, r), size
	default:
		dst = append(dst, '\\', 'U', '0', '0')
		for shift := 20; shift >= 0; shift -= 4 {
			dst = append(dst, hexDigits[r>>shift&15])
		}
		return dst, size
	}
}

// appendU appends \uXXXX, which Go and JSON share.
func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
