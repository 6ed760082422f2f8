package cmd_test

// Words of the scripts about two clusters:
//
//	copy NAME TOPIC:P FROM UNTIL [TOPIC2]   copy the records from offset FROM up to UNTIL (not included) of the current cluster to
//	                                        the cluster NAME, with their times, as a mirror does

import (
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

func migrateWords() map[string]word { return map[string]word{"copy": doCopy} }

func doCopy(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 4, 5, "copy NAME TOPIC:P FROM UNTIL [TOPIC2]")
	w := worldOf(ts)
	to, ok := w.clusters[args[0]]
	if !ok {
		ts.Fatalf("no cluster %q", args[0])
	}
	topic, p := partition(ts, args[1])
	from, until := number(ts, args[2]), number(ts, args[3])
	name := topic
	if len(args) == 5 {
		name = args[4]
	}
	cl, err := kgo.NewClient(append(slices.Clone(cluster(ts).client.Opts()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(from)}}))...)
	ts.Check(err)
	defer cl.Close()
	var out []*kgo.Record
	for from < until {
		fs := cl.PollFetches(w.t.Context())
		ts.Check(fs.Err())
		fs.EachRecord(func(r *kgo.Record) {
			from = r.Offset + 1
			if r.Offset < until {
				out = append(out, &kgo.Record{Topic: name, Partition: p, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp})
			}
		})
	}
	kafkatest.Produce(w.t, to.client, out...)
}
