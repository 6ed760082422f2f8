package conn

import (
	"maps"
	"strings"
	"testing"
)

func TestParseJAAS(t *testing.T) {
	const m = "org.apache.kafka.common.security.plain.PlainLoginModule"
	for _, c := range []struct {
		in   string
		want map[string]string
		err  string
	}{
		{in: m + ` required username="alice" password="secret";`, want: map[string]string{"username": "alice", "password": "secret"}},
		{in: m + ` required username='alice' password='it"s';`, want: map[string]string{"username": "alice", "password": `it"s`}},
		{in: m + ` required username=alice password="a \"b\" \\ c\t\101\u";`, want: map[string]string{"username": "alice", "password": "a \"b\" \\ c\tAu"}},
		{in: m + ` REQUIRED a="=;" b="${x}" c="//no comment";`, want: map[string]string{"a": "=;", "b": "${x}", "c": "//no comment"}},
		{in: "  " + m + "\n\trequired // who\n a=1 /* b=2 */ c-d_e.$f=x;  ", want: map[string]string{"a": "1", "c-d_e.$f": "x"}},
		{in: m + ` required pass="sch\303\251n ö";`, want: map[string]string{"pass": "sch\u00c3\u00a9n ö"}},
		{in: m + ` required;`, want: map[string]string{}},
		{in: m + ` required x="";`, want: map[string]string{"x": ""}},
		{in: "", err: "class of a login module"},
		{in: m, err: "control flag"},
		{in: m + ` username="a";`, err: "control flag"},
		{in: m + ` required username="a"`, err: "semicolon"},
		{in: m + ` required username="a;`, err: "closing quote"},
		{in: m + ` required username="a\`, err: "closing quote"},
		{in: m + " required username=\"a\n\";", err: "end of the line"},
		{in: m + ` required username "a";`, err: "option username is not followed by ="},
		{in: m + ` required password=;`, err: "option password has no value"},
		{in: m + ` required password=p@ss;`, err: "option name was expected"},
		{in: m + ` required password=!ecret;`, err: "option password has no value"},
		{in: m + ` required a="1" a="2";`, err: "twice"},
		{in: m + ` required a="1"; ` + m + ` required b="2";`, err: "one login module"},
		{in: m + ` required /* a="1";`, err: "comment"},
	} {
		e, err := parseJAAS(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if e.module != m || !maps.Equal(e.options, c.want) {
			t.Errorf("%q: %s %q, want %q", c.in, e.module, e.options, c.want)
		}
	}
}

// Whatever is read must come out the same when it is written as JAAS again, and
// an error must not repeat what stood in quotes.
func FuzzJAAS(f *testing.F) {
	for _, s := range []string{
		`a.PlainLoginModule required username="alice" password="secret";`,
		`a.ScramLoginModule required username='a' password="b\"c\\d\n" x=1; `,
		`a required // c` + "\n" + `b="\101\377\400";`, `a required /* b */;`, `a required b="`, `a required b=\`, "a required b='\x00\xff';",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseJAAS(s)
		if err != nil {
			return
		}
		var b strings.Builder
		b.WriteString(e.module + " required")
		for _, o := range e.order {
			b.WriteString(" " + o + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(e.options[o]) + `"`)
		}
		again, err := parseJAAS(b.String() + ";")
		if err != nil {
			t.Fatalf("%q, written as %q: %v", s, b.String(), err)
		}
		if again.module != e.module || !maps.Equal(again.options, e.options) {
			t.Fatalf("%q: %q, then %q", s, e.options, again.options)
		}
	})
}
