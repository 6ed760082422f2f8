// Command gendocs writes the reference of the command line: man pages, Markdown, and completion scripts. It is a program of
// its own so that the binary does not carry the generators. The output depends on the commands alone: no date, no path.
//
//	go run ./cmd/gendocs -markdown docs/commands
//	go run ./cmd/gendocs -man dist/man -completions dist/completions
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/cmd/setup"
)

func main() {
	markdown := flag.String("markdown", "", "write Markdown into this folder")
	man := flag.String("man", "", "write man pages into this folder")
	comp := flag.String("completions", "", "write completion scripts into this folder")
	flag.Parse()
	if err := run(*markdown, *man, *comp); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

func run(markdown, man, comp string) error {
	root := cmd.Root(cli.App{})
	fenceAll(root)
	if markdown != "" {
		if err := fresh(markdown); err != nil {
			return err
		}
		if err := doc.GenMarkdownTree(root, markdown); err != nil {
			return err
		}
		if err := rewrite(markdown, "koffset*.md", cmd.TidyFlags); err != nil {
			return err
		}
	}
	if man != "" {
		if err := fresh(man); err != nil {
			return err
		}
		// A fixed date: two builds of one commit must be the same to the byte.
		epoch := time.Unix(0, 0).UTC()
		if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "koffset", Manual: "User Commands", Date: &epoch}, man); err != nil {
			return err
		}
		if err := manual(root, man); err != nil {
			return err
		}
	}
	if comp != "" {
		if err := fresh(comp); err != nil {
			return err
		}
		return scripts(root, comp)
	}
	return nil
}

// fresh makes an empty folder, so that the page of a command that is gone does not stay behind.
func fresh(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "koffset*"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if !strings.HasPrefix(filepath.Base(f), "koffset") {
			continue
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o755)
}

// lists are the indented lines of a help text, which Markdown and man pages would run together.
var lists = regexp.MustCompile(`(?m)(?:^  .*(?:\n|\z))+`)

// fence puts the lists of a help text between fences.
func fence(long string) string {
	long = lists.ReplaceAllStringFunc(long, func(list string) string {
		return "\n```\n" + strings.TrimSuffix(list, "\n") + "\n```\n"
	})
	return strings.TrimSpace(regexp.MustCompile(`\n{3,}`).ReplaceAllString(long, "\n\n"))
}

func fenceAll(c *cobra.Command) {
	c.Long = fence(c.Long)
	for _, sub := range c.Commands() {
		fenceAll(sub)
	}
}

// rewrite reads each page below dir that the pattern names and writes it as change wants it.
func rewrite(dir, pattern string, change func(string) string) error {
	pages, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return err
	}
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(p, []byte(change(string(text))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func scripts(root *cobra.Command, dir string) error {
	for name, write := range map[string]func(*os.File) error{
		"koffset.bash": func(f *os.File) error { return setup.BashCompletion(root, f) },
		"koffset.zsh":  func(f *os.File) error { return root.GenZshCompletion(f) },
		"koffset.fish": func(f *os.File) error { return root.GenFishCompletion(f, true) },
		"koffset.ps1":  func(f *os.File) error { return root.GenPowerShellCompletionWithDesc(f) },
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = write(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}
