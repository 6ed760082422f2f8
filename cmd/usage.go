package cmd

// How a command's help shows its flags.

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// tidyUsage makes the help of a command and of all below it go through TidyFlags.
func tidyUsage(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var text strings.Builder
		out := c.OutOrStdout()
		c.SetOut(&text)
		err := usage(c)
		c.SetOut(out)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(out, TidyFlags(text.String()))
		return err
	})
}

// flagLine is a flag as pflag writes it: at least three spaces stand before what it does.
var flagLine = regexp.MustCompile(`^( +(?:-\w, )?--[\w-]+.*?)   +(.*)$`)

// TidyFlags rewrites the lists of flags in a help text. pflag writes [=true|false] after every switch, which is noise that
// pushes what the flag does out of sight, and it aligns by bytes, so that a line with "…" stands apart.
func TidyFlags(text string) string {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		end := i
		var specs, does []string
		width := 0
		for ; end < len(lines); end++ {
			m := flagLine.FindStringSubmatch(lines[end])
			if m == nil {
				break
			}
			spec := strings.TrimSuffix(m[1], "[=true|false]")
			specs, does = append(specs, spec), append(does, m[2])
			width = max(width, utf8.RuneCountInString(spec))
		}
		for j, spec := range specs {
			lines[i+j] = spec + strings.Repeat(" ", width-utf8.RuneCountInString(spec)+3) + does[j]
		}
		i = end + 1
	}
	return strings.Join(lines, "\n")
}
