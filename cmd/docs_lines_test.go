package cmd

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
)

// Lines that cannot run against the sandbox, since they run for ever or name a cluster of the reader's, are at least right: the
// blocks of documentation that are not ```console, and the examples of every command's help.
func TestLinesThatAreNotRunParse(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, page := range append(pages, filepath.Join("..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		kind := ""
		for line := range strings.SplitSeq(string(text), "\n") {
			if fence, ok := strings.CutPrefix(line, "```"); ok {
				if kind = strings.TrimSpace(fence) + "+"; fence == "" {
					kind = ""
				}
			} else if kind == "sh+" {
				lines += parseLines(t, filepath.Base(page), line)
			}
		}
	}
	if lines < 8 {
		t.Errorf("only %d lines of the documentation were found", lines)
	}
	lines = 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		lines += parseLines(t, c.CommandPath()+" --help", c.Example)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(cli.App{}))
	if lines < 60 {
		t.Errorf("only %d examples were found", lines)
	}
}

func parseLines(t *testing.T, where, text string) (n int) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "koffset ")
		if !ok {
			continue
		}
		n++
		words := shellWords(line)
		root := Root(cli.App{Streams: &render.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}})
		c, rest, err := root.Find(words)
		if err == nil && c == root {
			// A flag with its value stands before the command.
			c, rest, err = root.Traverse(words)
		}
		if err != nil || c == root && len(rest) > 0 {
			t.Errorf("%s: %s: no such command (%v)", where, line, err)
			continue
		}
		if err := c.ParseFlags(rest); err != nil && err != pflag.ErrHelp {
			t.Errorf("%s: %s: %v", where, line, err)
			continue
		}
		if c.Args != nil {
			if err := c.Args(c, c.Flags().Args()); err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
			}
		}
	}
	return n
}

// shellWords splits a line as a shell does, up to an explanation, a comment, a pipe or a redirection.
func shellWords(line string) []string {
	line = regexp.MustCompile(`(\s{2,}|\s+(#|\||>|2>)).*$`).ReplaceAllString(line, "")
	var out []string
	for _, m := range regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`).FindAllString(line, -1) {
		out = append(out, strings.NewReplacer("'", "", `"`, "").Replace(m))
	}
	return out
}
