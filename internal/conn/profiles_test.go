package conn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/koffset/koffset/internal/config"
)

func TestUse(t *testing.T) {
	const body = `# my clusters

profiles:
  # careful
  prod:   {brokers: "p:1"}   # aligned by hand

  "two words": {}
  dev: {}
`
	for _, c := range []struct{ name, before, use, after string }{
		{"plain", "current_profile: prod # now\n" + body, "dev", "current_profile: dev # now\n" + body},
		{"quoted", "current_profile: \"prod\"\n" + body, "dev", "current_profile: dev\n" + body},
		{"single quoted, at the end", body + "\ncurrent_profile:   'prod'", "dev", body + "\ncurrent_profile:   dev"},
		{"needs quotes", "current_profile: prod\n" + body, "two words", "current_profile: two words\n" + body},
		{"absent", body, "dev", strings.Replace(body, "profiles:", "current_profile: dev\nprofiles:", 1)},
		{"absent, with a comment above", "# about the profiles\n# two lines\nprofiles: {dev: {}}\n", "dev", "current_profile: dev\n# about the profiles\n# two lines\nprofiles: {dev: {}}\n"},
		{"null", "current_profile:\n" + body, "dev", "current_profile: dev\n"},
		{"windows line ends", "profiles: {dev: {}}\r\n", "dev", "current_profile: dev\r\nprofiles: {dev: {}}\r\n"},
		{"the same", "current_profile: dev\n" + body, "dev", "current_profile: dev\n" + body},
		{"document mark", "---\n" + body, "dev", "---\n" + strings.Replace(body, "profiles:", "current_profile: dev\nprofiles:", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, file := workspace(t, c.before)
			if err := os.Chmod(file, 0o640); err != nil {
				t.Fatal(err)
			}
			in := Inputs{Config: file, ConfigSet: true}
			if _, err := Use(in, c.use); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "null" {
				// No value to replace: the nodes are encoded again.
				if !strings.HasPrefix(string(got), c.after) || !strings.Contains(string(got), "# careful") || !strings.Contains(string(got), "# aligned by hand") {
					t.Errorf("file is\n%s", got)
				}
			} else if string(got) != c.after {
				t.Errorf("file is\n%q\nwant\n%q", got, c.after)
			}
			if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", st.Mode(), err)
			}
			s, err := Load(in)
			if err != nil || s.Profile != c.use {
				t.Errorf("loaded %v, %v", s, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".koffset-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestUseErrors(t *testing.T) {
	_, file := workspace(t, "profiles: {prod: {}, staging: {}}\n")
	_, err := Use(Inputs{Config: file, ConfigSet: true}, "prodd")
	if e, ok := err.(*config.Error); !ok || e.Hint != "did you mean prod?" {
		t.Errorf("error %v", err)
	}
	_, err = Use(Inputs{Config: filepath.Join(t.TempDir(), "none.yaml"), ConfigSet: true}, "prod")
	if e, ok := err.(*config.Error); !ok || !strings.Contains(e.Hint, "no configuration file at") {
		t.Errorf("error %v", err)
	}
	// A profile that does not exist is current: use must still work.
	_, file = workspace(t, "current_profile: gone\nprofiles: {prod: {}}\n")
	if _, err := Use(Inputs{Config: file, ConfigSet: true}, "prod"); err != nil {
		t.Error(err)
	}
}

func TestUseKeepsALink(t *testing.T) {
	dir, file := workspace(t, "profiles: {dev: {}}\n")
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Use(Inputs{Config: link, ConfigSet: true}, "dev"); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", st.Mode(), err)
	}
	if got, _ := os.ReadFile(file); !strings.HasPrefix(string(got), "current_profile: dev\n") {
		t.Errorf("target is %q", got)
	}
}

func TestProfilesAndRows(t *testing.T) {
	_, file := workspace(t, precedenceYAML+"  prod: {brokers: p:1, cluster_id: PROD, read_only: true}\n")
	in := Inputs{Config: file, ConfigSet: true, Environ: []string{"KOFFSET_SASL_PASSWORD=hunter2"}, X: []string{"sasl.oauth.token_url=https://u:hunter2@idp/t"}}
	s, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	ps := s.profiles()
	if len(ps) != 3 || ps[0].Name != "cur" || !ps[0].Current || ps[1].Current || ps[2].ClusterID != "PROD" || !ps[2].ReadOnly || ps[2].Line != 18 {
		t.Errorf("%+v", ps)
	}
	found := map[string]Row{}
	for _, r := range s.Rows() {
		found[r.Key] = r
		if strings.Contains(r.Value, "hunter2") || strings.Contains(r.Value, "cur-pass") {
			t.Errorf("a secret is shown: %+v", r)
		}
	}
	if r := found["sasl.password"]; r.Value != mask || !r.Secret || r.Source.String() != "environment KOFFSET_SASL_PASSWORD" {
		t.Errorf("%+v", r)
	}
	if r := found["brokers"]; r.Value != "cur:9092" || r.Source.String() != "profile cur (config.yaml:7)" {
		t.Errorf("%+v", r)
	}
	rows, err := s.profileRows("cur")
	if err != nil || len(rows) != 6 {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, r := range rows {
		if strings.Contains(r.Value, "cur-pass") {
			t.Errorf("a secret is shown: %+v", r)
		}
	}
	if _, err := s.profileRows("name"); err == nil {
		t.Error("an unknown profile was shown")
	}
	path, ps, err := ProfilesOf(Inputs{Config: file, ConfigSet: true})
	if err != nil || path != file || len(ps) != 3 {
		t.Errorf("%s, %v, %v", path, ps, err)
	}
}
