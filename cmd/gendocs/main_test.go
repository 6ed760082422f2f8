package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/koffset/koffset/cmd"
	"github.com/koffset/koffset/cmd/cli"
)

// The committed reference is what the commands say today, and two runs give the same bytes.
func TestReference(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	man, comp := t.TempDir(), t.TempDir()
	if err := run(a, man, comp); err != nil {
		t.Fatal(err)
	}
	if err := run(b, "", ""); err != nil {
		t.Fatal(err)
	}
	committed := filepath.Join("..", "..", "docs", "commands")
	for _, other := range []string{b, committed} {
		compare(t, a, other)
		compare(t, other, a)
	}
	for dir, want := range map[string]string{man: "koffset-inspect.1", comp: "koffset.fish"} {
		if fi, err := os.Stat(filepath.Join(dir, want)); err != nil || fi.Size() == 0 {
			t.Errorf("%s was not written: %v", want, err)
		}
	}
	// What the release packages is what is written.
	release, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	packaged := regexp.MustCompile(`src: dist/extra/completions/(koffset\S+)`).FindAllStringSubmatch(string(release), -1)
	if len(packaged) < 3 {
		t.Errorf("%d completion scripts are packaged", len(packaged))
	}
	for _, m := range packaged {
		if _, err := os.Stat(filepath.Join(comp, m[1])); err != nil {
			t.Errorf(".goreleaser.yaml packages %s: %v", m[1], err)
		}
	}
	// The packaged script is the printed one, which needs no package bash-completion.
	holds(t, filepath.Join(comp, "koffset.bash"), "__koffset_init_completion()\n{\n    COMPREPLY=()\n    if declare -F")
	// Lists stay lists.
	holds(t, filepath.Join(man, "koffset-inspect.1"), ".EX\n  0  done\n")
	holds(t, filepath.Join(a, "koffset_migrate_import.md"), "```\n  same  ")
	holds(t, filepath.Join(a, "koffset_consume.md"), "```\n  %v (or %s) value\n  %k key\n")
}

// man koffset has the sections of a man page, in their order, every command, and every status once and sorted.
func TestManPage(t *testing.T) {
	man := t.TempDir()
	if err := run("", man, ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(man, "koffset.1"))
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^\.SH (.+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	if got := strings.Join(sections, ", "); got != "NAME, SYNOPSIS, DESCRIPTION, COMMANDS, OPTIONS, EXIT STATUS, ENVIRONMENT, FILES, EXAMPLES, SEE ALSO" {
		t.Errorf("sections %s", got)
	}
	root := cmd.Root(cli.App{})
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !strings.Contains(string(text), "\n\\fB"+strings.ReplaceAll(c.Use, "-", `\-`)+"\\fR\n") {
			t.Errorf("%s is not among the commands", c.Name())
		}
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	statuses := regexp.MustCompile(`(?m)^(?:  |\\fB)(\d+)(?:, 143)?(?:  |\\fR$)`)
	for _, p := range pages {
		page, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(string(page), "\n.SH EXIT STATUS\n")
		section, _, _ = strings.Cut(section, "\n.SH ")
		last := -1
		for _, m := range statuses.FindAllStringSubmatch(section, -1) {
			n, _ := strconv.Atoi(m[1])
			if n <= last {
				t.Errorf("%s: status %d comes after %d", filepath.Base(p), n, last)
			}
			last = n
		}
		if strings.Contains(string(page), "[=false]") || strings.Contains(string(page), `=""`) || strings.Contains(string(page), "INHERITED") {
			t.Errorf("%s has cobra's options", filepath.Base(p))
		}
		if ok && last < 1 {
			t.Errorf("%s has no statuses", filepath.Base(p))
		}
		lint(t, p)
	}
}

// lint has groff read a page where there is one: it warns of what it does not understand.
func lint(t *testing.T, page string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	out, err := exec.Command(groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z", page).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", filepath.Base(page), err, out)
	}
}

func holds(t *testing.T, file, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s does not hold %q: %v", filepath.Base(file), want, err)
	}
}

func compare(t *testing.T, a, b string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds nothing: %v", a, err)
	}
	for _, f := range files {
		x, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, filepath.Base(f)))
		if err != nil || string(x) != string(y) {
			t.Errorf("%s is not what the commands say: go run ./cmd/gendocs -markdown docs/commands (%v)", filepath.Base(f), err)
		}
	}
}
