package setup

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
)

// VersionLine is what koffset --version prints.
func VersionLine(a *cli.App) string {
	return fmt.Sprintf("koffset %s (%s, %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// NewVersion is the command version.
func NewVersion(a *cli.App) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "version", GroupID: "other", Short: "Print koffset's version", Args: noArgs,
		Long: "Print koffset's version, the Go version it was built with and the platform." + profileStatus,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := render.ParseFormat(out, render.Table, render.JSON, render.JSONL)
			if err != nil {
				return err
			}
			if f == render.JSON || f == render.JSONL {
				w := render.NewWriter(a.Streams, f, render.Meta{Kind: "version", Extra: []render.Field{
					render.F("version", render.String(a.Version)), render.F("go_version", render.String(runtime.Version())), render.F("platform", render.String(runtime.GOOS+"/"+runtime.GOARCH))}})
				return w.Close(render.End{})
			}
			_, err = io.WriteString(a.Streams.Out, VersionLine(a))
			return err
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "table", "`FORMAT`: table, json, jsonl")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}
