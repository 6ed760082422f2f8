package conn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each registry has its own login, wherever the two are written.
func TestTheLoginOfARegistryIsForThatRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	yaml := `
current_profile: prod
profiles:
  prod:
    brokers: b:9092
    schema_registry: {url: "https://prod:8081", user: prod-user, password: prod-secret}
  bare:
    brokers: b:9092
    schema_registry: {user: bare-user, password: bare-secret}
`
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	flag := func(url string) []FlagValue {
		return []FlagValue{{Key: registryURL, Flag: "--schema-registry", Value: url}}
	}
	for _, c := range []struct {
		name             string
		in               Inputs
		url, user, token string
	}{
		{"the profile's", Inputs{}, "https://prod:8081", "prod-user", ""},
		{"the same by a flag", Inputs{Flags: flag("https://prod:8081")}, "https://prod:8081", "prod-user", ""},
		{"another by a flag", Inputs{Flags: flag("http://other:8081")}, "http://other:8081", "", ""},
		{"another by the environment", Inputs{Environ: []string{"KOFFSET_SCHEMA_REGISTRY_URL=http://other:8081", "KOFFSET_SCHEMA_REGISTRY_TOKEN=tok"}}, "http://other:8081", "", "tok"},
		{"a flag, with a token of the environment", Inputs{Flags: flag("http://other:8081"), Environ: []string{"KOFFSET_SCHEMA_REGISTRY_TOKEN=tok"}}, "http://other:8081", "", "tok"},
		{"another, and the profile was named", Inputs{Flags: flag("http://other:8081"), Profile: "prod", ProfileSet: true}, "http://other:8081", "", ""},
		{"another cluster", Inputs{Brokers: []string{"x:9092"}, BrokersSet: true}, "", "", ""},
		{"a login without a registry", Inputs{Flags: flag("http://other:8081"), Environ: []string{"KOFFSET_PROFILE=bare"}}, "http://other:8081", "", ""},
		{"a login without a registry, of a profile that was named", Inputs{Flags: flag("http://other:8081"), Profile: "bare", ProfileSet: true}, "http://other:8081", "bare-user", ""},
		{"switched off", Inputs{Flags: flag("none")}, "", "", ""},
	} {
		c.in.Config, c.in.ConfigSet = file, true
		s, err := Load(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, err := s.Registry(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r == nil {
			r = &Registry{}
		}
		if strings.Join(r.URLs, ",") != c.url || r.User != c.user || r.Token != c.token || (r.Password == "") != (c.user == "") {
			t.Errorf("%s: %v %q %q", c.name, r.URLs, r.User, r.Token)
		}
	}
}

func TestRegistriesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=http://u:hunter2@h:1"}, "contains a user"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=h:8081"}, "not an http(s) URL"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=ftp://h"}, "not an http(s) URL"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=http://h?x=hunter2"}, "more than a path"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=http://h", "KOFFSET_SCHEMA_REGISTRY_USER=u", "KOFFSET_SCHEMA_REGISTRY_TOKEN=hunter2"}, "a user and a token"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=http://h", "KOFFSET_SCHEMA_REGISTRY_PASSWORD=hunter2"}, "no user"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=https://h", "KOFFSET_SCHEMA_REGISTRY_TLS_KEY=/x"}, "no schema_registry.tls.cert"},
		{[]string{"KOFFSET_SCHEMA_REGISTRY_URL=https://h", "KOFFSET_SCHEMA_REGISTRY_TLS_CA=/nowhere"}, "schema_registry.tls.ca cannot be read"},
	} {
		s, err := Load(Inputs{Environ: c.env})
		if err == nil {
			_, err = s.Registry(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: %v", c.env, err)
		}
	}
}

// A file of Confluent's Java deserializers says the same.
func TestRegistryOfAJavaFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "client.properties")
	text := "bootstrap.servers=b:9092\nschema.registry.url=https://r:8081,https://s:8081\nbasic.auth.credentials.source=USER_INFO\nbasic.auth.user.info=me:hunter2:x\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Inputs{CommandConfig: file, CommandConfigSet: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Registry(t.Context())
	if err != nil || len(r.URLs) != 2 || r.User != "me" || r.Password != "hunter2:x" || len(s.Warnings) > 0 {
		t.Errorf("%+v, %v, warnings %v", r, err, s.Warnings)
	}
	for _, row := range s.Rows() {
		if strings.Contains(row.Value, "hunter2") {
			t.Errorf("%+v", row)
		}
	}
}
