package cmd_test

// A sync that is killed again and again, while the source goes on, carries to the last offset and takes none of its own commits
// for somebody else's.

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

func TestSyncKilled(t *testing.T) {
	sc, src := kafkatest.FakeClient(t)
	dc, dst := kafkatest.FakeClient(t, kfake.ClusterID("target"))
	syncKilled(t, src, dst, strings.Join(sc.ListenAddrs(), ","), strings.Join(dc.ListenAddrs(), ","))
}

func syncKilled(t *testing.T, src, dst *kgo.Client, from, to string) {
	t.Helper()
	rs := kafkatest.Records("killed", 0, 200, 1_700_000_000_000, 1000)
	for n, cl := range []*kgo.Client{src, dst} {
		kafkatest.CreateTopic(t, cl, "killed", 1)
		var copies []*kgo.Record
		for _, r := range rs[30*n:] {
			c := *r
			copies = append(copies, &c)
		}
		kafkatest.Produce(t, cl, copies...)
	}
	kafkatest.Commit(t, dst, "killed.g", kafkatest.At("killed", 0, 1)) // from before: the first commit goes over it
	home := t.TempDir()
	args := []string{"-b", to, "migrate", "sync", "killed.g", "--source-bootstrap-server", from, "--execute", "--interval", "1s"}
	for n := range 20 {
		kafkatest.Commit(t, src, "killed.g", kafkatest.At("killed", 0, int64(50+5*n)))
		var said bytes.Buffer
		c := koffset(t, home, args...)
		c.Stderr = &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(20+rand.IntN(400))*time.Millisecond, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		timer.Stop()
		if strings.Contains(said.String(), "taken over") {
			t.Fatalf("round %d:\n%s", n, said.String())
		}
	}
	out, err := koffset(t, home, append(args, "--rounds", "1")...).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("taken over")) {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := kafkatest.CommittedOffsets(t, dst, "killed.g", "killed")[0]; got != 115 {
		t.Errorf("the target has %d, want 115", got)
	}
}
