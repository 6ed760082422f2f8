package kafkatest

// Reading the tables of Kafka's tools.

import "strings"

// Table reads the first table in text: a line of two or more upper-case column names, then a line a row, up to the first line that has
// another number of words. It returns one map a row, from column name to cell. A name of two words, as in "COORDINATOR (ID)",
// is joined, and so is its cell.
func Table(text string) []map[string]string {
	var header []string
	var rows []map[string]string
	for line := range strings.Lines(text) {
		words := joinBrackets(strings.Fields(line))
		if header == nil {
			if isHeader(words) {
				header = words
			}
			continue
		}
		if len(words) != len(header) {
			break
		}
		row := make(map[string]string)
		for i, name := range header {
			row[name] = words[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func joinBrackets(words []string) []string {
	var out []string
	for _, w := range words {
		if len(out) > 0 && strings.HasPrefix(w, "(") && strings.HasSuffix(w, ")") {
			out[len(out)-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

func isHeader(words []string) bool {
	for _, w := range words {
		if strings.ToUpper(w) != w || strings.ToLower(w) == w || strings.HasSuffix(w, ":") {
			return false
		}
	}
	return len(words) >= 2
}
