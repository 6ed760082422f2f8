package conn

// Nearest names, for messages about names that do not exist.

import "strings"

// nearest returns the candidate that a typing mistake would most likely have
// made into name, or "" when none is near enough to be worth naming: a wrong
// suggestion costs more than none.
func nearest(name string, candidates []string) string {
	best, bestDist := "", -1
	limit := max(1, len(name)/3)
	for _, c := range candidates {
		d := distance(name, c)
		if d <= limit && (bestDist < 0 || d < bestDist || d == bestDist && c < best) {
			best, bestDist = c, d
		}
	}
	if best != "" || len(name) < 2 {
		return best
	}
	// A beginning of just one name is an abbreviation.
	for _, c := range candidates {
		if strings.HasPrefix(c, name) {
			if best != "" {
				return ""
			}
			best = c
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace, or swap with their
// neighbour; a swap is one mistake, since it is the commonest one.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	prev2 := make([]int, len(y)+1)
	prev := make([]int, len(y)+1)
	cur := make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}

// hintNear makes "did you mean X?" from nearest, or "".
func hintNear(name string, candidates []string) string {
	if n := nearest(name, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
