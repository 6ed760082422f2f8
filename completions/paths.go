package completions

// Paths inside a word, and what a flag takes by the word that its help has for it.

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// Files leaves the word to the shell's own completion of files.
func Files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Dirs leaves the word to the shell's own completion of directories.
func Dirs(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// Prefixes completes words that go on after what is offered: no space follows.
func Prefixes(words ...string) Func {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, w := range words {
			if strings.HasPrefix(w, word) && w != word {
				out = append(out, w)
			}
		}
		return out, quiet | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

// maxPaths keeps a TAB in a folder of thousands of files readable.
const maxPaths = 200

// paths completes a path that follows a word such as file:, which a shell would take as a part of the name. dirsOnly leaves
// out files.
func (s *Source) paths(prefix, path string, dirsOnly bool) []cobra.Completion {
	at := strings.LastIndexByte(path, '/') + 1
	parent, last := path[:at], path[at:]
	look := parent
	if !filepath.IsAbs(look) {
		look = filepath.Join(s.Dir, look)
	}
	entries, err := os.ReadDir(look)
	if err != nil {
		return nil
	}
	var out []cobra.Completion
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, last) || strings.HasPrefix(name, ".") && last == "" || strings.ContainsAny(name, "\t\n") {
			continue
		}
		info, err := os.Stat(filepath.Join(look, name)) // a link to a folder is one
		switch {
		case err != nil:
			continue
		case info.IsDir():
			name += "/"
		case dirsOnly:
			continue
		}
		if out = append(out, prefix+parent+name); len(out) == maxPaths {
			break
		}
	}
	return out
}
