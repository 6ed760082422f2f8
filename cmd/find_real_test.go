//go:build realkafka

package cmd_test

// find on what only a real broker does: it names aborted transactions, and is written to by other clients.

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

// found is what find prints in JSON.
type found struct {
	Records []struct {
		Partition int32
		Offset    int64
		Key       *string
	}
	Count      int64 `json:"record_count"`
	Matches    int64 `json:"match_count"`
	Partitions []struct {
		Until int64 `json:"until_offset"`
	}
}

func (b *lookBed) find(code int, args ...string) (f found, places string) {
	b.t.Helper()
	r := runJSON(b.t, code, append([]string{"-b", b.kafka.Bootstrap(), "find"}, args...)...)
	if err := json.Unmarshal([]byte(r.out), &f); err != nil {
		b.t.Fatalf("%v: %v\n%s", args, err, r.out)
	}
	for _, one := range f.Records {
		places += fmt.Sprintf(" %d/%d", one.Partition, one.Offset)
	}
	return f, strings.TrimSpace(places)
}

func TestRealFind(t *testing.T) {
	t.Parallel()
	b := newLook(t, "find")
	topic := b.topic("kinds", 2, 0)
	record := func(p int32, key, value []byte, headers ...kgo.RecordHeader) *kgo.Record {
		return &kgo.Record{Topic: topic, Partition: p, Key: key, Value: value, Headers: headers, Timestamp: time.UnixMilli(kafkatest.F1Start)}
	}
	kafkatest.ProduceEach(t, b.cl, record(0, []byte("4711"), []byte(`{"id":4711}`), kgo.RecordHeader{Key: "trace", Value: []byte("7f")}),
		record(0, []byte("4711"), nil), record(1, nil, []byte("x")), record(1, []byte{}, []byte{}), record(1, []byte{0, 0xff}, []byte{0xff, 'n', 0}))
	txn := kafkatest.NewTxn(t, b.cl, topic)
	for i, commit := range []bool{false, true, false} {
		txn.Begin()
		txn.Produce(record(0, []byte("4711"), fmt.Append(nil, "try ", i)), record(1, []byte("4711"), fmt.Append(nil, "try ", i)))
		txn.End(commit)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"0/0 0/1 0/4 1/5", []string{"--key", "4711"}},
		{"0/0 0/1 0/2 0/4 0/6 1/3 1/5 1/7", []string{"--key", "4711", "--isolation", "read_uncommitted"}},
		{"", []string{"--value-contains", "try 2"}},
		{"0/1", []string{"--null"}},
		{"1/0", []string{"--null=key"}},
		{"1/1", []string{"--empty", "key"}},
		{"1/1", []string{"--empty", "value"}},
		{"1/2", []string{"--key", "00ff", "--key-encoding", "hex"}},
		{"0/0", []string{"--header", "trace=7f", "--jq", ".id == 4711"}},
		{"0/4 1/5", []string{"--key", "4711", "--last"}},
	} {
		code := 0
		if c.want == "" {
			code = 5
		}
		if _, got := b.find(code, append([]string{topic}, c.args...)...); got != c.want {
			t.Errorf("find %v: %q, not %q", c.args, got, c.want)
		}
	}
	// An offset is no record: markers and what was aborted are none.
	if f, _ := b.find(0, topic, "--count"); f.Count != 7 || f.Partitions[0].Until != 8 || f.Partitions[1].Until != 9 {
		t.Errorf("%+v", f)
	}
}

// Keys are on the partitions on which the Java producer and librdkafka put them.
func TestRealPartitionersAgreeWithTheirClients(t *testing.T) {
	b := newLook(t, "find")
	var in strings.Builder
	for i := range 40 {
		fmt.Fprintf(&in, "key-%d\tv\n", i)
	}
	check := func(by, topic string) {
		t.Helper()
		all, _ := b.find(0, topic, "--key-prefix", "key-")
		if len(all.Records) != 40 {
			t.Fatalf("%s: %d records", by, len(all.Records))
		}
		for _, r := range all.Records[:8] {
			if one, _ := b.find(0, topic, "--key", *r.Key, "--partitioner", by); one.Matches != 1 || one.Records[0].Partition != r.Partition {
				t.Errorf("%s: %s is on %d: %+v", by, *r.Key, r.Partition, one)
			}
		}
	}
	java := b.topic("murmur2", 7, 0)
	if r := real.Tools(t).RunInput(t, in.String(), kafkatest.ConsoleProducer, "--bootstrap-server", b.kafka.Bootstrap(), "--topic", java, "--reader-property", "parse.key=true"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	check("murmur2", java)
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		t.Skip("kcat is not here")
	}
	rd := b.topic("crc32", 7, 0)
	produce := exec.CommandContext(t.Context(), kcat, "-P", "-b", b.kafka.Bootstrap(), "-t", rd, "-K", "\t", "-X", "partitioner=consistent_random")
	produce.Stdin = strings.NewReader(in.String())
	if out, err := produce.CombinedOutput(); err != nil {
		t.Fatalf("kcat: %v\n%s", err, out)
	}
	check("crc32", rd)
}
