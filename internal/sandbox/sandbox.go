// Package sandbox is the in-process Kafka of `koffset demo` and `koffset
// sandbox`: kfake with sample topics, believable record times and a group for
// each state that koffset tells apart. Everything but record times, ports and
// member ids is the same in every run, so that documentation can quote it.
//
// It speaks Kafka's protocol on 127.0.0.1, so other clients and Kafka's own Java
// tools work against it too.
package sandbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Config says what to start. The zero value is one cluster on a free port.
type Config struct {
	// Clusters is 1 or 2. The second holds a copy of a part of the first, at
	// other offsets, and no groups.
	Clusters int
	// Ports are the ports to listen on, one for each cluster; 0 or a missing one
	// means any free port.
	Ports []int
	// Now is what record times are relative to; zero means the time of the call.
	Now time.Time
}

// Cluster is one of the clusters of a sandbox.
type Cluster struct {
	Name      string // "shop", "shop-dr"
	ID        string // the cluster id
	Bootstrap string // host:port of its only broker
}

// Sandbox is running until Close.
type Sandbox struct {
	Clusters []Cluster

	fakes   []*kfake.Cluster
	stop    context.CancelFunc // ends the work of live members
	mu      sync.Mutex         // guards clients: groups are set up in parallel
	clients []*kgo.Client      // closed before the clusters, so that members leave
	work    sync.WaitGroup
	once    sync.Once
}

// Start starts the clusters and fills them, which takes about 0.2 s. ctx bounds
// the start only. On an error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Sandbox, error) {
	clusters := max(cfg.Clusters, 1)
	if clusters > 2 {
		return nil, fmt.Errorf("a sandbox has 1 or 2 clusters, not %d", clusters)
	}
	if len(cfg.Ports) > clusters {
		return nil, fmt.Errorf("%d ports for %d clusters of the sandbox", len(cfg.Ports), clusters)
	}
	now := cfg.Now
	if now.IsZero() {
		now = time.Now()
	}
	now = now.Truncate(time.Millisecond)

	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Sandbox{stop: stop}
	err := s.start(ctx, run, cfg, clusters, now)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	return s, nil
}

func (s *Sandbox) start(ctx, run context.Context, cfg Config, clusters int, now time.Time) error {
	for i := range clusters {
		port := 0
		if i < len(cfg.Ports) {
			port = cfg.Ports[i]
		}
		if err := s.listen([]string{"shop", "shop-dr"}[i], port); err != nil {
			return err
		}
		s.mendListGroups(i)
		if err := s.mendDescribe(run, i); err != nil {
			return err
		}
	}
	if err := s.fillShop(ctx, now); err != nil {
		return err
	}
	if err := s.startGroups(ctx, run); err != nil {
		return err
	}
	if clusters > 1 {
		return s.fillReplica(ctx, now)
	}
	return nil
}

// listen starts an empty cluster of one broker.
func (s *Sandbox) listen(name string, port int) error {
	// Kafka's Java tools ask for more than kfake answers in two places and fail
	// with null pointers there: DescribeTopicPartitions (75) and CreateTopics
	// above version 4 (19). Without them they use what works.
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(75, -1)
	versions.SetMaxKeyVersion(19, 4)
	id := "sandbox-" + name
	fake, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(port), kfake.ClusterID(id), kfake.MaxVersions(versions),
		// The open transaction must outlive any tour of the sandbox.
		kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": fmt.Sprint(openTransactionFor.Milliseconds())}),
	)
	if err != nil {
		return fmt.Errorf("listen on 127.0.0.1:%d: %w", port, err)
	}
	s.fakes = append(s.fakes, fake)
	s.Clusters = append(s.Clusters, Cluster{Name: name, ID: id, Bootstrap: fake.ListenAddrs()[0]})
	return nil
}

// Bootstrap is the address of the first cluster.
func (s *Sandbox) Bootstrap() string { return s.Clusters[0].Bootstrap }

// ExportLines are shell commands that make koffset use the sandbox. With two
// clusters the second's address is in $DR.
func (s *Sandbox) ExportLines() []string {
	lines := []string{"export KOFFSET_BROKERS=" + s.Bootstrap()}
	if len(s.Clusters) > 1 {
		lines = append(lines, "export DR="+s.Clusters[1].Bootstrap)
	}
	return lines
}

// Sample is a topic or group of the sandbox and what it shows.
type Sample struct {
	Kind  string // "topic", "group"
	Name  string
	About string
}

// Samples lists the topics and groups of the first cluster, for the user to find
// a way around.
func (s *Sandbox) Samples() []Sample {
	var out []Sample
	for _, t := range shopTopics() {
		out = append(out, Sample{"topic", t.name, t.about})
	}
	for _, g := range shopGroups() {
		out = append(out, Sample{"group", g.name, g.about})
	}
	return append(out,
		Sample{"group", flinkGroup, "only commits: what a Flink job leaves, Empty even while it runs"},
		Sample{"group", shareGroup, "a share group (KIP-932) with a live member"})
}

// Close stops everything. It may be called more than once.
func (s *Sandbox) Close() {
	s.once.Do(func() {
		s.stop()
		var closing sync.WaitGroup
		for _, cl := range s.clients {
			closing.Go(cl.Close)
		}
		closing.Wait()
		s.work.Wait()
		for _, f := range s.fakes {
			f.Close()
		}
	})
}

// client connects to a cluster. What keep says is closed by Close, the rest by
// the caller.
func (s *Sandbox) client(cluster int, keep bool, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{kgo.SeedBrokers(s.Clusters[cluster].Bootstrap), kgo.DisableClientMetrics()}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err == nil && keep {
		s.mu.Lock()
		s.clients = append(s.clients, cl)
		s.mu.Unlock()
	}
	return cl, err
}
