//go:build unix

package render

import (
	"os"

	"golang.org/x/sys/unix"
)

// nowhere says that a file was closed when the process began, as far as that can be told: Go then opens the null device in its place, for
// reading and writing. A shell's >/dev/null opens it for writing alone, and is what somebody asked for.
func nowhere(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	have, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(have, null)
}
