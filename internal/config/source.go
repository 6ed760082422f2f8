package config

import (
	"fmt"
	"path/filepath"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// SourceKind is the place that a value came from.
type SourceKind uint8

// The places.
const (
	FromFlag        SourceKind = iota + 1 // a flag of its own: -b, --timeout
	FromX                                 // -X key=value
	FromProperties                        // a Java client's .properties file
	FromFlinkConf                         // a Flink configuration
	FromJob                               // a job of consume:
	FromProfile                           // a profile, however it was chosen
	FromEnvironment                       // KOFFSET_*
	FromDefaults                          // a defaults: section
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

// String is the source in the words of messages, such as "profile prod (config.yaml:14)".
func (s Source) String() string {
	switch s.Kind {
	case FromFlag:
		return "flag " + s.Name
	case FromX:
		return "-X " + s.Name
	case FromProperties, FromFlinkConf:
		return s.place()
	case FromJob:
		return fmt.Sprintf("job (%s)", s.place())
	case FromProfile:
		return fmt.Sprintf("profile %s (%s)", s.Name, s.place())
	case FromEnvironment:
		return "environment " + s.Name
	case FromDefaults:
		return fmt.Sprintf("defaults (%s)", s.place())
	}
	if s.Name != "" {
		return "default (" + s.Name + ")"
	}
	return "default"
}

func (s Source) place() string {
	if s.File == "" {
		return "configuration file"
	}
	return Place(s.File, s.Line)
}

// Place names a line of a file by its base name, to keep messages readable; line 0 is the file itself.
func Place(file string, line int) string {
	if line <= 0 {
		return filepath.Base(file)
	}
	return fmt.Sprintf("%s:%d", filepath.Base(file), line)
}

// Value is one setting as text, with its source. A list has its items in List, and Text is empty.
type Value struct {
	Text   string
	List   []string
	Source Source
	// As is the name as it was written.
	As string
}

// Empty says that a value is there and holds nothing.
func (v Value) Empty() bool { return v.Text == "" && len(v.List) == 0 }

// Warning is something to say that stops nothing: an unknown key, an old name, a key without effect.
type Warning struct {
	// Where is the place, such as "config.yaml:7" or "environment KOFFSET_TZ", or empty.
	Where string
	Text  string
	// Hint is the next step, or empty.
	Hint string
}

// String is the warning without its hint.
func (w Warning) String() string { return located(w.Where, w.Text) }

// NoEffect says of a setting that is understood, and changes nothing, why that is so.
func NoEffect(name, why string) string { return name + " has no effect: " + why }

// Error is a configuration that cannot be used. It never holds the value of a secret.
type Error struct {
	// Where is the place of the fault, such as "config.yaml:7", or empty.
	Where string
	Text  string
	// Hint is the next step, or empty.
	Hint string
	// Err is the cause, or nil.
	Err error
}

// Errorf makes an Error without a cause.
func Errorf(where, hint, format string, args ...any) *Error {
	return &Error{Where: where, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// Error is the message without the hint. Passwords of URLs in it are masked: a value that is quoted may be a store's.
func (e *Error) Error() string {
	t := e.Text
	if e.Err != nil {
		t += ": " + e.Err.Error()
	}
	return located(e.Where, offset.Mask(t))
}

func located(where, text string) string {
	if where == "" {
		return text
	}
	return where + ": " + text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is always usage.
func (e *Error) ErrorKind() offset.ErrorKind { return offset.KindUsage }

// Near makes "did you mean X?" of the nearest known name, or "".
func Near(name string, known []string) string {
	if n := text.Nearest(name, known); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
