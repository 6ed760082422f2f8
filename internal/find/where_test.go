package find

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func must(c Condition, err error) Condition {
	if err != nil {
		panic(err)
	}
	return c
}

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestConditions(t *testing.T) {
	t.Parallel()
	noon := at("2026-11-29T12:00:00Z")
	order := &kgo.Record{Key: []byte("4711"), Value: []byte(`{"id":9007199254740993,"items":[{"sku":"a"}]}`), Timestamp: noon,
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("x")}, {Key: "trace", Value: []byte("y")}, {Key: "none"}}}
	tombstone := &kgo.Record{Key: []byte("4711"), Timestamp: noon}
	keyless := &kgo.Record{Value: []byte("text"), Timestamp: time.UnixMilli(-1)}
	empty := &kgo.Record{Key: []byte{}, Value: []byte{}}
	binary := &kgo.Record{Key: []byte{0, 0xff, 0x80}, Value: []byte{0xff, 'a', 0}}
	all := map[string]*kgo.Record{"order": order, "tombstone": tombstone, "keyless": keyless, "empty": empty, "binary": binary}
	for _, c := range []struct {
		name    string
		one     Condition
		matches string // the names of the records
	}{
		{"key", Key([]byte("4711")), "order tombstone"},
		{"the empty key is not no key", Key(nil), "empty"},
		{"a binary key", Key([]byte{0, 0xff, 0x80}), "binary"},
		{"a key is whole", Key([]byte("471")), ""},
		{"prefix", KeyPrefix([]byte("47")), "order tombstone"},
		{"a binary prefix", KeyPrefix([]byte{0, 0xff}), "binary"},
		{"the empty prefix needs a key", KeyPrefix(nil), "binary empty order tombstone"},
		{"null key", NullKey(), "keyless"},
		{"null value", NullValue(), "tombstone"},
		{"a header of several of the name", Header("trace", []byte("y")), "order"},
		{"a header's value is whole", Header("trace", []byte("")), ""},
		{"a null header is not the empty one", Header("none", []byte{}), ""},
		{"contains", ValueContains([]byte(`"sku"`)), "order"},
		{"contains bytes", ValueContains([]byte{0xff, 'a'}), "binary"},
		{"match the key or the value", must(Match("^47|^te", nil)), "keyless order tombstone"},
		{"a pattern of nothing needs a key or a value", must(Match("^$", nil)), "empty"},
		{"jq", must(JQ(`.items[].sku == "a"`, nil)), "order"},
		{"jq keeps the digits of numbers", must(JQ(`.id == 9007199254740993`, nil)), "order"},
		{"and tells neighbours apart", must(JQ(`.id == 9007199254740992`, nil)), ""},
		{"time", Between(noon, noon.Add(time.Millisecond)), "order tombstone"},
		{"the end of a time is not in it", Between(noon.Add(-time.Hour), noon), ""},
	} {
		var got []string
		for name, r := range all {
			if a, _ := NewWhere(c.one).ask(t.Context(), r); a == Yes {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != c.matches {
			t.Errorf("%s: matches %q, not %q", c.name, s, c.matches)
		}
	}
}

func TestWhereJoinsByAndAndTellsWhich(t *testing.T) {
	t.Parallel()
	r := &kgo.Record{Key: []byte("k1"), Value: []byte(`{"a":1}`), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}}
	w := NewWhere(must(JQ(".a == 1", nil)), must(Match("a", nil)), Key([]byte("k1")), Header("h", []byte("v")))
	if a, err := w.ask(t.Context(), r); a != Yes || err != nil {
		t.Fatalf("all hold, and the answer is %v, %v", a, err)
	}
	if got := strings.Join(w.how(t.Context(), r), ", "); got != "jq, match value, key, header h" {
		t.Errorf("the conditions are told as %q", got)
	}
	if got := strings.Join(NewWhere(must(Match("k", nil))).how(t.Context(), r), ", "); got != "match key" {
		t.Errorf("a pattern in the key is told as %q", got)
	}
	if a, _ := NewWhere(must(Match("k", nil)), Key([]byte("k2"))).ask(t.Context(), r); a != No {
		t.Errorf("one of two conditions holds, and the answer is %v", a)
	}
	if a, _ := NewWhere().ask(t.Context(), r); a != Yes {
		t.Errorf("without conditions every record matches, and the answer is %v", a)
	}
}

// What a condition could not be asked of is neither a match nor a no, unless another condition says no.
func TestNotAskedIsNotNo(t *testing.T) {
	t.Parallel()
	text := &kgo.Record{Key: []byte("k"), Value: []byte("not json"), Timestamp: time.UnixMilli(-1)}
	two := &kgo.Record{Key: []byte("k"), Value: []byte(`{"a":1} {"a":1}`)}
	number := &kgo.Record{Key: []byte("k"), Value: []byte(`7`)}
	null := &kgo.Record{Key: []byte("k")}
	expr := must(JQ(".a == 1", nil))
	for _, c := range []struct {
		name string
		w    Where
		r    *kgo.Record
		want Answer
	}{
		{"no JSON", NewWhere(expr), text, NotJSON},
		{"two documents", NewWhere(expr), two, NotJSON},
		{"an expression that fails", NewWhere(expr), number, Failed},
		{"no value", NewWhere(expr), null, No},
		{"no JSON, and another key", NewWhere(expr, Key([]byte("x"))), text, No},
		{"no time", NewWhere(Between(time.Unix(0, 0), time.Unix(1, 0))), text, NoTime},
		{"no time, and no JSON", NewWhere(expr, Between(time.Unix(0, 0), time.Unix(1, 0))), text, NoTime},
		{"stops", NewWhere(must(JQ("halt", nil))), number, No},
	} {
		got, err := c.w.ask(t.Context(), c.r)
		if got != c.want || (got == Failed) != (err != nil) {
			t.Errorf("%s: %v, %v, not %v", c.name, got, err, c.want)
		}
	}
}

func TestAnExpressionThatNeverEnds(t *testing.T) {
	t.Parallel()
	a, err := NewWhere(must(JQ("repeat(1) | select(false)", nil))).ask(t.Context(), &kgo.Record{Value: []byte("1")})
	if a != Failed || err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Errorf("%v, %v", a, err)
	}
}

func TestWrongExpressions(t *testing.T) {
	t.Parallel()
	if _, err := Match("(", nil); err == nil || !strings.Contains(err.Error(), "regular expression") {
		t.Errorf("match: %v", err)
	}
	for _, expr := range []string{".a ==", "nosuch(1)", "$x"} {
		if _, err := JQ(expr, nil); err == nil || !strings.Contains(err.Error(), "jq expression") {
			t.Errorf("jq %s: %v", expr, err)
		}
	}
}
