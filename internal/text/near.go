package text

// Near names, for messages about names that do not exist.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"
)

// Near returns up to three of the known names that look like a mistyped one, the nearest first. Letter case does not count,
// a swap of two neighbours is one mistake, and a name that holds the typed one (billing of billing-eu) is near.
func Near(name string, known []string) []string {
	type near struct {
		name string
		d    int
	}
	limit := max(2, len(name)/3)
	low := strings.ToLower(name)
	var found []near
	for _, k := range known {
		if k == name {
			continue
		}
		d := distance(low, strings.ToLower(k), limit)
		if d > limit && len(name) >= 3 && strings.Contains(strings.ToLower(k), low) {
			d = limit
		}
		if d <= limit {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.d, b.d), strings.Compare(a.name, b.name)) })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// Nearest returns the one word of a fixed vocabulary that a typing mistake would most likely have made into name, or that name
// abbreviates; "" where none is near enough to be worth naming: a wrong suggestion costs more than none.
func Nearest(name string, vocabulary []string) string {
	best, bestDist := "", -1
	limit := max(1, len(name)/3)
	for _, c := range vocabulary {
		d := distance(name, c, limit)
		if d <= limit && (bestDist < 0 || d < bestDist || d == bestDist && c < best) {
			best, bestDist = c, d
		}
	}
	if best != "" || len(name) < 2 {
		return best
	}
	for _, c := range vocabulary {
		if strings.HasPrefix(c, name) {
			if best != "" {
				return "" // the beginning of two names abbreviates neither
			}
			best = c
		}
	}
	return best
}

// distance counts letters inserted, deleted, replaced, or swapped with their neighbour. Names whose lengths alone differ by more
// than the limit are not compared, so that thousands of them cost little.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	return edlib.OSADamerauLevenshteinDistance(a, b)
}
