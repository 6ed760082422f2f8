package watch

import (
	"unicode"
	"unicode/utf8"
)

// keystroke is one key: a character, or one of the constants.
type keystroke rune

// Keys that are no characters. They lie outside of Unicode.
const (
	keyUp keystroke = unicode.MaxRune + 1 + iota
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyEnter
	keyEscape
	keyBackspace
	keyCtrlC
	keyCtrlZ
	keyCtrlL
	keyUnknown
)

// parseKeys reads what a terminal sent. rest is the beginning of an escape sequence whose end has not come yet. An escape
// alone is the Escape key: terminals send sequences in one piece.
func parseKeys(b []byte) (keys []keystroke, rest []byte) {
	for len(b) > 0 {
		switch c := b[0]; {
		case c == 0x1b && len(b) == 1:
			return append(keys, keyEscape), nil
		case c == 0x1b && (b[1] == '[' || b[1] == 'O'):
			k, n := parseSequence(b)
			if n == 0 {
				return keys, b
			}
			keys, b = append(keys, k), b[n:]
		case c == 0x1b:
			keys, b = append(keys, keyEscape), b[1:]
		case c == '\r' || c == '\n':
			keys, b = append(keys, keyEnter), b[1:]
		case c == 0x7f || c == 0x08:
			keys, b = append(keys, keyBackspace), b[1:]
		case c == 0x03:
			keys, b = append(keys, keyCtrlC), b[1:]
		case c == 0x1a:
			keys, b = append(keys, keyCtrlZ), b[1:]
		case c == 0x0c:
			keys, b = append(keys, keyCtrlL), b[1:]
		default:
			if !utf8.FullRune(b) {
				return keys, b
			}
			r, n := utf8.DecodeRune(b)
			if unicode.IsPrint(r) && r != utf8.RuneError {
				keys = append(keys, keystroke(r))
			}
			b = b[n:]
		}
	}
	return keys, nil
}

// parseSequence reads ESC [ … letter, or ESC O letter. n is 0 where the end is missing.
func parseSequence(b []byte) (k keystroke, n int) {
	for i := 2; i < len(b); i++ {
		c := b[i]
		if c < '@' || c > '~' {
			continue
		}
		switch {
		case c == 'A':
			k = keyUp
		case c == 'B':
			k = keyDown
		case c == 'H':
			k = keyHome
		case c == 'F':
			k = keyEnd
		case c == '~' && b[2] == '5':
			k = keyPageUp
		case c == '~' && b[2] == '6':
			k = keyPageDown
		case c == '~' && (b[2] == '1' || b[2] == '7'):
			k = keyHome
		case c == '~' && (b[2] == '4' || b[2] == '8'):
			k = keyEnd
		default:
			k = keyUnknown
		}
		return k, i + 1
	}
	return 0, 0
}

// press takes one key.
func (m Model) press(k keystroke) Model {
	switch k {
	case keyCtrlC:
		m.quit = interrupt
		return m
	case keyCtrlZ:
		m.quit = suspend
		return m
	}
	if m.typing {
		return m.typeFilter(k)
	}
	if m.help {
		m.help = false
		return m
	}
	if by := m.moves(k); by != 0 {
		return m.move(by)
	}
	switch k {
	case 'q':
		m.quit = leave
	case '?', 'h':
		m.help = true
	case keyEnter:
		return m.toggle()
	case 'a':
		m.allOpen, m.open = !m.allOpen, nil
		return m.arrange()
	case 's':
		m.Sort = (m.Sort + 1) % sortCount
		return m.arrange()
	case 'S':
		m.Sort = (m.Sort + sortCount - 1) % sortCount
		return m.arrange()
	case 'r':
		m.Reverse = !m.Reverse
		return m.arrange()
	case '!':
		m.AlarmsOnly = !m.AlarmsOnly
		return m.arrange()
	case '/':
		m.typing, m.beforeTyping = true, m.Filter
	case keyEscape:
		m.Filter = ""
		return m.arrange()
	case 'p':
		m.Paused = !m.Paused
		if !m.Paused && m.waiting != nil {
			m.frame, m.waiting = m.waiting, nil
			return m.arrange()
		}
	}
	return m
}

// moves is by how many rows a key moves, 0 for one that does not.
func (m Model) moves(k keystroke) int {
	switch k {
	case keyUp, 'k':
		return -1
	case keyDown, 'j':
		return 1
	case keyPageUp, 'b':
		return -m.page()
	case keyPageDown, ' ':
		return m.page()
	case keyHome, 'g':
		return -len(m.rows)
	case keyEnd, 'G':
		return len(m.rows)
	}
	return 0
}

// typeFilter takes a key while the filter is typed; the rows follow as it is typed.
func (m Model) typeFilter(k keystroke) Model {
	switch k {
	case keyEnter:
		m.typing = false
		return m
	case keyEscape:
		m.typing, m.Filter = false, m.beforeTyping
	case keyBackspace:
		if m.Filter == "" {
			m.typing = false
			return m
		}
		_, n := utf8.DecodeLastRuneInString(m.Filter)
		m.Filter = m.Filter[:len(m.Filter)-n]
	default:
		if k > unicode.MaxRune {
			return m
		}
		m.Filter += string(rune(k))
	}
	return m.arrange()
}
