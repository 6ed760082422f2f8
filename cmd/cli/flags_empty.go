package cli

import (
	"slices"
	"strings"

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
		if err == nil {
			err = tookFlag(c, f)
		}
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

// tookFlag refuses a flag whose value is another flag: its own was forgotten, and the other one would count as not given.
func tookFlag(c *cobra.Command, f *pflag.Flag) error {
	name, ok := strings.CutPrefix(f.Value.String(), "--")
	if other := c.Flags().Lookup(name); !ok || name == "" || other == nil || f.Value.Type() != "string" {
		return nil
	}
	return Usagef(valueHint(c, f), "--%s has no value: --%s came behind it", f.Name, name)
}

// valueHint says what a flag takes.
func valueHint(c *cobra.Command, f *pflag.Flag) string {
	if meant, ok := foreignFlags()[c.Name()+" "+f.Shorthand]; ok && f.Shorthand != "" {
		return meant
	}
	name, usage := pflag.UnquoteUsage(f)
	if name == "" {
		name = "VALUE"
	}
	return "write --" + f.Name + " " + name + ": " + usage
}

func isEmpty(v pflag.Value) bool {
	if list, ok := v.(pflag.SliceValue); ok {
		values := list.GetSlice()
		return len(values) == 0 || slices.Contains(values, "")
	}
	return v.Type() == "string" && v.String() == ""
}
