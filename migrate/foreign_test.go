package migrate_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

func TestReadOffsets(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		form migrate.Format
		want string
	}{
		"kafka csv":        {"orders,0,42\norders,1,7\n", migrate.FormatKafkaCSV, " orders:0 42; orders:1 7"},
		"kafka csv, group": {"g,orders,0,42\n", migrate.FormatKafkaCSV, "g orders:0 42"},
		"rpk":              {"orders 0 42\n\norders\t10   7\n", migrate.FormatRpk, " orders:0 42; orders:10 7"},
		"rpk describe": {"GROUP        billing\nCOORDINATOR  0\nSTATE        Empty\nTOTAL-LAG    6\n\n" +
			"TOPIC   PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG\norders  0          42              0                 45              3\norders  1          -               0                 3               3\n\n" +
			"GROUP        other\nSTATE        Empty\n\nTOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET\norders  0          1  45\n",
			migrate.FormatRpk, "billing orders:0 42;other orders:0 1"},
		"kcl": {`[{"topic":"orders","partition":0,"offset":9007199254740993},{"topic":"orders","partition":1,"offset":0}]`, migrate.FormatKcl, " orders:0 9007199254740993; orders:1 0"},
	} {
		f, ok := migrate.GuessFormat([]byte(c.in))
		if !ok || f != c.form {
			t.Errorf("%s: guessed as %q, %t", name, f, ok)
			continue
		}
		rows, err := migrate.ReadOffsets("f", f, []byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%s %s %d", r.Group, r.Partition, r.Offset))
		}
		if strings.Join(got, ";") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, ";"), c.want)
		}
	}
	for name, c := range map[string]struct {
		in   string
		form migrate.Format
		want string
	}{
		"rpk, negative":    {"orders 0 -1\n", migrate.FormatRpk, `f:1: "-1" is not an offset`},
		"rpk, two columns": {"orders 0 1\norders 1\n", migrate.FormatRpk, "f:2: the row has 2 columns"},
		"rpk, twice":       {"orders 0 1\norders 0 1\n", migrate.FormatRpk, "f:2: orders:0 is on line 1 already"},
		"rpk, empty":       {"\n", migrate.FormatRpk, "f: the file has no rows"},
		"kcl, fraction":    {`[{"topic":"a","partition":0,"offset":1.5}]`, migrate.FormatKcl, `f: "1.5" is not an offset`},
		"kcl, missing":     {`[{"topic":"a","partition":0}]`, migrate.FormatKcl, "f: entry 1 has no partition or no offset"},
		"kcl, no json":     {`[{`, migrate.FormatKcl, "f: the file cannot be read as JSON"},
	} {
		_, err := migrate.ReadOffsets("f", c.form, []byte(c.in))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if f, ok := migrate.GuessFormat([]byte("42\n")); ok {
		t.Errorf("one number was guessed to be %s", f)
	}
}

func TestReadTable(t *testing.T) {
	got, err := migrate.ReadTable("f", []byte("topic,partition,source_offset,target_offset\na,0,10,4\na,0,0,0\nb,1,5,5\n"))
	want := map[offset.Partition][]migrate.Sync{{Topic: "a"}: {{Source: 0, Target: 0}, {Source: 10, Target: 4}}, {Topic: "b", Partition: 1}: {{Source: 5, Target: 5}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "a,0,1\n", "a,0,-1,3\n", "a,0,1,5\na,0,2,4\n", "a,0,1,5\na,0,1,6\n", "a b,0,1,5\n"} {
		if got, err := migrate.ReadTable("f", []byte(bad)); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}
