package cli

import (
	"errors"

	"github.com/koffset/koffset/offset"
)

// NameFlag is a flag that takes one name as koffset prints it (offset.QuoteName). The empty name is a name, written "" in
// quotes, so whether the flag was given is a value of its own.
type NameFlag struct {
	Name  string
	Given bool
	text  string // as it was written
}

func (f *NameFlag) String() string { return f.text }

// Type is that of the other flags with a text: what is empty is refused in one place.
func (f *NameFlag) Type() string { return "string" }

// Set reads a name.
func (f *NameFlag) Set(text string) error {
	name, err := offset.UnquoteName(text)
	if err != nil {
		if hint := HintOf(err); hint != "" {
			err = errors.New(err.Error() + ": " + hint)
		}
		return err
	}
	f.Name, f.Given, f.text = name, true, text
	return nil
}
