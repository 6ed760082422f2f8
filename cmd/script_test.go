package cmd_test

// The scripts of testdata/script: whole command lines, run as processes of their own against clusters that the script starts
// inside the test. The words that scripts have beside testscript's own are in scriptwords_test.go and scriptcluster_test.go.

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/koffset/koffset/cmd"
)

func TestMain(m *testing.M) {
	testscript.Main(wrapMain(m), map[string]func(){"koffset": func() { os.Exit(cmd.Main()) }})
}

func TestScripts(t *testing.T) { runScripts(t, filepath.Join("testdata", "script")) }

func runScripts(t *testing.T, dir string) {
	t.Parallel()
	// A command that never ends fails its own script and is named; at the time-out of go test nothing would be.
	deadline, bounded := t.Deadline()
	if !bounded {
		deadline = time.Now().Add(10 * time.Minute)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Deadline:      deadline.Add(-time.Minute),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for key, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache"), "XDG_STATE_HOME": filepath.Join(home, "state")} {
				env.Setenv(key, value)
			}
			w := &world{t: env.T().(testing.TB), dir: env.WorkDir}
			for _, v := range env.Vars {
				w.vars = append(w.vars, name(v))
			}
			env.Values[worldKey{}] = w
			return os.MkdirAll(home, 0o755)
		},
		Cmds: scriptWords(),
	})
}
