// Text of an exact width, for a view that lays out a whole screen.
package render

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fit returns s padded with blanks, or cut with an ellipsis, to exactly width columns of a terminal. right puts the blanks
// before. The text must be safe to print already: see Escape.
func Fit(s string, width int, right bool) string { return fit(s, width, right, "…") }

// FitASCII is Fit for a terminal that shows nothing but ASCII: see [ASCII].
func FitASCII(s string, width int, right bool) string { return fit(ASCII(s), width, right, "~") }

// Width is how many columns of a terminal s takes.
func Width(s string) int { return displayWidth([]byte(s)) }

func fit(s string, width int, right bool, ellipsis string) string {
	if width <= 0 {
		return ""
	}
	w := displayWidth([]byte(s))
	if w > width {
		s, w = cut(s, width, ellipsis)
	}
	blanks := strings.Repeat(" ", width-w)
	if right {
		return blanks + s
	}
	return s + blanks
}

// ASCII returns s with an ellipsis as three dots, and with the escapes of [Escape] for all else that is not ASCII: a terminal
// whose locale is not UTF-8 shows each byte of such a character as something of its own.
func ASCII(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s[:i])
	for _, r := range s[i:] {
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r == '…':
			b = append(b, "..."...)
		case r <= 0xffff:
			b = appendU(b, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(b)
}

// cut shortens s to at most width columns, the last of them an ellipsis.
func cut(s string, width int, ellipsis string) (string, int) {
	w := 0
	for i, r := range s {
		rw := displayWidth([]byte(string(r)))
		if w+rw > width-1 {
			return s[:i] + ellipsis, w + 1
		}
		w += rw
	}
	return s, w
}

// Paint wraps text in the escape codes of a style; Plain adds none.
func Paint(st Style, s string) string { return string(appendStyled(nil, st, []byte(s))) }
