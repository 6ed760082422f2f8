package conn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddProfile(t *testing.T) {
	settings := []NewSetting{{Key: "brokers", List: []string{"kafka-1:9093", "kafka-2:9093"}}, {Key: "tls.ca", Value: "/etc/ca.pem"},
		{Key: "sasl.mechanism", Value: "SCRAM-SHA-512"}, {Key: "sasl.user", Value: "yes"}, {Key: "max_skip", Value: "100"}}
	const added = `  new:
    brokers: ['kafka-1:9093', 'kafka-2:9093']
    tls:
      ca: /etc/ca.pem
    sasl:
      mechanism: SCRAM-SHA-512
      user: yes
    max_skip: "100"
`
	for _, c := range []struct {
		name, before, after string
		current             bool
	}{
		{"no file", "", "current_profile: new\nprofiles:\n" + added, true},
		{"beside another", "current_profile: dev\nprofiles:\n  # careful\n  dev: {brokers: \"p:1\"}   # by hand\n\n  x: {}\n",
			"current_profile: dev\nprofiles:\n" + added + "  # careful\n  dev: {brokers: \"p:1\"}   # by hand\n\n  x: {}\n", false},
		{"another indent", "profiles:\n    dev: {}\n", "profiles:\n" + strings.ReplaceAll("    "+strings.TrimPrefix(added, "  "), "\n    ", "\n      ") + "    dev: {}\n", false},
		{"no profiles yet, no newline at the end", "defaults: {tz: UTC}", "current_profile: new\ndefaults: {tz: UTC}\nprofiles:\n" + added, true},
		{"an empty mapping", "profiles:\n", "current_profile: new\nprofiles:\n" + added, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "sub", "config.yaml")
			in := Inputs{Config: file, ConfigSet: true}
			if c.before != "" {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(c.before), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			if _, current, err := AddProfile(in, "new", settings); err != nil || current != c.current {
				t.Fatalf("current %v, %v", current, err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "another indent" {
				if !strings.HasPrefix(string(got), "profiles:\n    new:\n      brokers:") || !strings.HasSuffix(string(got), "    dev: {}\n") {
					t.Errorf("file is\n%s", got)
				}
			} else if string(got) != c.after {
				t.Errorf("file is\n%s\nwant\n%s", got, c.after)
			}
			mode := os.FileMode(0o600)
			if c.before != "" {
				mode = 0o640
			}
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != mode {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
			in.Profile, in.ProfileSet = "new", true
			s, err := Load(in)
			if err != nil || strings.Join(s.Brokers, ",") != "kafka-1:9093,kafka-2:9093" || s.text("sasl.user") != "yes" {
				t.Errorf("loaded %v, %v", s, err)
			}
			if _, _, err := AddProfile(in, "new", settings); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second one: %v", err)
			}
		})
	}
}

// What cannot be changed safely is refused, and the file stays as it was.
func TestAddProfileRefuses(t *testing.T) {
	for _, c := range []struct {
		name, before, says string
		settings           []NewSetting
	}{
		{"braces", "profiles: {dev: {}}\n", "braces", []NewSetting{{Key: "brokers", List: []string{"a:1"}}}},
		{"a secret", "profiles:\n  dev: {}\n", "secret", []NewSetting{{Key: "sasl.password", Value: "hunter2"}}},
		{"broken", "profiles: [\n", "", []NewSetting{{Key: "brokers", List: []string{"a:1"}}}},
	} {
		_, file := workspace(t, c.before)
		_, _, err := AddProfile(Inputs{Config: file, ConfigSet: true}, "new", c.settings)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.before {
			t.Errorf("%s: the file is\n%s", c.name, got)
		}
	}
}

// A typed secret is in a file that nobody else can read, even where one that others could read was there.
func TestWriteSecret(t *testing.T) {
	in := Inputs{Config: filepath.Join(t.TempDir(), "k", "config.yaml"), ConfigSet: true}
	path, err := SecretFile(in, "../prod", "sasl.password")
	if err != nil || filepath.Dir(path) != filepath.Join(filepath.Dir(in.Config), "secrets") {
		t.Fatal(path, err)
	}
	for range 2 {
		if err := WriteSecret(path, "hunter2 "); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(path)
		dir, derr := os.Stat(filepath.Dir(path))
		if err != nil || derr != nil || st.Mode().Perm() != 0o600 || dir.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v of the folder", st.Mode(), dir.Mode())
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "hunter2 \n" {
		t.Errorf("%q", b)
	}
}
