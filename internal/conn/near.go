package conn

import "github.com/koffset/koffset/internal/text"

// hintNear makes "did you mean X?" of the nearest key or value, or "".
func hintNear(name string, candidates []string) string {
	if n := text.Nearest(name, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
