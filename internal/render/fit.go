// Text of an exact width, for a view that lays out a whole screen.
package render

import "strings"

// Fit returns s padded with blanks, or cut with an ellipsis, to exactly width columns of a terminal. right puts the blanks
// before. The text must be safe to print already: see Escape.
func Fit(s string, width int, right bool) string {
	if width <= 0 {
		return ""
	}
	w := displayWidth([]byte(s))
	if w > width {
		s, w = cut(s, width)
	}
	blanks := strings.Repeat(" ", width-w)
	if right {
		return blanks + s
	}
	return s + blanks
}

// cut shortens s to at most width columns, the last of them an ellipsis.
func cut(s string, width int) (string, int) {
	w := 0
	for i, r := range s {
		rw := displayWidth([]byte(string(r)))
		if w+rw > width-1 {
			return s[:i] + "…", w + 1
		}
		w += rw
	}
	return s, w
}

// Paint wraps text in the escape codes of a style; Plain adds none.
func Paint(st Style, s string) string { return string(appendStyled(nil, st, []byte(s))) }
