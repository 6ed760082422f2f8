package main

// Man pages. Those of the commands are cobra's, with the statuses in a section of their own; the page of koffset itself is
// written here: cobra's has no list of commands, no environment and no files.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitStatus is the list of statuses within the description.
var exitStatus = regexp.MustCompile(`(?s)\.PP\nExit status:\n\n(\.EX\n.*?\.EE\n)`)

// manual makes the pages in dir read as man pages do.
func manual(root *cobra.Command, dir string) error {
	var pages func(c *cobra.Command) error
	pages = func(c *cobra.Command) error {
		for _, sub := range c.Commands() {
			if err := pages(sub); err != nil {
				return err
			}
		}
		page := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		return rewrite(dir, page, func(text string) string { return withOptions(c, commandPage(text)) })
	}
	if err := pages(root); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "koffset.1"), []byte(rootPage(root)), 0o644)
}

func commandPage(text string) string {
	m := exitStatus.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	text = strings.Replace(text, m[0], "", 1)
	section := ".SH EXIT STATUS\n" + m[1] + "\n"
	for _, before := range []string{".SH EXAMPLE\n", ".SH SEE ALSO\n"} {
		if strings.Contains(text, before) {
			return strings.Replace(text, before, section+"\n"+before, 1)
		}
	}
	return text + section
}

// optionSections are cobra's two: the command's own flags, and those of every command.
var optionSections = regexp.MustCompile(`(?s)\.SH OPTIONS\n.*?(\n\.SH )`)

// withOptions writes the options as man pages do, a term and what it does, in the place of cobra's --confirm="" and --yes[=false].
func withOptions(c *cobra.Command, text string) string {
	var b strings.Builder
	b.WriteString(".SH OPTIONS\n")
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			option(&b, f)
		}
	})
	b.WriteString(".PP\nThe options of every command are in \\fBkoffset\\fR(1).\n")
	text = regexp.MustCompile(`(?s)\.SH OPTIONS INHERITED FROM PARENT COMMANDS\n.*?(\n\.SH )`).ReplaceAllString(text, "$1")
	at := optionSections.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	return text[:at[0]] + b.String() + text[at[2]:]
}

// option writes one option, with its default where that says something.
func option(b *strings.Builder, f *pflag.Flag) {
	name, usage := pflag.UnquoteUsage(f)
	term := "--" + f.Name
	if f.Shorthand != "" {
		term = "-" + f.Shorthand + ", " + term
	}
	if name != "" {
		term += " " + name
	}
	switch f.DefValue {
	case "", "[]", "false", "0", "-1":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	item(b, term, usage)
}

// item writes a term and, below it, what it means.
func item(b *strings.Builder, term, text string) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(term), roff(text))
}

// roff escapes a text: what begins with a dot or a quote would be a request, and a hyphen must stay one that can be pasted.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// rootPage is koffset(1).
func rootPage(root *cobra.Command) string {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	b.WriteString(".TH KOFFSET 1 \"\" koffset \"User Commands\"\n.nh\n")
	section("NAME")
	fmt.Fprintf(&b, "koffset \\- %s\n", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	section("SYNOPSIS")
	b.WriteString("\\fBkoffset\\fR [\\fIFLAGS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n")
	section("DESCRIPTION")
	about, _, _ := strings.Cut(root.Long, "\n\nExit status:") // which has a section of its own
	for i, para := range strings.Split(about, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(para) + "\n")
	}
	section("COMMANDS")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, ".SS %s\n", roff(strings.TrimSuffix(g.Title, ":")))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				item(&b, c.Use, c.Short)
			}
		}
	}
	section("OPTIONS")
	b.WriteString("These are for every command; each command's page has its own.\n")
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		option(&b, f)
	})
	for _, list := range []struct {
		name  string
		items [][2]string
	}{{"EXIT STATUS", manStatuses}, {"ENVIRONMENT", manEnvironment}, {"FILES", manFiles}} {
		section(list.name)
		for _, x := range list.items {
			item(&b, x[0], x[1])
		}
	}
	section("EXAMPLES")
	b.WriteString(".EX\n" + roff(root.Example) + "\n.EE\n")
	section("SEE ALSO")
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, fmt.Sprintf("\\fBkoffset\\-%s\\fR(1)", c.Name()))
		}
	}
	b.WriteString(strings.Join(names, ",\n") + "\n")
	return b.String()
}

var manStatuses = [][2]string{
	{"0", "done; a dry run that would change things too"},
	{"1", "failed"},
	{"2", "usage or configuration"},
	{"3", "refused by a safety check, or declined; nothing was changed"},
	{"4", "partly done or partly known; the output says which rows"},
	{"5", "no such group or topic; find found nothing"},
	{"6", "unreachable or timed out"},
	{"7", "not authenticated or not authorised"},
	{"8", "a check did not hold"},
	{"130", "interrupted by SIGINT"},
	{"143", "interrupted by SIGTERM"},
}

var manEnvironment = [][2]string{
	{"KOFFSET_BROKERS", "brokers to start from, HOST:PORT,…"},
	{"KOFFSET_PROFILE", "the profile to use"},
	{"KOFFSET_CONFIG", "the configuration file"},
	{"KOFFSET_…", "every other setting, its name in capitals with _ for the dots, such as KOFFSET_SASL_MECHANISM"},
	{"KOFFSET_PAGER, PAGER", "what shows output that is longer than the screen; less where neither is set, cat is none"},
	{"NO_COLOR", "no colours, where it is set"},
	{"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "where the files below are"},
}

var manFiles = [][2]string{
	{"$XDG_CONFIG_HOME/koffset/config.yaml", "profiles and defaults (~/.config where the variable is not set)"},
	{"$XDG_CONFIG_HOME/koffset/secrets/", "passwords that were typed for profiles, mode 0600"},
	{"$XDG_STATE_HOME/koffset/", "the undo journal and the audit log (~/.local/state)"},
}
