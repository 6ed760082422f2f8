package conn

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// workspace is a folder with a configuration file.
func workspace(t *testing.T, yaml string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

const precedenceYAML = `current_profile: cur
defaults:
  client_id: from-defaults
  tz: Asia/Tokyo
profiles:
  cur:
    brokers: cur:9092
    client_id: from-cur
    timeout: 11s
    sasl: {mechanism: PLAIN, user: cur-user, password: cur-pass}
  named:
    brokers: [named:9092]
    client_id: from-named
    sasl:
      mechanism: SCRAM-SHA-256
      user: named-user
      password_file: named.pass
`

// Each case takes the strongest layer of the one before away.
func TestPrecedence(t *testing.T) {
	dir, file := workspace(t, precedenceYAML)
	props := filepath.Join(dir, "client.properties")
	if err := os.WriteFile(props, []byte("# first\nclient.id=from-props\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := Inputs{Config: file, ConfigSet: true, Dir: dir}
	for _, c := range []struct {
		name   string
		in     func(*Inputs)
		value  string
		source string
	}{
		{"-X", func(in *Inputs) {
			in.X = []string{"client_id=from-x"}
			in.CommandConfig, in.CommandConfigSet = props, true
			in.Profile, in.ProfileSet = "named", true
			in.Environ = []string{"KOFFSET_CLIENT_ID=from-env"}
		}, "from-x", "-X client_id"},
		{"properties", func(in *Inputs) {
			in.CommandConfig, in.CommandConfigSet = props, true
			in.Profile, in.ProfileSet = "named", true
			in.Environ = []string{"KOFFSET_CLIENT_ID=from-env"}
		}, "from-props", "client.properties:2"},
		{"named profile", func(in *Inputs) {
			in.Profile, in.ProfileSet = "named", true
			in.Environ = []string{"KOFFSET_CLIENT_ID=from-env"}
		}, "from-named", "profile named (config.yaml:13)"},
		{"environment", func(in *Inputs) { in.Environ = []string{"KOFFSET_CLIENT_ID=from-env"} }, "from-env", "environment KOFFSET_CLIENT_ID"},
		{"current profile", func(*Inputs) {}, "from-cur", "profile cur (config.yaml:8)"},
		{"profile of the environment", func(in *Inputs) { in.Environ = []string{"KOFFSET_PROFILE=named"} }, "from-named", "profile named (config.yaml:13)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := base
			c.in(&in)
			s, err := Load(in)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := s.Value("client_id")
			if s.ClientID != c.value || v.Source.String() != c.source {
				t.Errorf("%q from %q, want %q from %q", s.ClientID, v.Source, c.value, c.source)
			}
		})
	}
	t.Run("defaults and built in", func(t *testing.T) {
		_, file := workspace(t, "defaults: {client_id: from-defaults}\n")
		s, err := Load(Inputs{Config: file, ConfigSet: true, Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		v, _ := s.Value("client_id")
		if s.ClientID != "from-defaults" || v.Source.String() != "defaults (config.yaml:1)" {
			t.Errorf("%q from %q", s.ClientID, v.Source)
		}
		if s, err = Load(Inputs{Version: "1.2.3", Environ: []string{"HOME=/home/u"}}); err != nil {
			t.Fatal(err)
		}
		v, _ = s.Value("client_id")
		if s.ClientID != "koffset/1.2.3" || v.Source.String() != "default" || s.Timeout != 30*time.Second || s.TZ != "UTC" ||
			s.StateDir != "/home/u/.local/state/koffset" || s.ConfigPath != "/home/u/.config/koffset/config.yaml" {
			t.Errorf("%q from %q, %s, %s, %s, %s", s.ClientID, v.Source, s.Timeout, s.TZ, s.StateDir, s.ConfigPath)
		}
	})
	t.Run("a flag of its own", func(t *testing.T) {
		in := base
		in.Flags = []FlagValue{{Key: "timeout", Flag: "--timeout", Value: "7s"}}
		s, err := Load(in)
		if err != nil || s.Timeout != 7*time.Second {
			t.Fatalf("%v, %v", s, err)
		}
		if v, _ := s.Value("timeout"); v.Source.String() != "flag --timeout" {
			t.Errorf("source %q", v.Source)
		}
	})
}

// A profile's credentials go to that profile's brokers and to no others.
func TestCredentialsStayHome(t *testing.T) {
	dir, file := workspace(t, precedenceYAML)
	props := filepath.Join(dir, "client.properties")
	if err := os.WriteFile(props, []byte("bootstrap.servers=elsewhere:9092\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		in   Inputs
		user string
		prof string
	}{
		{"current profile alone", Inputs{}, "cur-user", "cur"},
		{"-b", Inputs{Brokers: []string{"elsewhere:9092"}, BrokersSet: true}, "", ""},
		{"-b with the profile named in the environment", Inputs{Brokers: []string{"elsewhere:9092"}, BrokersSet: true, Environ: []string{"KOFFSET_PROFILE=named"}}, "", ""},
		{"-X brokers", Inputs{X: []string{"brokers=elsewhere:9092"}}, "", ""},
		{"java file with brokers", Inputs{CommandConfig: props, CommandConfigSet: true}, "", ""},
		{"KOFFSET_BROKERS", Inputs{Environ: []string{"KOFFSET_BROKERS=elsewhere:9092"}}, "", ""},
		{"-b and --profile", Inputs{Brokers: []string{"elsewhere:9092"}, BrokersSet: true, Profile: "named", ProfileSet: true}, "named-user", "named"},
		{"-b and own credentials", Inputs{Brokers: []string{"elsewhere:9092"}, BrokersSet: true, Environ: []string{"KOFFSET_SASL_USER=me", "KOFFSET_SASL_MECHANISM=PLAIN"}}, "me", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Config, c.in.ConfigSet = file, true
			s, err := Load(c.in)
			if err != nil {
				t.Fatal(err)
			}
			u, _ := s.Value("sasl.user")
			if u.Text != c.user || s.Profile != c.prof {
				t.Errorf("user %q, profile %q; want %q, %q", u.Text, s.Profile, c.user, c.prof)
			}
			if _, ok := s.Value("sasl.password"); ok != (c.prof == "cur") {
				t.Errorf("password taken: %v", ok)
			}
			// What is the operator's and not the cluster's still holds.
			if c.prof == "" && c.in.Environ == nil && s.Timeout != 11*time.Second {
				t.Errorf("timeout %s", s.Timeout)
			}
		})
	}
}

// password_file of a stronger layer hides password of a weaker one, whatever
// their names.
func TestAlternatives(t *testing.T) {
	_, file := workspace(t, `
defaults: {sasl: {password: weak}}
profiles:
  p: {brokers: h, sasl: {mechanism: PLAIN, user: u, password_command: echo strong}}
`)
	s, err := Load(Inputs{Config: file, ConfigSet: true, Profile: "p", ProfileSet: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.secret(t.Context(), "sasl.password")
	if err != nil || got != "strong" {
		t.Errorf("%q, %v", got, err)
	}
	_, file = workspace(t, "profiles:\n  p:\n    sasl:\n      password: a\n      password_file: b\n")
	if _, err = Load(Inputs{Config: file, ConfigSet: true}); err == nil || !strings.Contains(err.Error(), "config.yaml:5: sasl.password_file and sasl.password") {
		t.Errorf("error %v", err)
	}
}

func TestYAMLMessages(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		warn       []string // "text | hint"
		err        string
	}{
		{"unknown key", "profiles:\n  p:\n    brokrs: a:1\n", []string{`config.yaml:3: unknown key "brokrs" | did you mean brokers?`}, ""},
		{"unknown key below", "profiles:\n  p:\n    tls:\n      cet: x\n", []string{`config.yaml:4: unknown key "tls.cet" | did you mean tls.cert?`}, ""},
		{"at the wrong depth", "profiles:\n  p:\n    mechanism: PLAIN\n", []string{`config.yaml:3: unknown key "mechanism" | did you mean sasl.mechanism?`}, ""},
		{"at the top", "brokers: a:1\n", []string{`config.yaml:1: unknown key "brokers" | write brokers under defaults: or under a profile`}, ""},
		{"far from everything", "zzzzzzzzzz: 1\n", []string{`config.yaml:1: unknown key "zzzzzzzzzz" | `}, ""},
		{"renamed", "profiles:\n  p:\n    sasl:\n      username: u\n", []string{"config.yaml:4: sasl.username is now called sasl.user; the old name still works | rename it to sasl.user"}, ""},
		{"renamed, the same twice", "profiles:\n  p:\n    sasl:\n      username: u\n      user: u\n", []string{"config.yaml:4: sasl.username is now called sasl.user; the old name still works | rename it to sasl.user"}, ""},
		{"renamed, two values", "profiles:\n  p:\n    sasl:\n      username: u\n      user: v\n", nil, "config.yaml:5: sasl.user and sasl.username (profile p (config.yaml:4)) are the same setting with different values"},
		{"cluster_id in defaults", "defaults:\n  cluster_id: x\n", []string{"config.yaml:2: cluster_id has no effect here: it records which cluster a profile is | write it under the profile"}, ""},
		{"written twice", "profiles:\n  p:\n    brokers: a\n    brokers: b\n", nil, "config.yaml:4: brokers is written twice (first in line 3)"},
		{"profile twice", "profiles:\n  p: {}\n  p: {}\n", nil, "config.yaml:3: p is written twice"},
		{"not yaml", "profiles:\n\t- x\n", nil, "config.yaml"},
		{"a list at the top", "- a\n", nil, "config.yaml:1: the file must be a mapping"},
		{"a list for one value", "profiles: {p: {client_id: [a, b]}}\n", nil, "client_id takes one value"},
		{"a mapping for one value", "profiles: {p: {client_id: {a: b}}}\n", nil, "client_id must be a plain value"},
		{"a value for a mapping", "profiles: {p: {sasl: PLAIN}}\n", nil, "sasl must be a mapping"},
		{"merging itself", "profiles: {p: &p {<<: *p}}\n", nil, "config.yaml"},
		{"current profile", "current_profile: prodd\nprofiles: {prod: {}}\n", nil, `config.yaml:1: there is no profile "prodd"`},
		{"guard in another profile", "current_profile: a\nprofiles:\n  a: {}\n  b:\n    protected_groups: ['(']\n", nil, "profile b (config.yaml:5): protected_groups"},
		{"confirm", "profiles:\n  b:\n    confirm: yes-please\n", nil, `confirm is "yes-please"`},
		{"bound", "profiles:\n  b:\n    max_rewind: many\n", nil, `max_rewind is "many"`},
		{"read_only", "profiles:\n  b:\n    read_only: maybe\n", nil, `read_only is "maybe"`},
		{"empty", "", nil, ""},
		{"only a comment", "# nothing\n", nil, ""},
		{"nulls", "profiles:\n  p:\ndefaults:\ncurrent_profile:\n", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, file := workspace(t, c.yaml)
			s, err := Load(Inputs{Config: file, ConfigSet: true})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range s.Warnings {
				got = append(got, w.String()+" | "+w.Hint)
			}
			if !slices.Equal(got, c.warn) {
				t.Errorf("warnings\n%q\nwant\n%q", got, c.warn)
			}
		})
	}
}

func TestYAMLMergeAndAlias(t *testing.T) {
	_, file := workspace(t, `
profiles:
  base: &base
    timeout: 5s
    tls: &tls {ca: ca.pem}
  p:
    <<: *base
    timeout: 6s
    brokers: a:1
  q: {brokers: b:1, tls: *tls}
`)
	s, err := Load(Inputs{Config: file, ConfigSet: true, Profile: "p", ProfileSet: true})
	if err != nil {
		t.Fatal(err)
	}
	ca, _ := s.Value("tls.ca")
	if s.Timeout != 6*time.Second || ca.Text != "ca.pem" || s.paths.of(ca) != filepath.Join(filepath.Dir(file), "ca.pem") {
		t.Errorf("timeout %s, ca %q at %q", s.Timeout, ca.Text, s.paths.of(ca))
	}
	if s, err = Load(Inputs{Config: file, ConfigSet: true, Profile: "q", ProfileSet: true}); err != nil {
		t.Fatal(err)
	}
	if ca, _ := s.Value("tls.ca"); ca.Text != "ca.pem" {
		t.Errorf("ca %q", ca.Text)
	}
}

func TestConsumeSection(t *testing.T) {
	_, file := workspace(t, "profiles: {}\nconsume:\n  a: 1\n")
	s, err := Load(Inputs{Config: file, ConfigSet: true})
	if err != nil || s.Consume == nil || s.Consume.Line != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestConfigPath(t *testing.T) {
	for _, c := range []struct {
		in    Inputs
		path  string
		named bool
	}{
		{Inputs{Config: "c.yaml", ConfigSet: true, Dir: "/w", Environ: []string{"KOFFSET_CONFIG=/e.yaml"}}, "/w/c.yaml", true},
		{Inputs{Environ: []string{"KOFFSET_CONFIG=~/e.yaml", "HOME=/h"}}, "/h/e.yaml", true},
		{Inputs{Environ: []string{"XDG_CONFIG_HOME=/x", "HOME=/h"}}, "/x/koffset/config.yaml", false},
		{Inputs{Environ: []string{"XDG_CONFIG_HOME=relative", "HOME=/h"}}, "/h/.config/koffset/config.yaml", false},
		{Inputs{Home: "/given"}, "/given/.config/koffset/config.yaml", false},
		{Inputs{}, "", false},
	} {
		env := config.Environ(c.in.Environ)
		path, named, _, err := configPath(c.in, env, newPaths(c.in, env))
		if err != nil || path != c.path || named != c.named {
			t.Errorf("%+v: %q, %v, %v", c.in, path, named, err)
		}
	}
	if _, err := Load(Inputs{Config: "/no/such.yaml", ConfigSet: true}); err == nil || !strings.Contains(err.Error(), "flag config") {
		t.Errorf("error %v", err)
	}
	if _, err := Load(Inputs{Environ: []string{"KOFFSET_CONFIG=/no/such.yaml"}}); err == nil || !strings.Contains(err.Error(), "environment KOFFSET_CONFIG") {
		t.Errorf("error %v", err)
	}
}

func TestUsageErrors(t *testing.T) {
	_, file := workspace(t, precedenceYAML)
	for _, c := range []struct {
		name string
		in   Inputs
		want string
		hint string
	}{
		{"unknown profile", Inputs{Profile: "namd", ProfileSet: true}, `flag profile: there is no profile "namd"`, "did you mean named?"},
		{"unknown profile, none near", Inputs{Profile: "zzz", ProfileSet: true}, `there is no profile "zzz"`, "profiles: cur, named"},
		{"empty profile", Inputs{ProfileSet: true}, "the name is empty", ""},
		{"profile of the environment", Inputs{Environ: []string{"KOFFSET_PROFILE=nam"}}, "environment KOFFSET_PROFILE", "did you mean named?"},
		{"empty -b", Inputs{Brokers: []string{""}, BrokersSet: true}, "flag -b: a broker's address is empty", "host:port"},
		{"no -b value", Inputs{BrokersSet: true}, "", ""},
		{"-X without =", Inputs{X: []string{"hunter2"}}, "-X: argument 1 has no =", "key=value"},
		{"-X typo", Inputs{X: []string{"sasl.passwrod=hunter2"}}, `-X: unknown key "sasl.passwrod"`, "did you mean sasl.password?"},
		{"-X java", Inputs{X: []string{"security.protocol=SSL"}}, `unknown key "security.protocol"`, "{{command-config FILE}}"},
		{"-X timeout bare", Inputs{X: []string{"timeout=30"}}, "-X timeout: timeout", "write 30s for seconds or 30ms"},
		{"timeout zero", Inputs{X: []string{"timeout=0s"}}, "more than zero", ""},
		{"tz", Inputs{X: []string{"tz=Europe/Berln"}}, `no time zone "Europe/Berln"`, "Europe/Berlin"},
		{"bool", Inputs{X: []string{"tls.enabled=maybe"}}, "neither true nor false", ""},
		{"mechanism", Inputs{X: []string{"sasl.mechanism=SCRAM-SHA-1"}}, `unknown SASL mechanism "SCRAM-SHA-1"`, "SCRAM-SHA-"},
		{"-b and -X brokers", Inputs{Brokers: []string{"a:1"}, BrokersSet: true, X: []string{"brokers=b:1"}}, "-X brokers: flag -b says something else", ""},
		{"token url", Inputs{X: []string{"sasl.oauth.token_url=ftp://u:hunter2@h/t"}}, "not an http(s) URL", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Config, c.in.ConfigSet = file, true
			_, err := Load(c.in)
			if c.want == "" {
				return
			}
			e, ok := errors.AsType[*config.Error](err)
			if !ok {
				t.Fatalf("error %T: %v", err, err)
			}
			if !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%q | %q, want %q | %q", e, e.Hint, c.want, c.hint)
			}
			if strings.Contains(e.Error()+e.Hint, "hunter2") {
				t.Errorf("a secret is in %q | %q", e, e.Hint)
			}
			if e.ErrorKind() != offset.KindUsage {
				t.Errorf("kind %d", e.ErrorKind())
			}
		})
	}
}

func TestEnvironmentWarnings(t *testing.T) {
	s, err := Load(Inputs{Environ: []string{"KOFFSET_BROKRS=a:1", "KOFFSET_SASL_USERNAME=u", "KOFFSET_MINE=1", "KOFFSET_TZ=", "OTHER=1"}, OtherEnv: "KOFFSET_MINE"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range s.Warnings {
		got = append(got, w.String()+" | "+w.Hint)
	}
	want := []string{
		"environment KOFFSET_BROKRS: koffset knows no such variable | did you mean KOFFSET_BROKERS?",
		"environment KOFFSET_SASL_USERNAME: KOFFSET_SASL_USERNAME is now called KOFFSET_SASL_USER; the old name still works | rename it to KOFFSET_SASL_USER",
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings\n%q\nwant\n%q", got, want)
	}
}

func TestNoEffect(t *testing.T) {
	for _, c := range []struct {
		x    []string
		want string // "" is no warning
	}{
		{[]string{"sasl.mechanism=PLAIN", "sasl.user=u", "sasl.password=p", "tls.enabled=true"}, ""},
		{[]string{"sasl.mechanism=PLAIN", "sasl.user=u"}, "-X sasl.mechanism: SASL PLAIN without TLS sends the password readable over the network"},
		{[]string{"sasl.mechanism=SCRAM-SHA-256", "sasl.token=t"}, "-X sasl.token: sasl.token has no effect: SASL SCRAM-SHA-256 does not use it"},
		{[]string{"tls.enabled=false", "tls.ca=x"}, "-X tls.ca: tls.ca has no effect: TLS is off (-X tls.enabled)"},
		{[]string{"tls.ca=x"}, ""},
		{[]string{"tls.insecure_skip_verify=true"}, "-X tls.insecure_skip_verify: the broker's certificate is not checked: anybody on the way can read and change what is sent"},
		{[]string{"read_only=false"}, "-X read_only: read_only has no effect: a guard rail is loosened in its profile only"},
		{[]string{"read_only=true"}, ""},
		{[]string{"sasl.mechanism=OAUTHBEARER", "sasl.token=t", "sasl.oauth.scope=s"}, "-X sasl.oauth.scope: sasl.oauth.scope has no effect: there is no sasl.oauth.token_url"},
		{[]string{"brokers=h"}, `-X brokers: no port in "h": 9092 is used`},
	} {
		s := load(t, c.x...)
		var got []string
		for _, w := range s.Warnings {
			got = append(got, w.String())
		}
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%q: warnings %q, want %q", c.x, got, c.want)
		}
	}
}

func TestParseBrokers(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want []string
		note int
		err  string
	}{
		{[]string{"a:1", "b:2", "a:1"}, []string{"a:1", "b:2"}, 0, ""},
		{[]string{" a:1 ", "a"}, []string{"a:1", "a:9092"}, 1, ""},
		{[]string{"[::1]:9093", "[::1]"}, []string{"[::1]:9093", "[::1]:9092"}, 1, ""},
		{[]string{"::1"}, nil, 0, "not an address"},
		{[]string{"[::1"}, nil, 0, "bracket"},
		{[]string{"a:0"}, nil, 0, "between 1 and 65535"},
		{[]string{"a:65536"}, nil, 0, "between 1 and 65535"},
		{[]string{"a:x"}, nil, 0, "between 1 and 65535"},
		{[]string{"a:"}, nil, 0, "no port after the colon"},
		{[]string{":9092"}, nil, 0, "no host"},
		{[]string{"a:1", ""}, nil, 0, "empty"},
		{[]string{"a b:1"}, nil, 0, "not an address"},
		{[]string{"SASL_SSL://a:1"}, nil, 0, "has a scheme"},
		{[]string{"user:hunter2@a:1"}, nil, 0, "contains an @"},
		{nil, nil, 0, "empty"},
	} {
		got, notes, err := parseBrokers(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error()+err.Hint, "hunter2") {
				t.Errorf("%q: error %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) || len(notes) != c.note {
			t.Errorf("%q: %q, %q, %v", c.in, got, notes, err)
		}
	}
}
