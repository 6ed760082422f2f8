package kafkatest

// The in-process cluster, and clients for any cluster.

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Fake starts a kfake cluster on free loopback ports and closes it with the test. Its ListenAddrs are the bootstrap addresses.
// Without [kfake.NumBrokers] it has one broker, which most tests want (kfake's own default is three). Options come after the
// defaults, so they win.
func Fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	defaults := []kfake.Opt{kfake.NumBrokers(1), kfake.MaxVersions(JavaVersions())}
	c, err := kfake.NewCluster(append(defaults, opts...)...)
	if err != nil {
		t.Fatalf("start a kfake cluster: %v", err)
	}
	t.Cleanup(c.Close)
	lowerGroupTypes(c)
	return c
}

// lowerGroupTypes makes kfake's list of groups find what Java asks for: Java spells the types "Classic" and "Consumer", Kafka ignores
// the case, kfake does not and lists nothing. A control function that does not handle its request stays, and what it changed in
// the request stays too.
func lowerGroupTypes(c *kfake.Cluster) {
	c.ControlKey(kmsg.ListGroups.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		list := req.(*kmsg.ListGroupsRequest)
		for i, typ := range list.TypesFilter {
			list.TypesFilter[i] = strings.ToLower(typ)
		}
		return nil, nil, false
	})
}

// JavaVersions are the request versions a kfake cluster may offer so that Kafka's Java tools work on it. kfake answers null
// arrays to DescribeTopicPartitions (75) and to the newest CreateTopics (19), which the Java client does not expect: it then
// dies with a NullPointerException. Hiding the first and capping the second sends it down the older paths.
func JavaVersions() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(kmsg.DescribeTopicPartitions.Int16(), -1)
	v.SetMaxKeyVersion(kmsg.CreateTopics.Int16(), 4)
	return v
}

// Client makes a client for addrs and closes it with the test.
func Client(t testing.TB, addrs []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addrs...), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		t.Fatalf("make a client for %v: %v", addrs, err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// FakeClient is [Fake] and a [Client] of it.
func FakeClient(t testing.TB, opts ...kfake.Opt) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c := Fake(t, opts...)
	return c, Client(t, c.ListenAddrs())
}

// AnswerTogether makes a client whose first requests of a kind are answered as usual, and whose next n are not before all of them
// are written: one that waited for an answer before it asked on would wait for ever.
func AnswerTogether(t testing.TB, c *kfake.Cluster, key kmsg.Key, first, n int) *kgo.Client {
	t.Helper()
	w := &written{key: key}
	came := 0
	c.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if came++; came == first+1 {
			c.SleepControl(func() {
				for over := time.After(Deadline); int(w.n.Load()) < first+n; {
					select {
					case <-over:
						t.Errorf("%d requests of %s are under way at once, not %d", int(w.n.Load())-first, key.Name(), n)
						return
					case <-t.Context().Done():
						return
					case <-time.After(5 * time.Millisecond):
					}
				}
			})
		}
		return nil, nil, false
	})
	return Client(t, c.ListenAddrs(), kgo.WithHooks(w))
}

// written counts the requests of a kind that a client wrote.
type written struct {
	key kmsg.Key
	n   atomic.Int64
}

func (w *written) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err == nil && key == int16(w.key) {
		w.n.Add(1)
	}
}

// derive makes a second client with cl's options and more on top, closed with the test: producers and members need settings
// that the caller's client does not have.
func derive(t testing.TB, cl *kgo.Client, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	d, err := kgo.NewClient(append(cl.Opts(), opts...)...)
	if err != nil {
		t.Fatalf("make a second client: %v", err)
	}
	t.Cleanup(d.Close)
	return d
}
