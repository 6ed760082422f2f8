//go:build realkafka

package kafkatest

// One broker for all tests of a package.

import (
	"context"
	"sync"
	"testing"
)

// Shared starts a cluster at the first use and ends it after the last test of a package. A test package declares one:
//
//	var real kafkatest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(real.Main(m)) }
//
//	func TestX(t *testing.T) { cl := real.Kafka(t).Client(t) … }
//
// Without Main the cluster ends with the process all the same, by its watchdog; Main is faster and leaves no second behind.
// With testscript.Main pass [Shared.Wrap].
type Shared struct {
	Options Options // of the first two clusters; set before the first use

	mu     sync.Mutex
	kafkas [3]*Kafka
	errs   [3]error
	tools  *Tools
	flinks map[FlinkVersion]*Flink
}

// Runner is what *testing.M is to [Shared.Main].
type Runner interface{ Run() int }

// Main runs the tests, then ends what they started.
func (s *Shared) Main(m Runner) int {
	defer s.Close()
	return m.Run()
}

// Wrap is m whose Run ends with [Shared.Close].
func (s *Shared) Wrap(m Runner) Runner { return wrapped{s, m} }

type wrapped struct {
	s *Shared
	m Runner
}

func (w wrapped) Run() int { return w.s.Main(w.m) }

// Kafka is the package's cluster.
func (s *Shared) Kafka(t testing.TB) *Kafka { t.Helper(); return s.cluster(t, 0) }

// Second is another cluster beside it, with another cluster id.
func (s *Shared) Second(t testing.TB) *Kafka { t.Helper(); return s.cluster(t, 1) }

// Trio is a cluster of three nodes, each behind a proxy, any one of which may be killed or frozen. It is healed with the test,
// so tests that use it do not run in parallel.
func (s *Shared) Trio(t testing.TB) *Kafka {
	t.Helper()
	k := s.cluster(t, trio)
	t.Cleanup(func() { k.Heal(t) })
	return k
}

const trio = 2

func (s *Shared) cluster(t testing.TB, i int) *Kafka {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kafkas[i] == nil && s.errs[i] == nil {
		// Not the test's context: the cluster outlives the test that needed it first. A start that failed is not tried again by
		// every test in turn.
		opts := s.Options
		if i == trio {
			opts = TrioOptions()
		}
		s.kafkas[i], s.errs[i] = StartKafka(context.Background(), opts)
	}
	if s.errs[i] != nil {
		t.Fatal(s.errs[i])
	}
	return s.kafkas[i]
}

// Tools is the package's JVM for Kafka's tools.
func (s *Shared) Tools(t testing.TB) *Tools {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil {
		x, err := NewTools(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s.tools = x
	}
	return s.tools
}

// Flink is the package's JVM for jobs of one version of Flink.
func (s *Shared) Flink(t testing.TB, v FlinkVersion) *Flink {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flinks[v] == nil {
		f, err := newFlink(context.Background(), v)
		if err != nil {
			t.Fatal(err)
		}
		if s.flinks == nil {
			s.flinks = map[FlinkVersion]*Flink{}
		}
		s.flinks[v] = f
	}
	return s.flinks[v]
}

// Close ends the clusters and the JVMs.
func (s *Shared) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools != nil {
		s.tools.Close()
		s.tools = nil
	}
	for _, f := range s.flinks {
		f.Close()
	}
	s.flinks = nil
	for i, k := range s.kafkas {
		if k != nil {
			k.Close()
			s.kafkas[i] = nil
		}
	}
}
