package cmd_test

// Words of the scripts about clusters. The first cluster's address goes into KOFFSET_BROKERS, a named one's into $NAME.
//
//	kafka [NAME] [id=CLUSTER-ID] [brokers=N] [version=2.4] [most=REQUEST:VERSION]… [sasl=USER:PASSWORD] [tls] [config=KEY:VALUE]…   an empty kfake cluster that knows a request up to a version only, -1 for not at all; with tls the
//	                              authority's certificate is in ca.pem
//	sandbox                       the clusters of koffset sandbox --clusters 2: KOFFSET_BROKERS and $DR
//	use NAME                      the words below mean this cluster from now on ("" is the first)
//	f1 PREFIX, f2 PREFIX          the fixtures of internal/kafkatest; f3 PREFIX leaves its transaction open
//	topic NAME PARTITIONS [KEY=VALUE]…
//	untopic NAME                  delete a topic
//	produce TOPIC:P N START STEP  N records, with times START, START+STEP, … in epoch milliseconds
//	produce TOPIC:P N now STEP    … the last of them now
//	record TOPIC:P [key=K] [value=V] [time=MS] [header=N=V]…    one record; Go escapes in keys and values, and what is not named is null
//	trim TOPIC:P OFFSET           the log start becomes OFFSET
//	commit GROUP TOPIC:P=OFFSET[/EPOCH[/METADATA]]…    raw; Go escapes (\x1b) in the group and the metadata
//	commits GROUP                 print the raw commits: TOPIC:P=OFFSET/EPOCH/METADATA, sorted
//	join classic|848|share|connect GROUP TOPIC [client=ID] [instance=ID]     a live member
//	leave GROUP                   its members leave
//	pending GROUP TOPIC:P=OFFSET  a commit in an open transaction
//	settle GROUP commit|abort     end that transaction
//	fault REQUEST ERROR [group=G] [topic=T] [partition=P] [node=N] [count=N] [top]   answer requests with an error, all of them without a count
//	count REQUEST…                count requests of these kinds from now on, on the current cluster
//	sent REQUEST N|N-M            so many were sent since
//	silent NAME                   an address in $NAME that accepts and never answers; refused NAME: where nothing listens
//	babble NAME                   an address in $NAME that answers in HTTP

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/sandbox"
)

// fakeCluster is a cluster of a script; fake is nil for the sandbox's.
type fakeCluster struct {
	fake   *kfake.Cluster
	client *kgo.Client
	seen   map[string]*kfake.FaultHandle
}

func clusterWords() map[string]word {
	return map[string]word{
		"kafka": doKafka, "sandbox": doSandbox, "use": doUse, "f1": doFixture("f1"), "f2": doFixture("f2"), "f3": doFixture("f3"),
		"topic": doTopic, "untopic": doUntopic, "produce": doProduce, "record": doRecord, "trim": doTrim, "commit": doCommit, "commits": doCommits,
		"join": doJoin, "leave": doLeave, "pending": doPending, "settle": doSettle,
		"fault": doFault, "count": doCount, "sent": doSent, "silent": doListen("silent"), "refused": doListen("refused"), "babble": doListen("babble"),
	}
}

func (w *world) export(ts *testscript.TestScript, name, value string) {
	ts.Setenv(name, value)
	w.vars = append(w.vars, name)
}

func (w *world) add(ts *testscript.TestScript, name string, c *fakeCluster, addrs ...string) {
	if w.clusters == nil {
		w.clusters = map[string]*fakeCluster{}
	}
	w.clusters[name], w.current = c, c
	if name == "" {
		name = "KOFFSET_BROKERS"
	}
	w.export(ts, name, strings.Join(addrs, ","))
}

func doKafka(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, -1, "kafka [NAME] [brokers=N] [version=V] [sasl=USER:PASSWORD] [tls]")
	w := worldOf(ts)
	name := ""
	var opts []kfake.Opt
	var client []kgo.Opt
	configs := map[string]string{}
	var versions *kversion.Versions
	for i, arg := range args {
		key, value, has := strings.Cut(arg, "=")
		switch {
		case key == "id":
			opts = append(opts, kfake.ClusterID(value))
		case key == "brokers":
			n, err := strconv.Atoi(value)
			ts.Check(err)
			opts = append(opts, kfake.NumBrokers(n))
		case key == "version":
			v := kversion.FromString("v" + value)
			if v == nil {
				ts.Fatalf("no version %s", value)
			}
			versions = v
		case key == "most":
			request, most, _ := strings.Cut(value, ":")
			if versions == nil {
				versions = kafkatest.JavaVersions()
			}
			versions.SetMaxKeyVersion(requestKey(ts, request).Int16(), int16(number(ts, most)))
		case key == "sasl":
			user, pass, _ := strings.Cut(value, ":")
			opts = append(opts, kfake.EnableSASL(), kfake.Superuser("PLAIN", user, pass))
			client = append(client, kgo.SASL(plain.Auth{User: user, Pass: pass}.AsMechanism()))
		case key == "config":
			k, v, _ := strings.Cut(value, ":")
			configs[k] = v
		case arg == "tls":
			server, own := testTLS(ts, w.dir)
			opts = append(opts, kfake.TLS(server))
			client = append(client, kgo.DialTLSConfig(own))
		case i == 0 && !has:
			name = arg
		default:
			ts.Fatalf("kafka: %q", arg)
		}
	}
	if versions != nil {
		opts = append(opts, kfake.MaxVersions(versions))
		client = append(client, kgo.MaxVersions(versions))
	}
	if len(configs) > 0 {
		opts = append(opts, kfake.BrokerConfigs(configs))
	}
	c := &fakeCluster{fake: kafkatest.Fake(w.t, opts...)}
	c.client = kafkatest.Client(w.t, c.fake.ListenAddrs(), client...)
	w.add(ts, name, c, c.fake.ListenAddrs()...)
}

func doSandbox(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, 0, "sandbox")
	w := worldOf(ts)
	s, err := sandbox.Start(w.t.Context(), sandbox.Config{Clusters: 2})
	ts.Check(err)
	w.t.Cleanup(s.Close)
	for i, name := range []string{"DR", ""} {
		addr := s.Clusters[1-i].Bootstrap
		w.add(ts, name, &fakeCluster{client: kafkatest.Client(w.t, []string{addr})}, addr)
	}
}

func doUse(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "use NAME")
	w := worldOf(ts)
	c, ok := w.clusters[args[0]]
	if !ok {
		ts.Fatalf("no cluster %q", args[0])
	}
	w.current = c
}

func cluster(ts *testscript.TestScript) *fakeCluster {
	c := worldOf(ts).current
	if c == nil {
		ts.Fatalf("no cluster was started")
	}
	return c
}

func doFixture(which string) word {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		need(ts, neg, args, 0, 1, which+" [PREFIX]")
		t, cl, prefix := worldOf(ts).t, cluster(ts).client, strings.Join(args, "")
		switch which {
		case "f1":
			kafkatest.F1(t, cl, prefix)
		case "f2":
			kafkatest.F2(t, cl, prefix)
		case "f3":
			kafkatest.OpenF3(t, cl, prefix)
		}
	}
}

func doTopic(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "topic NAME PARTITIONS [KEY=VALUE]…")
	var configs []string
	for _, kv := range args[2:] {
		k, v, _ := strings.Cut(kv, "=")
		configs = append(configs, k, v)
	}
	kafkatest.CreateTopic(worldOf(ts).t, cluster(ts).client, args[0], int32(number(ts, args[1])), configs...)
}

func doUntopic(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "untopic NAME")
	kafkatest.DeleteTopic(worldOf(ts).t, cluster(ts).client, args[0])
}

func number(ts *testscript.TestScript, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	ts.Check(err)
	return n
}

// partition splits TOPIC:P.
func partition(ts *testscript.TestScript, s string) (topic string, p int32) {
	topic, num, ok := strings.Cut(s, ":")
	if !ok {
		ts.Fatalf("%q is not TOPIC:PARTITION", s)
	}
	return topic, int32(number(ts, num))
}

func doProduce(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 4, 4, "produce TOPIC:P N START|now STEP")
	topic, p := partition(ts, args[0])
	n, step := number(ts, args[1]), number(ts, args[3])
	start := time.Now().UnixMilli() - (n-1)*step
	if args[2] != "now" {
		start = number(ts, args[2])
	}
	kafkatest.Produce(worldOf(ts).t, cluster(ts).client, kafkatest.Records(topic, p, int(n), start, step)...)
}

func doRecord(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, -1, "record TOPIC:P [key=K] [value=V] [time=MS] [header=N=V]…")
	topic, p := partition(ts, args[0])
	r := &kgo.Record{Topic: topic, Partition: p, Timestamp: time.UnixMilli(1710072000000)}
	for _, arg := range args[1:] {
		field, v, _ := strings.Cut(arg, "=")
		switch field {
		case "key":
			r.Key = []byte(unescape(ts, v))
		case "value":
			r.Value = []byte(unescape(ts, strings.ReplaceAll(v, `"`, `\"`)))
		case "time":
			r.Timestamp = time.UnixMilli(number(ts, v))
		case "header":
			name, value, _ := strings.Cut(v, "=")
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		default:
			ts.Fatalf("record: %q", arg)
		}
	}
	kafkatest.Produce(worldOf(ts).t, cluster(ts).client, r)
}

func doTrim(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "trim TOPIC:P OFFSET")
	topic, p := partition(ts, args[0])
	kafkatest.DeleteRecords(worldOf(ts).t, cluster(ts).client, topic, p, number(ts, args[1]))
}

func committed(ts *testscript.TestScript, s string) kafkatest.Committed {
	where, what, ok := strings.Cut(s, "=")
	if !ok {
		ts.Fatalf("%q is not TOPIC:P=OFFSET", s)
	}
	topic, p := partition(ts, where)
	parts := strings.SplitN(what, "/", 3)
	c := kafkatest.At(topic, p, number(ts, parts[0]))
	if len(parts) > 1 {
		c.LeaderEpoch = int32(number(ts, parts[1]))
	}
	if len(parts) > 2 {
		c.Metadata = unescape(ts, parts[2])
	}
	return c
}

func unescape(ts *testscript.TestScript, s string) string {
	out, err := strconv.Unquote(`"` + s + `"`)
	ts.Check(err)
	return out
}

func doCommit(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "commit GROUP TOPIC:P=OFFSET…")
	var cs []kafkatest.Committed
	for _, a := range args[1:] {
		cs = append(cs, committed(ts, a))
	}
	kafkatest.Commit(worldOf(ts).t, cluster(ts).client, unescape(ts, args[0]), cs...)
}

func doCommits(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "commits GROUP")
	all := kafkatest.Commits(worldOf(ts).t, cluster(ts).client, args[0])
	out := ts.Stdout()
	for _, topic := range slices.Sorted(maps.Keys(all)) {
		for _, p := range slices.Sorted(maps.Keys(all[topic])) {
			c := all[topic][p]
			_, err := fmt.Fprintf(out, "%s:%d=%d/%d/%s\n", topic, p, c.Offset, c.LeaderEpoch, c.Metadata)
			ts.Check(err)
		}
	}
}

func doJoin(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, 5, "join classic|848|share|connect GROUP TOPIC [client=ID] [instance=ID]")
	w, cl := worldOf(ts), cluster(ts).client
	o := kafkatest.MemberOptions{Group: args[1], Topics: strings.Split(args[2], ","), ClientID: "member"}
	for _, a := range args[3:] {
		switch key, value, _ := strings.Cut(a, "="); key {
		case "client":
			o.ClientID = unescape(ts, value)
		case "instance":
			o.InstanceID = value
		default:
			ts.Fatalf("join: %q", a)
		}
	}
	var m *kafkatest.Member
	switch args[0] {
	case "classic":
		m = kafkatest.JoinClassic(w.t, cl, o)
	case "848":
		m = kafkatest.Join848(w.t, cl, o)
	case "share":
		m = kafkatest.JoinShare(w.t, cl, o)
	case "connect":
		m = kafkatest.JoinConnect(w.t, cl, o.Group, o.ClientID)
	default:
		ts.Fatalf("join: no kind %q", args[0])
	}
	if w.members == nil {
		w.members = map[string]*kafkatest.Member{}
	}
	if before := w.members[o.Group]; before != nil {
		ts.Fatalf("group %s has a member of this script already", o.Group)
	}
	w.members[o.Group] = m
}

func doLeave(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, 1, "leave GROUP")
	w := worldOf(ts)
	m := w.members[args[0]]
	if m == nil {
		ts.Fatalf("no member of %s joined", args[0])
	}
	m.Close()
	delete(w.members, args[0])
}

func doPending(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "pending GROUP TOPIC:P=OFFSET")
	w := worldOf(ts)
	if w.pending == nil {
		w.pending = map[string]func(bool){}
	}
	w.pending[args[0]] = kafkatest.PendingCommit(w.t, cluster(ts).client, "txn-of-"+args[0], args[0], committed(ts, args[1]))
}

func doSettle(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "settle GROUP commit|abort")
	end := worldOf(ts).pending[args[0]]
	if end == nil {
		ts.Fatalf("no commit of %s is pending", args[0])
	}
	end(args[1] == "commit")
}

func (c *fakeCluster) mustFake(ts *testscript.TestScript) *kfake.Cluster {
	if c.fake == nil {
		ts.Fatalf("the sandbox takes no faults: start a kafka")
	}
	return c.fake
}

func requestKey(ts *testscript.TestScript, name string) kmsg.Key {
	for k := range kmsg.MaxKey + 1 {
		if strings.EqualFold(kmsg.NameForKey(int16(k)), name) {
			return kmsg.Key(k)
		}
	}
	ts.Fatalf("no request is called %q", name)
	return 0
}

func doFault(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, -1, "fault REQUEST ERROR [group=G] [topic=T] [partition=P] [node=N] [count=N] [top]")
	f := kfake.Fault{Keys: []kmsg.Key{requestKey(ts, args[0])}, Count: -1}
	for code := int16(-1); code < 200; code++ {
		if e := kerr.TypedErrorForCode(code); e != nil && e.Message == args[1] {
			f.Err = e
		}
	}
	if f.Err == nil {
		ts.Fatalf("no error is called %q", args[1])
	}
	for _, a := range args[2:] {
		switch key, value, _ := strings.Cut(a, "="); key {
		case "group":
			f.Group = value
		case "topic":
			f.Topic = value
		case "partition":
			f.Partitions = append(f.Partitions, int32(number(ts, value)))
		case "node":
			f.Nodes = append(f.Nodes, int32(number(ts, value)))
		case "count":
			f.Count = int(number(ts, value))
		case "top":
			f.TopLevel = true
		default:
			ts.Fatalf("fault: %q", a)
		}
	}
	cluster(ts).mustFake(ts).Fault(f)
}

func doCount(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, -1, "count REQUEST…")
	c := cluster(ts)
	if c.seen == nil {
		c.seen = map[string]*kfake.FaultHandle{}
	}
	for _, name := range args {
		if old := c.seen[name]; old != nil {
			old.Remove()
		}
		c.seen[name] = c.mustFake(ts).Fault(kfake.Fault{Keys: []kmsg.Key{requestKey(ts, name)}, Observe: true, Count: -1})
	}
}

func doSent(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, 2, "sent REQUEST N|N-M")
	h := cluster(ts).seen[args[0]]
	if h == nil {
		ts.Fatalf("%s was not counted", args[0])
	}
	least, most, isRange := strings.Cut(args[1], "-")
	if !isRange {
		most = least
	}
	if n := int64(h.Hits()); n < number(ts, least) || n > number(ts, most) {
		ts.Fatalf("%d %s requests were sent, want %s", n, args[0], args[1])
	}
}

func doListen(how string) word {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		need(ts, neg, args, 1, 1, how+" NAME")
		w := worldOf(ts)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		w.export(ts, args[0], l.Addr().String())
		if how == "refused" {
			ts.Check(l.Close())
			return
		}
		w.t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.t.Cleanup(func() { _ = c.Close() })
				if how == "babble" {
					_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
					_ = c.Close()
				}
			}
		}()
	}
}
