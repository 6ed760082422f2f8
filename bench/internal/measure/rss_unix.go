//go:build unix

package measure

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS is the largest that a finished process was, in bytes.
func maxRSS(p *os.ProcessState) int64 {
	ru, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss) // bytes; elsewhere KiB
	}
	return int64(ru.Maxrss) * 1024
}
