package offset

// How names are written down. A name is bytes: one with a blank at its end is another name, and the empty one is a name, too.

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// QuoteName writes a name so that its reader sees all of it, and UnquoteName reads it back: as it is, or in double quotes
// with Go's escapes where it is empty, a lone -, begins or ends with a blank, begins with a quote or #, or holds something
// that cannot be seen. Every list of names, on screen and in files, uses this form.
func QuoteName(s string) string {
	if s == "" || s == "-" || strings.TrimSpace(s) != s || strings.ContainsAny(s[:1], `"#`) || !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// NameText is a name in a sentence or in a list that commas part: QuoteName's form, and in quotes also where a blank or a comma in
// it would make it look like several words or names.
func NameText(s string) string {
	if q := QuoteName(s); q != s || !strings.ContainsAny(s, " ,;:") {
		return q
	}
	return strconv.Quote(s)
}

// NameTexts is NameText of each name.
func NameTexts(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = NameText(n)
	}
	return out
}

// UnquoteName reads a name that QuoteName wrote: a text that does not begin with a double quote is the name itself, byte
// for byte. The error is a *SyntaxError.
func UnquoteName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	name, err := strconv.Unquote(s)
	if err != nil {
		return "", syntaxf(s, `write a name that begins with a quote as "\"name"`, "%s is not a quoted name", s)
	}
	return name, nil
}

// ReadNames reads a list of names, one a line, as QuoteName writes them. A line that is empty is none, and neither is one
// that begins with #; blanks belong to the name. The error is a *SyntaxError with the line.
func ReadNames(data string) ([]string, error) {
	var out []string
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(data, "\ufeff")) {
		n++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, err := UnquoteName(line)
		if err != nil {
			return nil, &SyntaxError{Input: line, Problem: fmt.Sprintf("line %d: %v", n, err), Hint: `write a name that begins with a quote as "\"name"`}
		}
		out = append(out, name)
	}
	return out, nil
}
