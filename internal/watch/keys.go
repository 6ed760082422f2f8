package watch

import (
	"unicode"
	"unicode/utf8"
)

// Key is one key: a character, or one of the constants.
type Key rune

// Keys that are no characters. They lie outside of Unicode.
const (
	KeyUp Key = unicode.MaxRune + 1 + iota
	KeyDown
	KeyPageUp
	KeyPageDown
	KeyHome
	KeyEnd
	KeyEnter
	KeyEscape
	KeyBackspace
	KeyCtrlC
	KeyCtrlZ
	KeyCtrlL
	keyUnknown
)

// ParseKeys reads what a terminal sent. rest is the beginning of an escape sequence whose end has not come yet. An escape
// alone is the Escape key: terminals send sequences in one piece.
func ParseKeys(b []byte) (keys []Key, rest []byte) {
	for len(b) > 0 {
		switch c := b[0]; {
		case c == 0x1b && len(b) == 1:
			return append(keys, KeyEscape), nil
		case c == 0x1b && (b[1] == '[' || b[1] == 'O'):
			k, n := parseSequence(b)
			if n == 0 {
				return keys, b
			}
			keys, b = append(keys, k), b[n:]
		case c == 0x1b:
			keys, b = append(keys, KeyEscape), b[1:]
		case c == '\r' || c == '\n':
			keys, b = append(keys, KeyEnter), b[1:]
		case c == 0x7f || c == 0x08:
			keys, b = append(keys, KeyBackspace), b[1:]
		case c == 0x03:
			keys, b = append(keys, KeyCtrlC), b[1:]
		case c == 0x1a:
			keys, b = append(keys, KeyCtrlZ), b[1:]
		case c == 0x0c:
			keys, b = append(keys, KeyCtrlL), b[1:]
		default:
			if !utf8.FullRune(b) {
				return keys, b
			}
			r, n := utf8.DecodeRune(b)
			if unicode.IsPrint(r) && r != utf8.RuneError {
				keys = append(keys, Key(r))
			}
			b = b[n:]
		}
	}
	return keys, nil
}

// parseSequence reads ESC [ … letter, or ESC O letter. n is 0 where the end is missing.
func parseSequence(b []byte) (k Key, n int) {
	for i := 2; i < len(b); i++ {
		c := b[i]
		if c < '@' || c > '~' {
			continue
		}
		switch {
		case c == 'A':
			k = KeyUp
		case c == 'B':
			k = KeyDown
		case c == 'H':
			k = KeyHome
		case c == 'F':
			k = KeyEnd
		case c == '~' && b[2] == '5':
			k = KeyPageUp
		case c == '~' && b[2] == '6':
			k = KeyPageDown
		case c == '~' && (b[2] == '1' || b[2] == '7'):
			k = KeyHome
		case c == '~' && (b[2] == '4' || b[2] == '8'):
			k = KeyEnd
		default:
			k = keyUnknown
		}
		return k, i + 1
	}
	return 0, 0
}

// Key takes one key.
func (m Model) Key(k Key) Model {
	switch k {
	case KeyCtrlC:
		m.quit = Interrupt
		return m
	case KeyCtrlZ:
		m.quit = Suspend
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
		m.quit = Leave
	case '?', 'h':
		m.help = true
	case KeyEnter:
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
	case KeyEscape:
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
func (m Model) moves(k Key) int {
	switch k {
	case KeyUp, 'k':
		return -1
	case KeyDown, 'j':
		return 1
	case KeyPageUp, 'b':
		return -m.page()
	case KeyPageDown, ' ':
		return m.page()
	case KeyHome, 'g':
		return -len(m.rows)
	case KeyEnd, 'G':
		return len(m.rows)
	}
	return 0
}

// typeFilter takes a key while the filter is typed; the rows follow as it is typed.
func (m Model) typeFilter(k Key) Model {
	switch k {
	case KeyEnter:
		m.typing = false
		return m
	case KeyEscape:
		m.typing, m.Filter = false, m.beforeTyping
	case KeyBackspace:
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
