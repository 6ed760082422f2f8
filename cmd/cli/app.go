// Package cli is what the commands of koffset share: the App that they get from outside, the session with a cluster, the
// flags that mean the same everywhere, the places that positions come from, and the Fault that ends a command. It has no
// command, and no command's words.
package cli

import (
	"os"
	"runtime/debug"
	"time"

	"github.com/koffset/koffset/internal/render"
)

// App is everything a command gets from outside: streams, environment, the time. Tests build one; nothing in koffset
// reads the process's own.
type App struct {
	Streams   *render.Streams
	Environ   []string
	Dir, Home string
	Now       func() time.Time
	// Keyboard and Screen are the terminal of the live view; nil where there is none.
	Keyboard, Screen *os.File
	// Version overrides the version of the build; empty takes the build's.
	Version string

	Global  globalFlags
	Args    []string         // what was typed, for the journal
	Waiting *render.Progress // says on a terminal that the command still runs; nil before it began
	Started bool             // a command began to run: errors from now on are not usage errors by themselves
}

// Fill sets what the caller left out.
func (a *App) Fill() {
	if a.Version == "" {
		a.Version = buildVersion()
	}
	if a.Now == nil {
		a.Now = time.Now
	}
}

// buildVersion is the module's version, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
