//go:build realkafka

package kafkatest

// A real Apache Kafka: start, stop, start again.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// Options of a cluster. The zero value is one broker with a plain listener.
type Options struct {
	// Properties are lines of server.properties that are added to ours, or replace them.
	Properties map[string]string
	// Nodes is how many brokers the cluster has; 0 means 1. Node 1 is also the controller; the others are brokers only and
	// can be stopped with [Kafka.StopNode], which leaves partitions without a leader.
	Nodes int
	// Quorum makes every node a controller too, and replicates the internal topics to all: any one node of three may be killed or
	// frozen, and the others go on.
	Quorum bool
	// Proxied puts a [Proxy] before each node's plain listener; see [Kafka.Proxy]. Brokers talk to each other past it.
	Proxied bool
	// HeapMB bounds each broker's heap; 0 means 1024.
	HeapMB int
	// Secure adds listeners with TLS, SASL and an authorizer to node 1: see [Kafka.Secure].
	Secure bool
}

// Kafka is a running cluster. All listeners are on 127.0.0.1.
type Kafka struct {
	ID string // the cluster id

	dir    string
	jars   string
	opts   Options
	nodes  []*node
	secure *Secure
}

// node is one broker process; proc is nil while it is stopped.
type node struct {
	id    int
	dir   string
	port  int // where clients connect: the proxy's, or the broker's own
	inner int // the broker's own, behind the proxy; 0 without one
	peers int // where the other brokers connect, past the proxy
	proxy *Proxy
	proc  *process
	props string
}

// startTimeout bounds the start of a cluster. One broker takes about 5 s on two idle cores.
const startTimeout = 2 * time.Minute

// Start starts a cluster of its own for one test and ends it with the test. Tests that only need a broker share one through [Shared].
func Start(t testing.TB, opts Options) *Kafka {
	t.Helper()
	k, err := StartKafka(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// StartKafka formats and starts a cluster and waits until all of its brokers answer. [Kafka.Close] ends it and removes its data.
func StartKafka(ctx context.Context, opts Options) (*Kafka, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	jars, err := Jars(ctx)
	if err != nil {
		return nil, err
	}
	var k *Kafka
	for range 3 { // a port may be taken between finding it free and listening on it
		if k, err = startKafka(ctx, jars, opts); !errors.Is(err, errPortTaken) {
			break
		}
	}
	return k, err
}

var errPortTaken = errors.New("a port was taken by another process")

func startKafka(ctx context.Context, jars string, opts Options) (*Kafka, error) {
	dir, err := os.MkdirTemp("", "koffset-kafka-")
	if err != nil {
		return nil, err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[0] &= 0x7f           // an id that begins with - would be read as an option
	k := &Kafka{ID: base64.RawURLEncoding.EncodeToString(id[:]), dir: dir, jars: jars, opts: opts}
	if err := k.configure(opts); err != nil {
		k.Close()
		return nil, err
	}
	if err := k.start(ctx); err != nil {
		taken := slices.ContainsFunc(k.nodes, func(n *node) bool { return portTaken(n.log()) })
		k.Close()
		if taken {
			return nil, fmt.Errorf("%w: %v", errPortTaken, err)
		}
		return nil, err
	}
	return k, nil
}

// configure writes each node's server.properties, and starts the proxies.
func (k *Kafka) configure(opts Options) error {
	count := max(1, opts.Nodes)
	ports, err := freePorts(4*count + securePorts)
	if err != nil {
		return err
	}
	voters := make([]string, count)
	for i := range count {
		voters[i] = fmt.Sprintf("%d@127.0.0.1:%d", i+1, ports[4*i+2])
	}
	if !opts.Quorum {
		voters = voters[:1]
	}
	for i := range count {
		n := &node{id: i + 1, port: ports[4*i], dir: filepath.Join(k.dir, fmt.Sprintf("node%d", i+1))}
		k.nodes = append(k.nodes, n)
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return err
		}
		if opts.Proxied {
			n.inner, n.peers = ports[4*i+1], ports[4*i+3]
			if n.proxy, err = newProxy(n.addr(), fmt.Sprintf("127.0.0.1:%d", n.inner)); err != nil {
				return fmt.Errorf("%w: %v", errPortTaken, err)
			}
		}
		props := nodeProperties(n, voters)
		if opts.Quorum {
			replicate(props, count)
		}
		if opts.Secure && n.id == 1 {
			if k.secure, err = newSecure(n.dir, ports[4*count:]); err != nil {
				return err
			}
			k.secure.properties(props)
		}
		for key, value := range opts.Properties {
			props[key] = value
		}
		n.props = filepath.Join(n.dir, "server.properties")
		if err := writeProperties(n.props, props); err != nil {
			return err
		}
	}
	return nil
}

// nodeProperties are ours: small internal topics so that they appear fast, no waiting for more members, all kinds of group.
func nodeProperties(n *node, voters []string) map[string]string {
	props := map[string]string{
		"process.roles":                                    "broker",
		"node.id":                                          itoa(n.id),
		"controller.quorum.voters":                         strings.Join(voters, ","),
		"listeners":                                        fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port),
		"advertised.listeners":                             fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port),
		"listener.security.protocol.map":                   "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL",
		"controller.listener.names":                        "CONTROLLER",
		"inter.broker.listener.name":                       "PLAINTEXT",
		"log.dirs":                                         filepath.Join(n.dir, "data"),
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"share.coordinator.state.topic.num.partitions":     "4",
		"group.initial.rebalance.delay.ms":                 "0",
		"group.coordinator.rebalance.protocols":            "classic,consumer,share,streams",
		"auto.create.topics.enable":                        "false",
		// The retention thread looks at once and then every second, so a test of expiry need not wait 5 minutes.
		"log.initial.task.delay.ms":       "500",
		"log.retention.check.interval.ms": "1000",
		// A stopped broker is fenced after 2 s instead of 9: its partitions lose their leader while the test watches.
		"broker.session.timeout.ms":    "4000",
		"broker.heartbeat.interval.ms": "500",
	}
	if n.proxy != nil {
		// Clients are told the proxy's address; the other brokers are not.
		props["listeners"] = fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,INTERNAL://127.0.0.1:%d", n.inner, n.peers)
		props["advertised.listeners"] += fmt.Sprintf(",INTERNAL://127.0.0.1:%d", n.peers)
		props["inter.broker.listener.name"] = "INTERNAL"
		props["listener.security.protocol.map"] += ",INTERNAL:PLAINTEXT"
	}
	if n.id <= len(voters) {
		_, controller, _ := strings.Cut(voters[n.id-1], "@")
		props["process.roles"] = "broker,controller"
		props["listeners"] += ",CONTROLLER://" + controller
	}
	return props
}

// replicate keeps the internal topics on every node. Six partitions of the offsets topic give each of three nodes two to
// lead; with so few a killed node's are elsewhere within seconds.
func replicate(props map[string]string, nodes int) {
	for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		props[topic+".replication.factor"] = itoa(nodes)
		props[topic+".num.partitions"] = "6"
	}
	props["transaction.state.log.min.isr"] = "1"
	props["share.coordinator.state.topic.min.isr"] = "1"
	// A follower that hangs is dropped from the in-sync replicas after 3 s instead of 30, so that writes with all acknowledgements go on.
	props["replica.lag.time.max.ms"] = "3000"
	// The controllers notice a dead or frozen leader of theirs within a second or two.
	props["controller.quorum.fetch.timeout.ms"] = "1500"
	props["controller.quorum.election.timeout.ms"] = "500"
	props["controller.quorum.request.timeout.ms"] = "1500"
}

func writeProperties(file string, props map[string]string) error {
	keys := make([]string, 0, len(props))
	for key := range props {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(key + "=" + escapeProperty(props[key]) + "\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// escapeProperty keeps a backslash and a line break what they are: in a .properties file one escapes and the other ends the value.
func escapeProperty(v string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v)
}

// start formats what is new, starts every node and waits for the whole cluster.
func (k *Kafka) start(ctx context.Context) error {
	for _, n := range k.nodes {
		if err := k.format(ctx, n); err != nil {
			return err
		}
	}
	for _, n := range k.nodes { // after all are formatted, so that no node starts long before a majority is there
		if err := k.launch(n); err != nil {
			return err
		}
	}
	if err := k.wait(ctx); err != nil || k.secure == nil {
		return err
	}
	return k.secure.createUsers(ctx, k.nodes[0])
}

// format prepares the storage of a node that has none: a second start keeps its data.
func (k *Kafka) format(ctx context.Context, n *node) error {
	if _, err := os.Stat(filepath.Join(n.dir, "data", "meta.properties")); err == nil {
		return nil
	}
	cmd, err := java(k.jars, n.dir, nil, "kafka.tools.StorageTool", "format", "-t", k.ID, "-c", n.props)
	if err != nil {
		return err
	}
	return run(ctx, cmd.Path, cmd.Args[1:]...)
}

func (n *node) log() string { return filepath.Join(n.dir, "broker.log") }

func (k *Kafka) launch(n *node) error {
	heap := k.opts.HeapMB
	if heap == 0 {
		heap = 1024
	}
	cmd, err := java(k.jars, n.dir, []string{fmt.Sprintf("-Xmx%dm", heap), "-Droot.level=INFO"}, "kafka.Kafka", n.props)
	if err != nil {
		return err
	}
	n.proc, err = startProcess(fmt.Sprintf("kafka node %d", n.id), cmd, n.log(), k.dir)
	return err
}

// wait is over when every running node answers metadata that shows all running nodes, or as soon as one of them has ended: the
// others would wait for it until ctx is over, and no time would be left to start again on other ports.
func (k *Kafka) wait(ctx context.Context) error {
	running := 0
	for _, n := range k.nodes {
		if n.proc != nil {
			running++
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, n := range k.nodes {
		if n.proc == nil {
			continue
		}
		all.Go(func() error {
			return n.proc.waitFor(ctx, func(ctx context.Context) error { return n.answers(ctx, running) })
		})
	}
	return all.Wait()
}

func (n *node) answers(ctx context.Context, brokers int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.addr()), kgo.DisableClientMetrics(), kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none; nil means all
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	if len(resp.Brokers) != brokers {
		return fmt.Errorf("%d of %d brokers are registered", len(resp.Brokers), brokers)
	}
	return nil
}

func (n *node) addr() string { return fmt.Sprintf("127.0.0.1:%d", n.port) }

// Addrs are the bootstrap addresses of the plain listeners, one a node. On a secure cluster they speak for a super user, so
// fixtures need no rights.
func (k *Kafka) Addrs() []string {
	var addrs []string
	for _, n := range k.nodes {
		addrs = append(addrs, n.addr())
	}
	return addrs
}

// Bootstrap is [Kafka.Addrs] as one string, as tools want it.
func (k *Kafka) Bootstrap() string { return strings.Join(k.Addrs(), ",") }

// Client is a client of the plain listeners that closes with the test.
func (k *Kafka) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return Client(t, k.Addrs(), opts...)
}

// Log is what a node has logged so far, over all its starts. Nodes count from 1.
func (k *Kafka) Log(t testing.TB, nodeID int) string {
	t.Helper()
	data, err := os.ReadFile(k.nodes[nodeID-1].log())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Stop stops all nodes in good order and keeps data and ports for [Kafka.Restart].
func (k *Kafka) Stop() {
	for _, n := range slices.Backward(k.nodes) { // the controller last: a broker asks it for leave
		n.stop(syscall.SIGTERM, 20*time.Second)
	}
}

// Kill ends all nodes as a power cut would.
func (k *Kafka) Kill() {
	for _, n := range k.nodes {
		n.stop(syscall.SIGKILL, 10*time.Second)
	}
}

// Freeze stops the processes of all nodes without ending them (SIGSTOP): connections are taken, and nothing is answered. Thaw
// lets them go on; [Kafka.Heal] waits until all is as before.
func (k *Kafka) Freeze(t testing.TB) { t.Helper(); k.signal(t, syscall.SIGSTOP) }

// Thaw lets frozen nodes go on.
func (k *Kafka) Thaw(t testing.TB) { t.Helper(); k.signal(t, syscall.SIGCONT) }

func (k *Kafka) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	for _, n := range k.nodes {
		if err := n.proc.signal(sig); err != nil {
			t.Fatal(err)
		}
	}
}

// Restart starts what is stopped, on the old ports with the old data, and waits until it answers.
func (k *Kafka) Restart(t testing.TB) {
	t.Helper()
	for _, n := range k.nodes {
		if n.proc == nil {
			if err := k.launch(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if err := k.wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func (n *node) stop(sig syscall.Signal, patience time.Duration) {
	if n.proc != nil {
		n.proc.stop(sig, patience)
		n.proc = nil
	}
}

// Close kills all nodes and removes their data: nothing of it is needed any more, so no time goes into an orderly stop.
func (k *Kafka) Close() {
	k.Kill()
	for _, n := range k.nodes {
		if n.proxy != nil {
			n.proxy.Close()
		}
	}
	_ = os.RemoveAll(k.dir)
}
