package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RefuseEmpty refuses flags that were given without a value. A script whose variable is unset writes --only "", and to take that for
// "not given" would widen what it asked for, or drop the guard that it set. The flags of the root are settings: some are
// emptied on purpose, to take back what a file says.
func RefuseEmpty(c *cobra.Command) error {
	var err error
	settings := c.Root().PersistentFlags()
	c.Flags().Visit(func(f *pflag.Flag) {
		if err != nil || settings.Lookup(f.Name) != nil || !isEmpty(f.Value) {
			return
		}
		hint := "leave it out, or give it a value"
		if name, _ := pflag.UnquoteUsage(f); name != "" {
			hint = "leave it out, or write --" + f.Name + " " + name
		}
		err = Usagef(hint, "--%s is empty", f.Name)
	})
	return err
}

func isEmpty(v pflag.Value) bool {
	if list, ok := v.(pflag.SliceValue); ok {
		values := list.GetSlice()
		return len(values) == 0 || slices.Contains(values, "")
	}
	return v.Type() == "string" && v.String() == ""
}
