package act

import (
	"os"
	"os/user"

	"github.com/koffset/koffset/cmd/cli"
)

// UserName is who runs koffset, for the journal.
func UserName(a *cli.App) string {
	for _, v := range []string{"USER", "LOGNAME", "USERNAME"} {
		if u := a.Env(v); u != "" {
			return u
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// HostName is where koffset runs, for the journal.
func HostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
}
