package cmd_test

// A profile that is asked for on a terminal: what is typed, and where the password goes.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
)

func TestProfileAddAsks(t *testing.T) {
	t.Parallel()
	c, _ := kafkatest.FakeClient(t)
	at := c.ListenAddrs()[0]
	config := func(home string) string { return filepath.Join(home, ".config", "koffset", "config.yaml") }
	t.Run("without a login", func(t *testing.T) {
		home := t.TempDir()
		r := run(t, home, at+"\n\n\n", true, "profile", "add", "prod")
		if r.code != 0 || !strings.Contains(r.out, "api-versions") || !strings.Contains(r.err, "Brokers (HOST:PORT") || strings.Contains(r.err, "Password") {
			t.Fatalf("status %d\n%s%s", r.code, r.out, r.err)
		}
		if r := run(t, home, "", true, "profile", "show"); !strings.Contains(r.out, at) || !strings.Contains(r.out, "kfake") {
			t.Errorf("%s%s", r.out, r.err)
		}
	})
	t.Run("a login that fails, declined", func(t *testing.T) {
		home := t.TempDir()
		r := run(t, home, at+"\n\nPLAIN\nops\nhunter2\nn\n", true, "profile", "add", "prod")
		if r.code != 3 || !strings.Contains(r.err, "nothing was written") || strings.Contains(r.out+r.err, "hunter2") {
			t.Errorf("status %d\n%s%s", r.code, r.out, r.err)
		}
		if _, err := os.Stat(filepath.Dir(config(home))); err == nil {
			t.Error("something was written")
		}
	})
	t.Run("written all the same, the password in a file of its own", func(t *testing.T) {
		home := t.TempDir()
		r := run(t, home, at+"\n\nPLAIN\nops\nhunter2 \ny\n", true, "profile", "add", "prod")
		if r.code != 0 || strings.Contains(r.out+r.err, "hunter2") {
			t.Fatalf("status %d\n%s%s", r.code, r.out, r.err)
		}
		text, err := os.ReadFile(config(home))
		if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "password_file:") {
			t.Errorf("%v\n%s", err, text)
		}
		secret := filepath.Join(filepath.Dir(config(home)), "secrets", "prod.sasl.password")
		if b, err := os.ReadFile(secret); err != nil || string(b) != "hunter2 \n" {
			t.Errorf("%q, %v", b, err)
		}
		for _, path := range []string{secret, config(home)} {
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", path, st, err)
			}
		}
		if r := run(t, home, "", false, "profile", "show", "--resolved"); strings.Contains(r.out, "hunter2") || !strings.Contains(r.out, "sasl.password_file") {
			t.Errorf("%s", r.out)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		home := t.TempDir()
		r := run(t, home, at+"\n", true, "profile", "add", "prod")
		if r.code != 3 || !strings.Contains(r.err, "nothing was written") {
			t.Errorf("status %d\n%s", r.code, r.err)
		}
	})
}
