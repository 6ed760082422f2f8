package config

import (
	"strings"
	"testing"
)

func table() *Table {
	return NewTable([]Key{
		{Name: "topic", Same: []string{"topics"}, Kind: List},
		{Name: "password", Group: "password", Secret: true, Old: []string{"pass"}},
		{Name: "password_file", Group: "password", Kind: Path},
		{Name: "tls.ca"},
	})
}

func TestTable(t *testing.T) {
	tab := table()
	for name, want := range map[string]string{"topic": "topic", "topics": "topic", "pass": "password", "tls.ca": "tls.ca", "tls": "", "Topic": ""} {
		k, old, ok := tab.Lookup(name)
		if k.Name != want || ok != (want != "") || old != (name == "pass") {
			t.Errorf("%s is %q, old %v, %v", name, k.Name, old, ok)
		}
	}
	if got := strings.Join(tab.Names(), " "); got != "topic topics password password_file tls.ca" {
		t.Errorf("names %s", got)
	}
	if got := tab.Under("tls"); len(got) != 1 || got[0] != "ca" || tab.Under("topic") != nil {
		t.Errorf("under tls %q", got)
	}
}

// The layers of a test are written as name=value.
func layer(t *testing.T, r *Reader, written ...string) (Layer, error) {
	t.Helper()
	l := Layer{}
	for i, w := range written {
		name, value, _ := strings.Cut(w, "=")
		k, _, ok := r.Table.Lookup(name)
		if !ok {
			t.Fatalf("no key %s", name)
		}
		v := k.Written(value, Source{Kind: FromDefaults, File: "/etc/c.yaml", Line: i + 1})
		v.As = name
		if err := r.Put(l, k, Place("c.yaml", i+1), v); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func TestPutRefusesTwoAnswers(t *testing.T) {
	for _, c := range []struct {
		written []string
		err     string
	}{
		{[]string{"password=a", "pass=a"}, ""},
		{[]string{"topic=a,b", "topics=a, b"}, ""},
		{[]string{"password=a", "pass=b"}, "c.yaml:2: pass and password (defaults (c.yaml:1)) are the same setting with different values"},
		{[]string{"topic=a,b", "topics=a"}, "c.yaml:2: topics and topic (defaults (c.yaml:1)) are the same setting with different values"},
		{[]string{"pass=hunter2", "password_file=f"}, "c.yaml:2: password_file and pass (defaults (c.yaml:1)) are two ways to say one thing"},
	} {
		_, err := layer(t, &Reader{Table: table()}, c.written...)
		if got := errText(err); got != c.err {
			t.Errorf("%q: %q, want %q", c.written, got, c.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMerge(t *testing.T) {
	r := &Reader{Table: table()}
	strong, _ := layer(t, r, "password_file=f")
	weak, _ := layer(t, r, "password=p", "tls.ca=weak", "topic=a")
	got := r.Table.Merge([]Layer{strong, weak}, func(k Key) bool { return k.Name == "topic" })
	if len(got) != 2 || got["password_file"].Text != "f" || got["tls.ca"].Text != "weak" {
		t.Errorf("%v", got)
	}
	if one := r.Table.Only(weak, func(k Key) bool { return k.Secret }); len(one) != 1 || one["password"].Text != "p" {
		t.Errorf("%v", one)
	}
}

func TestEnvironment(t *testing.T) {
	r := &Reader{Table: table()}
	var strangers []string
	l, err := r.Environment(Environ([]string{"K_TLS_CA=a", "K_PASS=p", "K_TOPIC=", "K_TOPICC=x", "OTHER=1", "K_TLS_CA=b"}), "K_", func(name string, known []string) error {
		strangers = append(strangers, name+" "+Near(name, known))
		return nil
	})
	if err != nil || len(l) != 2 || l["tls.ca"].Text != "b" || l["password"].Source.String() != "environment K_PASS" {
		t.Errorf("%v, %v", l, err)
	}
	if len(strangers) != 1 || strangers[0] != "K_TOPICC did you mean K_TOPIC?" {
		t.Errorf("%q", strangers)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Text != "K_PASS is now called K_PASSWORD; the old name still works" {
		t.Errorf("%v", r.Warnings)
	}
}

func TestFlatten(t *testing.T) {
	for _, c := range []struct{ yaml, want, err string }{
		{"a:\n  b: 1\n  c: [x, y]\nd.e: z\nf:\n", "a.b=1@2 a.c=x,y@3 d.e=z@4", ""},
		{"base: &b {x: 1, y: 2}\nrun:\n  <<: *b\n  y: 3\n", "base.x=1@1 base.y=2@1 run.y=3@4 run.x=1@1", ""},
		{"a: {b: 1, b: 1}\n", "", "c.yaml:1: b is written twice (first in line 1)"},
		{"a: &a\n  b: *a\n", "", "c.yaml:1: a.b.b"},
		{"a: &a\n  <<: *a\n", "", "c.yaml:1: a merges itself"},
		{"a: [[1]]\n", "", "c.yaml:1: a must be a list of plain values"},
		{"[1]\n", "", "c.yaml:1: the section must be a mapping of keys and values"},
		{"# nothing\n", "", ""},
	} {
		root, err := Document("/etc/c.yaml", []byte(c.yaml))
		var got []string
		if root != nil {
			var values []Value
			values, err = Flatten(root, "/etc/c.yaml", FromJob)
			for _, v := range values {
				got = append(got, v.As+"="+v.Text+"@"+strings.TrimSuffix(strings.TrimPrefix(v.Source.String(), "job (c.yaml:"), ")"))
			}
		}
		if strings.Join(got, " ") != c.want || !strings.HasPrefix(errText(err), c.err) || c.err == "" && err != nil {
			t.Errorf("%q: %q, %v", c.yaml, got, err)
		}
	}
}
