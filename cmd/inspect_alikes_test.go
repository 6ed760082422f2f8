package cmd

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/internal/render"
)

// A stand-in for a service that never says Empty, as is told of Event Hubs: what the state means there is said, and nothing is
// moved on the strength of it.
func TestGroupThatIsNeverEmpty(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	fake.ControlKey(kmsg.DescribeGroups.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, name := range req.(*kmsg.DescribeGroupsRequest).Groups {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.State, g.ProtocolType = name, "Stable", "consumer"
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	dir := t.TempDir()
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		env := []string{"KOFFSET_BROKERS=" + strings.Join(fake.ListenAddrs(), ","), "KOFFSET_STATE_DIR=" + dir}
		code := Run(t.Context(), args, cli.App{Environ: env, Dir: dir, Home: dir,
			Streams: &render.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }}})
		return code, out.String()
	}
	code, out := run("inspect", f.App)
	if code != 0 || !strings.Contains(out, "koffset: app is Stable without members: Kafka says Empty then, Event Hubs and others do not") {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out = run("reset", f.App, "--topic", f.Topic, "--to-earliest", "--execute")
	if code != 3 || !strings.Contains(out, "Stable") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
