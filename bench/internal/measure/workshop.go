package measure

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Workshop is the folder of a benchmark, with a koffset that was built into it.
type Workshop struct{ Dir, Bin string }

// Open makes a folder and builds koffset into it, from the module's root. Close removes it.
func Open(ctx context.Context) (*Workshop, error) {
	dir, err := os.MkdirTemp("", "koffset-bench-")
	if err != nil {
		return nil, err
	}
	w := &Workshop{Dir: dir, Bin: filepath.Join(dir, "koffset")}
	build := exec.CommandContext(ctx, "go", "build", "-o", w.Bin, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		w.Close()
		return nil, fmt.Errorf("build koffset: %w", err)
	}
	return w, nil
}

// Close removes the folder.
func (w *Workshop) Close() { _ = os.RemoveAll(w.Dir) }
