package kafkatest

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests that do not wait for each other are one round trip, on however many connections; one that waits is another.
func TestSteps(t *testing.T) {
	p, q := startProxy(t, echo(t)), startProxy(t, echo(t))
	steps := StartSteps(200*time.Millisecond, p, q)
	var conns []net.Conn
	for _, x := range []*Proxy{p, p, q} {
		conns = append(conns, dial(t, x).Conn)
	}
	ask := func(c net.Conn, r kmsg.Request) {
		t.Helper()
		if _, err := c.Write([]byte{0, 0, 0, 3, byte(r.Key() >> 8), byte(r.Key()), 7}); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(c net.Conn) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(Deadline))
		if _, err := io.ReadFull(c, make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
	}
	list, metadata := kmsg.NewPtrListGroupsRequest(), kmsg.NewPtrMetadataRequest()
	for _, c := range conns {
		ask(c, list)
	}
	ask(conns[0], metadata) // does not wait for the answer before it
	for _, c := range conns {
		answer(c)
	}
	answer(conns[0])
	ask(conns[2], metadata)
	answer(conns[2])
	if got, want := steps.End(), []string{"ListGroups x3, Metadata", "Metadata"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	ask(conns[1], list) // it is counted no more, and still goes
	answer(conns[1])
}
