package main

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What docs/troubleshooting.md quotes in its first two tables is what people search for: each quote must be a text of the code.
func TestTroubleshootingQuotesTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]string
	for _, s := range sources(t) {
		if s.forTests() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					texts = append(texts, strings.Fields(text))
				}
			}
			return true
		})
	}
	quotes := 0
	for _, m := range regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\|").FindAllStringSubmatch(head(string(page), "### How long"), -1) {
		for _, q := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			for part := range strings.SplitSeq(strings.Trim(strings.TrimPrefix(q[1], "warning: "), "… "), ": …: ") {
				quotes++
				words := strings.Fields(part)
				if strings.ToUpper(part) != part && !slices.ContainsFunc(texts, func(text []string) bool { return quotedFrom(words, text) }) {
					t.Errorf("no text in the code says %q", part)
				}
			}
		}
	}
	if quotes < 25 {
		t.Errorf("only %d quotes were found", quotes)
	}
	// The comparison itself: what is not said must not be found.
	for _, wrong := range []string{"the group was Stable without members", "was read at …, is … now", "past-the-end"} {
		if slices.ContainsFunc(texts, func(text []string) bool { return quotedFrom(strings.Fields(wrong), text) }) {
			t.Errorf("%q was found, and no text says it", wrong)
		}
	}
}

func head(page, until string) string {
	before, _, _ := strings.Cut(page, until)
	return before
}

var verb = regexp.MustCompile(`%[-+#0-9.\[\]]*[a-z]`)

// quotedFrom says that words stand in a row in a text, whose verbs stand for anything. The last verb of a text may stand for
// several words. At least two of five words are the text's own.
func quotedFrom(words, text []string) bool {
	for at := range text {
		own, same := 0, true
		for i, w := range words {
			if at+i >= len(text) {
				same = verb.ReplaceAllString(text[len(text)-1], "") == ""
				break
			}
			if !verb.MatchString(text[at+i]) {
				own++
			}
			if same = sameWord(w, text[at+i]); !same {
				break
			}
		}
		if same && 5*own >= 2*len(words) {
			return true
		}
	}
	return false
}

func sameWord(quoted, text string) bool {
	const ends = ".,;:()"
	quoted, text = strings.Trim(quoted, ends), strings.Trim(text, ends)
	if same := strings.Contains(quoted, "…") || quoted == text; same || !strings.Contains(text, "%") {
		return same
	}
	var parts []string
	for _, p := range verb.Split(text, -1) {
		parts = append(parts, regexp.QuoteMeta(p))
	}
	return len(parts) > 1 && regexp.MustCompile("^"+strings.Join(parts, ".+")+"$").MatchString(quoted)
}
