//go:build !unix

package watch

import "os"

// resizes never tells: the size is asked for at every drawing.
func resizes() (<-chan os.Signal, func()) { return nil, func() {} }

// suspend does nothing where there is no job control.
func (s *screen) suspend() error { return nil }
