package text

import "strings"

// Shell joins the words of a command line as it can be pasted: a word that a shell would not leave as it is stands in single
// quotes. Names come from the cluster, so everything that any common shell takes apart, expands or runs is quoted.
func Shell(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\r\n'\"\\$`*?[](){}|&;<>!") || strings.ContainsAny(w[:1], "#~=") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}
