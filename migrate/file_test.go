package migrate_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

func sampleExport() *migrate.Export {
	b := &offset.Bounds{Start: 1, End: 1 << 60, LastStable: 5}
	around := &migrate.Surroundings{EarliestUnread: t0,
		At:     []migrate.Fingerprint{{Offset: 1<<53 + 4, Time: t0, Key: migrate.Hash{1, 2}, Headers: migrate.Hash{9}, Twins: migrate.TwinsBefore, HeadersTell: true}},
		Before: []migrate.Fingerprint{{Offset: 3, Value: migrate.Hash{0xff}, Aborted: true}}}
	return &migrate.Export{
		Header: migrate.Header{CreatedAt: t0, Version: "1.2", ClusterID: "c", Source: "groups", Fingerprints: true,
			Topics: []migrate.Topic{{Name: "t", ID: "abc", Partitions: 4}, {Name: "u", Error: "denied"}}},
		Groups: []migrate.Group{
			{Name: `odd "name" \ ü <&>` + "\x01", Type: "consumer", State: "Stable", Members: 2, Live: true, Rows: []migrate.Row{
				{Partition: offset.Partition{Topic: "t"}, Committed: &offset.Committed{Offset: 1<<53 + 1, LeaderEpoch: offset.EpochOf(0), Metadata: "m\n"}, Bounds: b, Around: around},
				{Partition: offset.Partition{Topic: "t", Partition: 1}, Bounds: b, Around: &migrate.Surroundings{AtEnd: true, AtStart: true, At: []migrate.Fingerprint{}, Before: []migrate.Fingerprint{}}},
				{Partition: offset.Partition{Topic: "t", Partition: 2}, Marker: offset.MarkerEarliest},
				{Partition: offset.Partition{Topic: "t", Partition: 3}, Gone: true, Committed: &offset.Committed{}},
				{Partition: offset.Partition{Topic: "u"}, Error: "denied"},
			}},
			{Name: "empty", Error: "not authorised", Rows: []migrate.Row{}},
		},
		Incomplete: true,
	}
}

func write(t testing.TB, x *migrate.Export) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := migrate.NewWriter(&b, x.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range x.Groups {
		if err := w.Group(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(x.Incomplete); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExportFile(t *testing.T) {
	x := sampleExport()
	data := write(t, x)
	got, err := migrate.ReadExport("f", bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	for i := range x.Groups {
		for j := range x.Groups[i].Rows {
			x.Groups[i].Rows[j].Group = x.Groups[i].Name
		}
	}
	if o := got.Origin("f"); o.Digest == "" || o.Unsealed || o.TopicIDs["t"] != "abc" || o.ClusterID != "c" || !o.At.Equal(t0) {
		t.Errorf("the origin is %+v", o)
	}
	if x.Digest = got.Digest; !reflect.DeepEqual(got, x) {
		t.Errorf("read back:\n%+v\nwant:\n%+v\nfile:\n%s", got, x, data)
	}
	if bytes.Contains(data, []byte(":-1")) {
		t.Errorf("a marker of Kafka's is in the file:\n%s", data)
	}
	// Wherever it is cut off, it is noticed.
	for n := range data[:len(data)-1] {
		if _, err := migrate.ReadExport("f", bytes.NewReader(data[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for a whole export", n, len(data))
		}
	}
}

func TestReadExportRefuses(t *testing.T) {
	good := string(write(t, sampleExport()))
	for name, c := range map[string]struct {
		in    string
		cause error
	}{
		"another kind":                           {strings.Replace(good, "koffset-export", "koffset-plan", 1), checkpointfile.ErrForeign},
		"no kind":                                {"{}\n" + good, checkpointfile.ErrForeign},
		"text":                                   {"hello", checkpointfile.ErrForeign},
		"newer":                                  {strings.Replace(good, `"schema_version":1`, `"schema_version":2`, 1), checkpointfile.ErrNewer},
		"version 0":                              {strings.Replace(good, `"schema_version":1`, `"schema_version":0`, 1), checkpointfile.ErrDamaged},
		"a line gone":                            {strings.Join(append(strings.SplitAfter(good, "\n")[:4], strings.SplitAfter(good, "\n")[5:]...), ""), checkpointfile.ErrDamaged},
		"negative":                               {strings.Replace(good, `"offset":9007199254740993`, `"offset":-1`, 1), checkpointfile.ErrDamaged},
		"twice":                                  {strings.Replace(good, `"partition":1`, `"partition":0`, 1), checkpointfile.ErrDamaged},
		"odd line":                               {strings.Replace(good, `{"kind":"end"`, "{\"x\":1}\n{\"kind\":\"end\"", 1), checkpointfile.ErrDamaged},
		"two files":                              {good + good, checkpointfile.ErrDamaged},
		"a tail":                                 {good + "x", checkpointfile.ErrDamaged},
		"edited":                                 {strings.Replace(good, `"partition":3,"offset":0`, `"partition":3,"offset":1`, 1), checkpointfile.ErrDamaged},
		"renamed":                                {strings.Replace(good, `{"group":"empty"`, `{"group":"other"`, 1), checkpointfile.ErrDamaged},
		"another id":                             {strings.Replace(good, `"cluster_id":"c"`, `"cluster_id":"d"`, 1), checkpointfile.ErrDamaged},
		"no digest, and offsets that do not fit": {unsealed(strings.Replace(good, `"offset":9007199254740993`, `"offset":9007199254740999`, 1)), checkpointfile.ErrDamaged},
		"bad hash":                               {strings.Replace(good, `"key":"01`, `"key":"zz`, 1), checkpointfile.ErrDamaged},
	} {
		_, err := migrate.ReadExport("f", strings.NewReader(c.in))
		var fe *checkpointfile.FileError
		if !errors.As(err, &fe) || !errors.Is(err, c.cause) {
			t.Errorf("%s: %v, want %v", name, err, c.cause)
		}
	}
}

// An editor on Windows saves a mark in front and \r\n between the lines; the contents are the same. What is wrong in a file is
// said in the file's words.
func TestReadExportOfAnEditor(t *testing.T) {
	good := string(write(t, sampleExport()))
	edited, err := migrate.ReadExport("f", strings.NewReader("\xef\xbb\xbf"+strings.ReplaceAll(good, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := migrate.ReadExport("f", strings.NewReader(good)); !reflect.DeepEqual(edited, want) {
		t.Errorf("%+v, want %+v", edited, want)
	}
	_, err = migrate.ReadExport("f", strings.NewReader(strings.Replace(good, `"offset":9007199254740993`, `"offset":"x"`, 1)))
	if err == nil || !strings.Contains(err.Error(), "offset is a string") || strings.Contains(err.Error(), "rowJSON") || strings.Contains(err.Error(), "int64") {
		t.Errorf("an offset that is a text: %v", err)
	}
}

// unsealed is an export as an older koffset wrote it.
func unsealed(export string) string {
	return regexp.MustCompile(`,"digest":"[^"]*"`).ReplaceAllString(export, "")
}

func TestReadExportWithoutDigest(t *testing.T) {
	x, err := migrate.ReadExport("f", strings.NewReader(unsealed(string(write(t, sampleExport())))))
	if err != nil || !x.Origin("f").Unsealed {
		t.Errorf("%+v, %v", x, err)
	}
	// Spaces and line ends are not contents.
	spaced := strings.ReplaceAll(string(write(t, sampleExport())), `,"`, ` , "`)
	if _, err := migrate.ReadExport("f", strings.NewReader(spaced)); err != nil {
		t.Error(err)
	}
}

// The small seeds are what the fuzzer gets anywhere with: it shrinks what it finds in large ones for a minute each
// (-fuzzminimizetime 10x keeps it from that).
func FuzzReadExport(f *testing.F) {
	f.Add(write(f, sampleExport()))
	head := `{"kind":"koffset-export","schema_version":1,"created_at":"2026-11-29T10:00:00Z"}` + "\n"
	for _, s := range []string{
		head + `{"kind":"end","groups":0,"partitions":0}`,
		head + `{"topic":"t","partitions":1}` + "\n" + `{"group":"g","partitions":[{"topic":"t","partition":0,"offset":5,"log_start_offset":1,"log_end_offset":9,"last_stable_offset":9}]}` + "\n" + `{"kind":"end","groups":1,"partitions":1}`,
		head + `{"group":"g","partitions":[{"topic":"t","partition":0,"offset":null,"marker":"earliest"}]}` + "\n" + `{"kind":"end","groups":1,"partitions":1,"incomplete":true}`,
		head + `{"group":"g","error":"denied","partitions":[]}` + "\n" + `{"kind":"end","groups":1,"partitions":0}`,
	} {
		if _, err := migrate.ReadExport("f", strings.NewReader(s)); err != nil {
			f.Fatalf("a seed is no export: %v", err)
		}
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := migrate.ReadExport("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		// What was read can be written and read again, and is the same.
		once := write(t, x)
		again, err := migrate.ReadExport("f", bytes.NewReader(once))
		if err != nil {
			t.Fatal(err)
		}
		if twice := write(t, again); !bytes.Equal(once, twice) {
			t.Fatalf("read again it is another:\n%s\n%s", once, twice)
		}
	})
}

// An export of the fixture: what is committed, what is not, and what is around.
func TestReadGroups(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "x-")
	kafkatest.CreateTopic(t, cl, "gone", 1)
	kafkatest.Commit(t, cl, f.App, kafkatest.At("gone", 0, 0))
	x := export(t, cl, f.App, f.App2)
	if x.Incomplete || len(x.Groups) != 2 || len(x.Groups[1].Rows) != 3 {
		t.Fatalf("got %+v", x)
	}
	rows := x.Groups[1].Rows
	if c := rows[0].Committed; c == nil || c.Offset != 6 || c.Metadata != "ckpt=17" || c.LeaderEpoch != offset.EpochOf(0) {
		t.Errorf("partition 0 is %+v", rows[0])
	}
	if rows[2].Committed != nil || rows[2].Bounds == nil || rows[2].Bounds.End != 10 {
		t.Errorf("partition 2 has no commit, and the export says %+v", rows[2])
	}
	a := rows[0].Around
	if len(a.At) != 4 || len(a.Before) != 2 || a.At[0].Offset != 6 || a.Before[0].Offset != 5 || a.Before[1].Offset != 4 ||
		!a.At[0].Time.Equal(time.UnixMilli(kafkatest.F1Start+600)) || !a.EarliestUnread.Equal(a.At[0].Time) {
		t.Errorf("around 6 of [4, 10] is %+v", a)
	}
	if topic, ok := x.Topic(f.Topic); !ok || topic.Partitions != 3 || len(topic.ID) != 22 {
		t.Errorf("the topic is %+v", topic)
	}
}

// Transactions leave holes and aborted records; a record that every mirror copies is always among those before.
func TestSurroundingsOfTransactions(t *testing.T) {
	_, cl := kafkatest.FakeClient(t)
	f := kafkatest.OpenF3(t, cl, "x-")
	for p := range int64(12) {
		kafkatest.Commit(t, cl, fmt.Sprint("g", p), kafkatest.At(f.Topic, 0, p))
		a := export(t, cl, fmt.Sprint("g", p)).Groups[0].Rows[0].Around
		data := []int64{0, 1, 2, 4, 5, 7, 8, 9, 10} // 3 and 6 are markers; 4 and 5 aborted; from 7 on open
		var at, before []int64
		for _, n := range data {
			if n >= p {
				at = append(at, n)
			}
			if n < p {
				before = append([]int64{n}, before...)
			}
		}
		var gotAt, gotBefore []int64
		plain := false
		for _, x := range a.At {
			gotAt = append(gotAt, x.Offset)
		}
		for _, x := range a.Before {
			gotBefore = append(gotBefore, x.Offset)
			plain = plain || !x.Aborted
			if x.Aborted != (x.Offset == 4 || x.Offset == 5) {
				t.Errorf("offset %d: aborted is %t", x.Offset, x.Aborted)
			}
		}
		// The records of each transaction look alike, so a side may have more than four: up to one that is itself alone.
		alone := func(list []migrate.Fingerprint) int {
			n := slices.IndexFunc(list, func(x migrate.Fingerprint) bool { return x.Twins == migrate.TwinsNone && !x.Aborted }) + 1
			if n == 0 {
				return len(list)
			}
			return max(n, min(len(list), 4))
		}
		if !reflect.DeepEqual(gotAt, at[:alone(a.At)]) || !reflect.DeepEqual(gotBefore, before[:alone(a.Before)]) || len(before) > 0 && !plain ||
			len(gotAt) < min(len(at), 4) || len(gotBefore) < min(len(before), 4) {
			t.Errorf("around %d: at %v, before %v; want %v, %v", p, gotAt, gotBefore, at, before)
		}
		if a.AtEnd != (len(at) == 0) || a.AtStart != (len(before) == 0) {
			t.Errorf("around %d: at end %t, at start %t", p, a.AtEnd, a.AtStart)
		}
	}
}
