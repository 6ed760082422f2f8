package flink

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The parser on what no real snapshot at hand holds.

// rows writes a snapshot's rows in short: topic:partition@next or marker, with the state unless assigned.
func rows(s *Snapshot) string {
	var out []string
	for _, src := range s.Sources {
		for _, p := range src.Partitions {
			at := string(p.Marker)
			if p.Next != nil {
				at = fmt.Sprint(*p.Next)
			}
			r := fmt.Sprintf("%s:%d@%s", p.Topic, p.Partition, at)
			if p.Cluster != "" {
				r = p.Cluster + "/" + r
			}
			if p.Stopping != nil {
				r += fmt.Sprintf("-%d", *p.Stopping)
			}
			if p.StoppingMarker != "" {
				r += "-" + string(p.StoppingMarker)
			}
			if p.State != Assigned {
				r += "(" + string(p.State) + ")"
			}
			out = append(out, r)
		}
	}
	return strings.Join(out, " ")
}

func codes(s *Snapshot) string {
	var out []string
	for _, w := range s.Warnings {
		out = append(out, string(w.Code))
	}
	return strings.Join(out, " ")
}

// source is an operator whose only subtask reads topic at the given offsets.
func source(id byte, topic string, starts ...int64) encOp {
	return encOp{id: id, subs: []encSub{{op: stateHandle(plainV6, readerState(topic, starts...))}}}
}

func mustParse(t *testing.T, b []byte, files map[string][]byte) *Snapshot {
	t.Helper()
	s, err := parseBytes(b, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.OperatorErrors {
		t.Errorf("%v", e.Error())
	}
	return s
}

// TestEveryHandle puts every kind of handle of every version before a Kafka source, which is found only if each of them
// was read to its last byte.
func TestEveryHandle(t *testing.T) {
	keyGroups := cat(i32(0), i32(2), i64(1), i64(2))
	incremental := func(size bool, shared ...[]byte) []byte {
		b := cat(i64(7), utf("backend"), i32(0), i32(64))
		if size {
			b = append(b, i64(99)...)
		}
		return cat(b, inline([]byte("meta")), list(shared...), list(cat(utf("x"), relFile("private", 5))))
	}
	sst := cat(utf("000001.sst"), inFile("file:/elsewhere/shared/sst", 10))
	kg := code(3, keyGroups, inline([]byte("keyed")))
	memory := cat(i32(0), i32(64), i64(1), i64(2), list(cat(i32(3), list([]byte("ab")[:1], []byte("b")))))
	file := cat(i32(0), i32(64), list(cat(i64(5), relFile("changes", 3))), i64(4))
	keyed := map[string][]byte{
		"none":              {0},
		"key groups":        kg,
		"savepoint":         code(7, keyGroups, relFile("kg", 8)),
		"key groups V2":     code(12, keyGroups, inline(nil), utf("id")),
		"incremental":       code(5, incremental(false, sst)),
		"incremental V2":    code(11, incremental(true, sst, sst), utf("id")),
		"changelog":         code(8, i32(0), i32(64), i64(10), list(kg), list(code(9, memory, utf("id"))), i64(1), utf("id")),
		"changelog V2":      code(14, i32(0), i32(64), i64(10), list(kg, kg), list(), i64(1), i64(5), utf("id")),
		"in memory":         code(9, memory, utf("id")),
		"in files":          code(10, file, i64(4), utf("id")),
		"in files V2":       code(13, file, i64(4), utf("id"), utf("storage")),
		"key group stream":  code(3, keyGroups, code(3, keyGroups, inFile("hdfs://h/a/b", 5))),
		"segment":           code(12, keyGroups, segment("file:/m/taskowned/f", 4, 9), utf("id")),
		"empty segment":     code(12, keyGroups, code(16), utf("id")),
		"no stream":         code(3, keyGroups, code(0)),
		"nested changelogs": code(14, i32(0), i32(64), i64(10), list(code(14, i32(0), i32(64), i64(10), list(kg), list(), i64(1), i64(5), utf("id"))), list(), i64(1), i64(5), utf("id")),
	}
	other := []encState{{"other", [][]byte{[]byte("abc"), []byte("d")}}, {"empty", nil}}
	for version := 2; version <= 7; version++ {
		for name, h := range keyed {
			busy := encOp{name: "busy", uid: "ü\x00𝄞", id: 1, subs: []encSub{{
				op: stateHandle(plainV6, other...), rawOp: stateHandle(plainV5, other...), keyed: h, rawKeyed: kg,
			}, {index: 1, keyed: h}}}
			b := encMetaWith(version, [][]byte{cat(i32(-0x3694E96A), list([]byte("x"), []byte("y")))}, busy, encOp{id: 3}, source(2, "orders", 5, -2))
			s := mustParse(t, b, nil)
			if got := rows(s); got != "orders:0@5 orders:1@earliest" || s.Operators != 3 || s.CheckpointID != 42 || s.MetadataVersion != version {
				t.Errorf("version %d, %s: %s", version, name, got)
			}
			for n := range b {
				if _, err := parseBytes(b[:n], nil); err == nil {
					t.Fatalf("version %d, %s: cut at %d of %d bytes without an error", version, name, n, len(b))
				}
			}
		}
	}
}

func TestChannelState(t *testing.T) {
	untagged := cat(i32(0), i32(1), i32(2), list(i64(0)), i64(5), inline([]byte("bytes")))
	merged := cat(i32(0), i64(5), inline([]byte("bytes")), list([]byte("o"), []byte("p")))
	old := untagged[4:] // Flink 1.11: no subtask index
	for name, c := range map[string]struct {
		version int
		handles [][]byte
	}{
		"1.12":     {3, [][]byte{untagged, untagged}},
		"1.11":     {3, [][]byte{old, old, old}},
		"1.11 one": {3, [][]byte{old}},
		"2.0":      {5, [][]byte{untagged}},
		"2.1":      {6, [][]byte{code(1, untagged), code(3, merged)}},
		"7":        {7, [][]byte{code(2, untagged), code(4, merged)}},
	} {
		busy := encOp{id: 1, subs: []encSub{{in: c.handles, out: c.handles, ref: i64(7)}, {index: 1}}}
		s := mustParse(t, encMeta(c.version, busy, source(2, "orders", 5)), nil)
		if rows(s) != "orders:0@5" || !s.InFlight || codes(s) != string(WarnInFlight) {
			t.Errorf("%s: %s %v %s", name, rows(s), s.InFlight, codes(s))
		}
	}
}

// TestChangelog114 reads the short forms that Flink 1.14 wrote under codes that got longer later.
func TestChangelog114(t *testing.T) {
	kg := code(3, i32(0), list(i64(1)), inline([]byte("k")))
	memory := code(9, i32(0), i32(64), i64(1), i64(2), list(cat(i32(3), list([]byte("a")))))
	file := code(10, i32(0), i32(64), list(cat(i64(5), relFile("changes", 3))), i64(4))
	h := code(8, i32(0), i32(64), list(kg), list(memory, file))
	s := mustParse(t, encMeta(3, encOp{id: 1, subs: []encSub{{keyed: h}}}, source(2, "orders", 5)), nil)
	if rows(s) != "orders:0@5" {
		t.Error(rows(s))
	}
}

func TestFinished(t *testing.T) {
	op := encOp{id: 1, parallelism: 3, subs: []encSub{
		{index: 0, op: stateHandle(plainV6, readerState("orders", 5))}, {index: 1, finished: true}, {index: 2, finished: true}}}
	enum := coordinator(2, cat(list(cat(utf("done"), i32(0), i32(0))), []byte{1}))
	done := encOp{id: 2, finished: true, coord: enum}
	s := mustParse(t, encMeta(6, op, done), nil)
	if rows(s) != "orders:0@5 done:0@(finished-or-lost)" || codes(s) != string(WarnFinishedOrLost) {
		t.Errorf("%s, %s", rows(s), codes(s))
	}
}

func TestRefusedFiles(t *testing.T) {
	whole := encMeta(4, source(1, "orders", 5))
	version := func(v int) []byte { return cat(whole[:4], i32(v), whole[8:]) }
	keyed := func(h []byte) []byte {
		return encMeta(6, encOp{name: "my map", id: 0xAB, subs: []encSub{{keyed: h}}})
	}
	id := strings.Repeat("ab", 16)
	deep := []byte{0}
	for range 40 {
		deep = code(14, i32(0), i32(64), i64(10), list(deep), list(), i64(1), i64(5), utf("id"))
	}
	for name, c := range map[string]struct {
		file []byte
		is   error
		says []string
	}{
		"empty":           {nil, ErrNotSnapshot, nil},
		"text":            {[]byte("PK\x03\x04 not a snapshot"), ErrNotSnapshot, []string{"1.0"}},
		"version 1":       {version(1), ErrVersion, []string{"version 1", "1.2"}},
		"version 8":       {version(8), ErrVersion, []string{"version 8", "newer"}},
		"version -1":      {version(-1), ErrVersion, nil},
		"keyed code":      {keyed([]byte{99}), nil, []string{id, "my map", "byte ", "keyed state handle code 99"}},
		"stream code":     {keyed(code(3, i32(0), list(), code(5))), nil, []string{id, "stream handle code 5"}},
		"operator code":   {encMeta(6, encOp{id: 0xAB, subs: []encSub{{op: []byte{7}}}}), nil, []string{id, "operator state handle code 7"}},
		"channel code":    {encMeta(6, encOp{id: 0xAB, subs: []encSub{{in: [][]byte{bytes.Repeat([]byte{9}, 40)}}}}), nil, []string{"channel state handle code 9"}},
		"coordinator":     {bytes.Replace(encMeta(6, encOp{id: 0xAB}), cat(i32(1), i32(128), []byte{0}), cat(i32(1), i32(128), []byte{2}, i64(1), utf("x")), 1), nil, []string{"coordinator"}},
		"merging":         {encMeta(6, encOp{id: 0xAB, subs: []encSub{{op: code(17, i32(0), utf("a"), utf("b"), []byte{0}, inline(nil))}}}), nil, []string{"15 or 16"}},
		"subtask":         {encMeta(6, encOp{id: 0xAB, subs: []encSub{{index: 5}}}), nil, []string{"subtask 5 of parallelism 1"}},
		"deep":            {keyed(deep), nil, []string{"too deep"}},
		"trailing bytes":  {append(encMeta(3, source(1, "orders", 5)), 0), nil, []string{"1 bytes follow"}},
		"no properties":   {whole[:bytes.Index(whole, []byte{0xAC, 0xED})], ErrTruncated, []string{"properties"}},
		"legacy in two":   {bytes.Replace(encMeta(2, source(1, "orders", 5)), cat(i64(-1), i32(0)), cat(i64(-1), i32(1)), 1), nil, []string{"Flink 1.1"}},
		"count of states": {encMeta(6, encOp{id: 0xAB, subs: []encSub{{op: code(4, i32(1<<30))}}}), ErrTruncated, []string{"operator states"}},
	} {
		s, err := parseBytes(c.file, nil)
		if err == nil || s != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", name, err, c.is)
		}
		for _, say := range c.says {
			if !strings.Contains(err.Error(), say) {
				t.Errorf("%s: %q does not say %q", name, err, say)
			}
		}
	}
}

// TestUnknownCodePosition holds the byte position of an unknown code against where it lies.
func TestUnknownCodePosition(t *testing.T) {
	b := encMeta(6, encOp{id: 0xAB, subs: []encSub{{keyed: []byte{0xEE}}}})
	pos := bytes.IndexByte(b, 0xEE)
	if _, err := parseBytes(b, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("byte %d: ", pos)) {
		t.Errorf("%v, and it lies at %d", err, pos)
	}
}

func TestPropertiesOfAnotherShape(t *testing.T) {
	whole := encMeta(4, source(1, "orders", 5))
	body := whole[:bytes.Index(whole, []byte{0xAC, 0xED, 0, 5})]
	null := mustParse(t, cat(body, []byte{0xAC, 0xED, 0, 5, 0x70}), nil)
	array := mustParse(t, cat(body, []byte{0xAC, 0xED, 0, 5, 0x75, 1, 2}), nil)
	if rows(null) != "orders:0@5" || null.Kind != UnknownKind || codes(null) != "" {
		t.Errorf("null: %s %s %s", rows(null), null.Kind, codes(null))
	}
	if rows(array) != "orders:0@5" || codes(array) != string(WarnProperties) {
		t.Errorf("array: %s %s", rows(array), codes(array))
	}
}

func TestEnumerators(t *testing.T) {
	tp := func(topic string, p int) []byte { return cat(utf(topic), i32(p)) }
	lp := func(topic string, p int, start int64) []byte {
		b := kafkaPayload(topic, p, start, 100)
		return cat(i32(len(b)), b)
	}
	v3 := func(parts ...[]byte) []byte { return cat(i32(len(parts)), i32(0), cat(parts...), []byte{1}) }
	for name, c := range map[string]struct {
		coord    []byte
		readers  []int64
		want     string
		warnings string
		err      string
	}{
		"v0":                    {coord: coordinator(0, cat(i32(1), i32(0), i32(0), list(lp("t", 0, 1), lp("t", 2, 1)))), readers: []int64{9}, want: "t:0@9 t:2@-100(finished-or-lost)", warnings: "finished-or-lost"},
		"v1":                    {coord: coordinator(1, list(tp("t", 0), tp("t", 1))), readers: []int64{9, 8}, want: "t:0@9 t:1@8"},
		"v2":                    {coord: coordinator(2, cat(list(cat(tp("t", 0), i32(0)), cat(tp("t", 1), i32(1)), cat(tp("t", 2), i32(0))), []byte{1})), readers: []int64{9}, want: "t:0@9 t:1@(unassigned) t:2@(finished-or-lost)", warnings: "enumerator-only finished-or-lost"},
		"v3":                    {coord: coordinator(3, v3(cat(lp("t", 0, -2), i32(0)), cat(lp("t", 1, 7), i32(1)), cat(lp("t", 2, -2), i32(1)), cat(lp("t", 3, noOffset), i32(1)), cat(lp("t", 4, 3), i32(0)))), readers: []int64{9}, want: "t:0@9 t:1@7-100(unassigned) t:2@earliest-100(unassigned) t:3@-100(unassigned) t:4@-100(finished-or-lost)", warnings: "enumerator-only finished-or-lost"},
		"v3, no reader":         {coord: coordinator(3, v3(cat(lp("t", 1, 7), i32(1)))), want: "t:1@7-100(unassigned)", warnings: "enumerator-only"},
		"reader wins":           {coord: coordinator(3, v3(cat(lp("t", 0, 5), i32(1)))), readers: []int64{9}, want: "t:0@9"},
		"serde 0 with trailing": {coord: append(cat(i32(0), i32(1), i32(4), i32(0)), "trailing"...), readers: []int64{9}, want: "t:0@9"},
		"newer":                 {coord: coordinator(4, []byte("whatever")), readers: []int64{9}, want: "t:0@9", warnings: "enumerator-not-read"},
		"newer coordinator":     {coord: cat(i32(2), i32(1), i32(4), i32(0)), readers: []int64{9}, want: "t:0@9", warnings: "enumerator-not-read"},
		"cut":                   {coord: coordinator(2, cat(list(cat(tp("t", 0), i32(0))))), readers: []int64{9}, err: "enumerator"},
		"trailing":              {coord: coordinator(1, append(list(tp("t", 0)), 0)), readers: []int64{9}, err: "1 bytes follow"},
		"wrong length":          {coord: cat(i32(1), i32(1), i32(99), i32(0)), readers: []int64{9}, err: "enumerator"},
		"status":                {coord: coordinator(2, cat(list(cat(tp("t", 0), i32(2))), []byte{1})), readers: []int64{9}, err: "assignment status 2"},
		"not Kafka's":           {coord: []byte("a collect sink's own bytes"), want: ""},
		"no partitions":         {coord: coordinator(1, i32(0)), want: ""},
	} {
		op := encOp{id: 1, coord: c.coord, subs: []encSub{{op: stateHandle(plainV6, readerState("t", c.readers...))}}}
		s, err := parseBytes(encMeta(6, op, source(2, "other", 1)), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.err != "" {
			if len(s.OperatorErrors) != 1 || !strings.Contains(s.OperatorErrors[0].Error(), c.err) || rows(s) != "other:0@1" {
				t.Errorf("%s: %v, rows %s", name, s.OperatorErrors, rows(s))
			}
			continue
		}
		if got, want := rows(s), strings.TrimSpace(c.want+" other:0@1"); got != want || codes(s) != c.warnings || len(s.OperatorErrors) > 0 {
			t.Errorf("%s: %s, want %s; warnings %q; %v", name, got, want, codes(s), s.OperatorErrors)
		}
	}
}

func TestDynamicAndHybrid(t *testing.T) {
	k := kafkaPayload("t", 3, 70, -1)
	state := func(elems ...[]byte) encOp {
		return encOp{id: 1, subs: []encSub{{op: stateHandle(plainV6, encState{readerStateName, elems})}}}
	}
	enumV2 := cat(list(cat(utf("t"), i32(3), i32(0)), cat(utf("t"), i32(4), i32(1))), []byte{1})
	clusters := list(cat(utf("c"), list(), utf("host:9092")))
	dynEnum := cat(list(cat(utf("stream"), clusters)), i32(2), list(cat(utf("c"), i32(len(enumV2)), enumV2)))
	dynEnum3 := cat(list(cat(utf("stream"), list(cat(utf("c"), list(utf("t")), utf("host:9092"), []byte{0, 1}, list([]byte("j")))))), i32(2),
		list(cat(utf("c"), i32(len(enumV2)), enumV2)), list(cat(utf("gone"), i64(5), i32(len(enumV2)), enumV2)))
	hybridSplit := cat(i32(1), utf("t-3"), i32(0), i32(len(k)), k)
	fileSplit := cat(i32(0), utf("f-3"), i32(1), i32(3), []byte("abc"))
	with := func(op encOp, coord []byte) encOp { op.coord = coord; return op }
	for name, c := range map[string]struct {
		op       encOp
		kind     Kind
		want     string
		warnings string
	}{
		"dynamic 1":         {state(element(1, cat(utf("c"), i32(0), k))), DynamicKafkaSource, "c/t:3@70-latest", ""},
		"dynamic 2":         {state(element(2, cat(utf("c"), []byte{0}, i32(0), k))), DynamicKafkaSource, "c/t:3@70-latest", ""},
		"dynamic retention": {state(element(2, cat(utf("c"), []byte{1}, i64(9), i32(0), k)), element(2, cat(utf("d"), []byte{0}, i32(0), k))), DynamicKafkaSource, "c/t:3@70-latest d/t:3@70-latest", ""},
		"dynamic enum 1":    {with(state(element(1, cat(utf("c"), i32(0), k))), coordinator(1, dynEnum)), DynamicKafkaSource, "c/t:3@70-latest c/t:4@(unassigned)", "enumerator-only"},
		"dynamic enum 3":    {with(state(element(1, cat(utf("c"), i32(0), k))), coordinator(3, dynEnum3)), DynamicKafkaSource, "c/t:3@70-latest c/t:4@(unassigned) gone/t:3@(finished-or-lost) gone/t:4@(unassigned)", "enumerator-only finished-or-lost"},
		"dynamic enum only": {with(state(), coordinator(1, dynEnum)), DynamicKafkaSource, "c/t:3@(finished-or-lost) c/t:4@(unassigned)", "enumerator-only finished-or-lost"},
		"dynamic enum 4":    {with(state(element(1, cat(utf("c"), i32(0), k))), coordinator(4, []byte("?"))), DynamicKafkaSource, "c/t:3@70-latest", "enumerator-not-read"},
		"hybrid":            {state(element(0, hybridSplit)), HybridSource, "t:3@70-latest", ""},
		"hybrid and file":   {state(element(0, hybridSplit), element(0, fileSplit)), HybridSource, "t:3@70-latest", "other-splits"},
		"hybrid enum":       {with(state(element(0, hybridSplit)), coordinator(0, cat(i32(1), i32(2), i32(len(enumV2)), enumV2))), HybridSource, "t:3@70-latest t:4@(unassigned)", "enumerator-only"},
	} {
		s := mustParse(t, encMeta(6, c.op), nil)
		if len(s.Sources) != 1 || s.Sources[0].Kind != c.kind || rows(s) != c.want || codes(s) != c.warnings {
			t.Errorf("%s: %v, %s, warnings %q", name, s.Sources, rows(s), codes(s))
		}
	}
	// Other sources, and hybrid ones that are still at their files, are named as what they are.
	s := mustParse(t, encMeta(6, state(element(0, fileSplit), element(7, []byte("x"))), encOp{id: 2, subs: []encSub{{op: stateHandle(plainV6, readerState("t"))}}}), nil)
	if len(s.Sources) != 0 || len(s.OtherSources) != 2 || s.OtherSources[0].Splits != 2 {
		t.Errorf("%v %v", s.Sources, s.OtherSources)
	}
}

func TestLegacy(t *testing.T) {
	long := strings.Repeat("n", 249)
	topics := []string{"a", "ab", strings.Repeat("m", 63), strings.Repeat("m", 64), long}
	st := encState{name: legacyStateName}
	for i, topic := range topics {
		st.elems = append(st.elems, legacyElement(topic, i*100, int64(i)-1))
	}
	for _, l := range []layoutOf{plainV5, plainV6, chunked, chunkedSnappy, equalOffsets, equalSnappy} {
		for _, version := range []int{2, 3, 4} {
			s := mustParse(t, encMeta(version, encOp{id: 1, subs: []encSub{{op: stateHandle(l, encState{"_default_", nil}, st)}}}), nil)
			if got := len(s.Sources[0].Partitions); got != len(topics) || s.Sources[0].Kind != FlinkKafkaConsumer {
				t.Fatalf("%d rows of %d", got, len(topics))
			}
			for i, topic := range topics {
				_, p, err := s.find(Change{Source: s.Sources[0].OperatorID, Topic: topic, Partition: int32(i * 100)})
				if err != nil || *p.Next != int64(i) || *p.Stored != int64(i)-1 {
					t.Errorf("layout %d, %.10s: %v %v", l, topic, p, err)
				}
			}
		}
	}
	markers := encState{legacyStateName, [][]byte{legacyElement("t", 0, legacyEarliest), legacyElement("t", 1, legacyLatest), legacyElement("t", 2, legacyGroup), legacyElement("t", 3, legacyUnset)}}
	s := mustParse(t, encMeta(4, encOp{id: 1, subs: []encSub{{op: stateHandle(plainV5, markers)}}}), nil)
	if rows(s) != "t:0@earliest t:1@latest t:2@committed t:3@" {
		t.Error(rows(s))
	}
	damaged := legacyElement("orders", 1, 5)
	damaged[9] ^= 1
	for name, e := range map[string][]byte{
		"hash": damaged, "offset": legacyElement("t", 0, -7), "null": {0, 1, 2, 3}, "class": {1, 1, 2, 3}, "cut": legacyElement("orders", 1, 5)[:12],
		"reference": append([]byte{87, 2}, legacyElement("t", 1, 5)[2:]...), "topic": legacyElement("a b", 0, 5),
	} {
		s, err := parseBytes(encMeta(4, encOp{id: 1, subs: []encSub{{op: stateHandle(plainV5, encState{legacyStateName, [][]byte{e}})}}}, source(2, "ok", 1)), nil)
		if err != nil || len(s.OperatorErrors) != 1 || rows(s) != "ok:0@1" {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestLayouts reads the same splits from every layout of the stream, and from every kind of handle on it.
func TestLayouts(t *testing.T) {
	// Two thousand splits fill more than one chunk of 64 KiB, with elements that lie across their border.
	starts := make([]int64, 2000)
	for i := range starts {
		starts[i] = int64(i) * 3
	}
	st := readerState("a-topic-of-some-length", starts...)
	for _, l := range []layoutOf{plainV5, plainV6, chunked, chunkedSnappy, equalOffsets, equalSnappy} {
		data, offs := encStream(l, encState{"before", [][]byte{[]byte("x"), []byte("y")}}, st, encState{"after", [][]byte{[]byte("z")}})
		states := []encState{{"before", nil}, st, {"after", nil}}
		padded := cat([]byte("another's state"), data, []byte("and another's"))
		files := map[string][]byte{"file": data, "file:/a/file": data, "file:/m/merged": padded}
		for name, h := range map[string][]byte{
			"inline":   inline(data),
			"relative": relFile("file", len(data)),
			"absolute": inFile("file:/a/file", len(data)),
			"segment":  segment("file:/m/merged", 15, len(data)),
		} {
			op := encOp{id: 1, subs: []encSub{{op: opHandle(states, offs, h)}}}
			if name == "segment" {
				op.subs[0].op = code(17, opStates(states, offs), utf("owned"), utf("shared"), []byte{0}, h)
			}
			s := mustParse(t, encMeta(6, op), files)
			if len(s.Sources) != 1 || len(s.Sources[0].Partitions) != len(starts) {
				t.Fatalf("layout %d, %s: %d sources", l, name, len(s.Sources))
			}
			for i, p := range s.Sources[0].Partitions {
				if *p.Next != starts[i] || len(p.Spans) != 1 {
					t.Fatalf("layout %d, %s: partition %d at %d", l, name, i, *p.Next)
				}
			}
			if want := l == equalOffsets || l == equalSnappy; strings.Contains(codes(s), string(WarnEqualOffsets)) != want {
				t.Errorf("layout %d, %s: warnings %q", l, name, codes(s))
			}
		}
	}
}

// TestBrokenPayload damages one operator's state and demands the other's rows, whatever the damage.
func TestBrokenPayload(t *testing.T) {
	st := readerState("t", 5, 6, 7)
	data, offs := encStream(plainV6, st)
	chunks, chunkOffs := encStream(chunked, st)
	broken := func(b []byte, at int) []byte { b = bytes.Clone(b); b[at] ^= 0x40; return b }
	twice := encState{readerStateName, [][]byte{element(0, kafkaPayload("t", 0, 5, noOffset)), element(0, kafkaPayload("t", 0, 6, noOffset))}}
	half := encState{readerStateName, [][]byte{element(0, kafkaPayload("t", 0, 5, noOffset)), element(0, []byte("else"))}}
	op := func(data []byte, offs ...int64) []byte {
		return opHandle([]encState{st}, [][]int64{offs}, inline(data))
	}
	for want, h := range map[string][]byte{
		"operator state of version 99": op(cat(i32(99), data[4:]), offs[0]...),
		"the compression flag is 65":   op(cat(data[:4], []byte{65}, data[5:]), offs[0]...),
		"at position 9999":             op(data, 9999, offs[0][1]),
		"at position 2 of":             op(data, 2),
		"position -1":                  op(data, -1),
		"ends too early":               op(data[:len(data)-1], offs[0]...),
		"3 elements at one position":   op(data, offs[0][0], offs[0][0], offs[0][0]),
		"checksum":                     op(broken(chunks, len(chunks)-1), chunkOffs[0]...),
		"reserved type 0x41":           op(broken(chunks, int(chunkOffs[0][1])), chunkOffs[0]...),
		"twice, at 5":                  stateHandle(plainV6, twice),
		"1 of 2 splits are not":        stateHandle(plainV6, half),
		"no stream that holds":         opHandle([]encState{st}, offs, code(0)),
		"missing":                      opHandle([]encState{st}, offs, relFile("gone", len(data))),
		"has 3 bytes, and":             opHandle([]encState{st}, offs, relFile("short", len(data))),
		"belong to the state":          opHandle([]encState{st}, offs, segment("short", 1, len(data))),
	} {
		s, err := parseBytes(encMeta(6, encOp{name: "bad", id: 0xAB, subs: []encSub{{op: h}}}, source(2, "ok", 1)), map[string][]byte{"short": []byte("abc")})
		if err != nil || len(s.OperatorErrors) != 1 || rows(s) != "ok:0@1" {
			t.Errorf("%s: %+v, %v", want, s, err)
			continue
		}
		if e := s.OperatorErrors[0]; !strings.Contains(e.Error(), want) || e.OperatorID != strings.Repeat("ab", 16) || e.Name != "bad" {
			t.Errorf("%q does not say %q", e.Error(), want)
		}
	}
}

// TestDuplicates accepts a partition that is held twice at the same offset, as a restore by Flink 1.18 leaves it.
func TestDuplicates(t *testing.T) {
	e := element(0, kafkaPayload("t", 0, 5, noOffset))
	b := encMeta(6, encOp{id: 1, subs: []encSub{{op: stateHandle(plainV6, encState{readerStateName, [][]byte{e, e}})}}})
	s := mustParse(t, b, nil)
	if rows(s) != "t:0@5" || codes(s) != string(WarnDuplicate) || len(s.Sources[0].Partitions[0].Spans) != 2 {
		t.Errorf("%s, %s", rows(s), codes(s))
	}
	opened, err := Open(writeSnapshot(t, "savepoint-abcdef-0", b, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := rows(rewritten(t, opened, Change{Source: opened.Sources[0].OperatorID, Topic: "t", NewNext: 9})); got != "t:0@9" {
		t.Error(got)
	}
}

func TestUTF(t *testing.T) {
	for _, s := range []string{"", "orders", "ü", "\x00", "a\x00b", "𝄞", "日本", strings.Repeat("x", 60000)} {
		b := appendUTF(nil, s)
		if got, err := decodeUTF(b[2:]); err != nil || got != s {
			t.Errorf("%q came back as %q, %v", s, got, err)
		}
	}
	if b := appendUTF(nil, "\x00𝄞"); !bytes.Equal(b, []byte{0, 8, 0xC0, 0x80, 0xED, 0xA0, 0xB4, 0xED, 0xB4, 0x9E}) {
		t.Errorf("% x", b)
	}
	for _, b := range []string{"\x80", "\xC3", "\xE3\x81", "\xF0\x9D\x84\x9E"} {
		if _, err := decodeUTF([]byte(b)); err == nil {
			t.Errorf("% x was taken", b)
		}
	}
}

func TestOperatorIDOf(t *testing.T) {
	for uid, want := range map[string]string{
		"kafka-src":             "2cfff4cfdc12cf3ce3a313acc56edab3",
		"map-1":                 "cbc42da82d8ff22c85d9a03aa8685856",
		"legacy-src":            "25f1b9cdac101c5d57150b1b60c3ceda",
		strings.Repeat("a", 16): "cea6aa620d18c1f24239b22b03f3f66a",
		"пример":                "4000d3208092ee6e21075459b69a60c5",
		"orders-source":         "45b0254a46cabbc3efeea5d2e170ea5b",
	} {
		if got := OperatorIDOf(uid); got != want {
			t.Errorf("%q is %s, want %s", uid, got, want)
		}
	}
}

func TestSourceByUID(t *testing.T) {
	b := encMeta(5, encOp{id: 1, uid: "mine", subs: source(1, "t", 5).subs})
	s := mustParse(t, b, nil)
	if s.SourceByUID("mine") == nil || s.SourceByUID("yours") != nil || s.SourceByUID("") != nil || s.SourceByID(strings.Repeat("01", 16)) == nil {
		t.Error("by the stored uid")
	}
	old, err := Open("testdata/f120-hashmap/savepoints/savepoint-67840d-0dca80cd26b7", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if src := old.SourceByUID("orders-source"); src == nil || src.Partitions[0].Topic != "orders" {
		t.Error("by the hash")
	}
}
