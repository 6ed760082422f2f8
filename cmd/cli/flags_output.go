package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/internal/render"
)

// OutputFlag is -o for commands that print rows.
type OutputFlag struct {
	Word    string
	allowed []render.Format
}

// Add adds --output; extra are formats that only this command has.
func (o *OutputFlag) Add(cmd *cobra.Command, extra ...render.Format) {
	o.allowed = append(render.RowFormats(), extra...)
	names := make([]string, len(o.allowed))
	for i, f := range o.allowed {
		names[i] = f.String()
	}
	cmd.Flags().StringVarP(&o.Word, "output", "o", "table", "`FORMAT`: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// Format is the format that was chosen.
func (o *OutputFlag) Format() (render.Format, error) { return render.ParseFormat(o.Word, o.allowed...) }
