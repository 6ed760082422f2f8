package checkpointfile

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/koffset/koffset/offset"
)

func row(group, topic string, p int32, off int64, line int) CSVRow {
	return CSVRow{Group: group, Grouped: group != "", Partition: offset.Partition{Topic: topic, Partition: p}, Offset: off, Line: line}
}

func TestReadKafkaCSV(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []CSVRow
	}{
		{"three columns", "t,0,5\nt,1,7\n", []CSVRow{row("", "t", 0, 5, 1), row("", "t", 1, 7, 2)}},
		{"four columns", "g,t,0,5\ng2,t,0,6", []CSVRow{row("g", "t", 0, 5, 1), row("g2", "t", 0, 6, 2)}},
		{"mark, CRLF, blank lines, header, spaces", "\xef\xbb\xbfTOPIC,PARTITION,NEW-OFFSET\r\n\r\nt, 0, 5\r\n   \r\nt,1,7\r\n",
			[]CSVRow{row("", "t", 0, 5, 3), row("", "t", 1, 7, 5)}},
		{"a group with a comma", "\"a,b\",t,0,9223372036854775807\n", []CSVRow{row("a,b", "t", 0, 1<<63-1, 1)}},
		{"the group without a name", "\"\",t,0,5\n", []CSVRow{{Grouped: true, Partition: offset.Partition{Topic: "t"}, Offset: 5, Line: 1}}},
		{"a topic called topic", "topic,0,1\n", []CSVRow{row("", "topic", 0, 1, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadKafkaCSV("f.csv", strings.NewReader(c.in))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
}

func TestReadKafkaCSVRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, says string }{
		{"two columns", "t,0\n", "f.csv:1:3: the row has 2 columns"},
		{"five columns", "g,t,0,5,x\n", "f.csv:1:9: the row has 5 columns"},
		{"columns change", "t,0,5\ng,t,0,5\n", "f.csv:2:7: the row has 4 columns, the ones before it 3"},
		{"a negative offset", "t,0,5\n\nt,1,-1\n", "f.csv:3:5: -1 is not an offset"},
		{"no offset", "t,0,-\n", `f.csv:1:5: "-" is not an offset`},
		{"a partition", "t,x,5\n", `f.csv:1:3: "x" is not a partition number`},
		{"a partition too large", "t,2147483648,5\n", "not a partition number"},
		{"a topic", "a b,0,5\n", `f.csv:1:1: "a b" cannot be a topic name`},
		{"twice", "t,0,5\nt,1,5\nt,0,6\n", "f.csv:3:1: t:0 is on line 1 already"},
		{"Kafka's own warning", "Warn: Partition 0 from topic t is empty.\nt,0,5\n", "f.csv:1:1: \"Warn: Partition 0 from topic t is empty.\" is a message"},
		{"an open quote", "t,0,5\n\"t,1,5\n", "f.csv:2:"},
		{"a header in the middle", "t,0,5\ntopic,partition,offset\n", `f.csv:2:7: "partition" is not a partition number`},
		{"nothing", "\n\n", "f.csv: the file has no rows"},
		{"a header alone", "topic,partition,offset\n", "f.csv: the file has no rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadKafkaCSV("f.csv", strings.NewReader(c.in))
			var fe *FileError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %+v, %v; want it to say %q", got, err, c.says)
			}
		})
	}
}

func FuzzKafkaCSV(f *testing.F) {
	f.Add("t,0,5\nt,1,7\n")
	f.Add("g,t,0,5\n")
	f.Add("\xef\xbb\xbftopic,partition,offset\r\n\"t\",0,1\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		rows, err := ReadKafkaCSV("f", strings.NewReader(in))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteKafkaCSV(&b, rows, rows[0].Grouped); err != nil {
			t.Fatal(err)
		}
		again, err := ReadKafkaCSV("f", &b)
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		for i := range again {
			again[i].Line = rows[i].Line
			if rows[i].Offset < 0 || rows[i].Partition.Partition < 0 {
				t.Errorf("a negative number was read: %+v", rows[i])
			}
		}
		if !reflect.DeepEqual(rows, again) {
			t.Errorf("got %+v\nwant %+v", again, rows)
		}
	})
}
