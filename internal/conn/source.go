package conn

import (
	"fmt"
	"path/filepath"

	"github.com/koffset/koffset/offset"
)

// SourceKind says which layer a value came from. Stronger layers have smaller
// numbers, so that two sources can be compared.
type SourceKind uint8

// The layers, strongest first.
const (
	FromFlag        SourceKind = iota + 1 // a flag of its own: -b, --timeout
	FromX                                 // -X key=value
	FromProperties                        // the file of --command-config
	FromProfile                           // a profile, however it was chosen
	FromEnvironment                       // KOFFSET_*
	FromDefaults                          // the defaults: section of the configuration file
	FromBuiltin                           // koffset itself
)

// Source is where a value came from, exactly enough to go and change it.
type Source struct {
	Kind SourceKind
	// Name is the flag, the -X key, the profile or the variable.
	Name string
	// File and Line are set for values out of files. File is the path as opened.
	File string
	Line int
}

// String is the source in the words that `profile show --resolved` and
// messages use, such as "profile prod (config.yaml:14)".
func (s Source) String() string {
	switch s.Kind {
	case FromFlag:
		return "flag " + s.Name
	case FromX:
		return "-X " + s.Name
	case FromProperties:
		return s.place()
	case FromProfile:
		return fmt.Sprintf("profile %s (%s)", s.Name, s.place())
	case FromEnvironment:
		return "environment " + s.Name
	case FromDefaults:
		return fmt.Sprintf("defaults (%s)", s.place())
	case FromBuiltin:
		if s.Name != "" {
			return "default (" + s.Name + ")"
		}
		return "default"
	default:
		return "unknown"
	}
}

func (s Source) place() string {
	if s.File == "" {
		return "configuration file"
	}
	return place(s.File, s.Line)
}

// place names a line of a file by its base name: the full path is in
// `profile list`, and messages stay readable.
func place(file string, line int) string {
	if line <= 0 {
		return filepath.Base(file)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// Value is one setting as text, with its source. A list has its items in
// List, and Text is empty.
type Value struct {
	Text   string
	List   []string
	Source Source
}

// Warning is something the operator should know that stops nothing: an
// unknown key, an old name, a key without effect. Load returns them; nothing
// here prints.
type Warning struct {
	// Where is the place, such as "config.yaml:7" or "environment KOFFSET_TZ".
	Where string
	Text  string
	// Hint is the next step, or empty.
	Hint string
}

// String is the warning without its hint.
func (w Warning) String() string {
	if w.Where == "" {
		return w.Text
	}
	return w.Where + ": " + w.Text
}

// ConfigError is a configuration that cannot be used. It never
// holds the value of a secret.
type ConfigError struct {
	// Where is the place of the fault, such as "config.yaml:7", or empty.
	Where string
	Text  string
	// Hint is the next step, or empty.
	Hint string
	// Err is the cause, or nil.
	Err error
}

// ErrorKind is always usage.
func (e *ConfigError) ErrorKind() offset.ErrorKind { return offset.KindUsage }

// Error is the message without the hint.
func (e *ConfigError) Error() string {
	t := e.Text
	if e.Where != "" {
		t = e.Where + ": " + t
	}
	if e.Err != nil {
		t += ": " + e.Err.Error()
	}
	return t
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }
