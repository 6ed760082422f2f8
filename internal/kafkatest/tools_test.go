//go:build realkafka

package kafkatest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestToolsOnKafka(t *testing.T) {
	k, tools := shared.Kafka(t), shared.Tools(t)
	f := F1(t, k.Client(t), "tools.")
	checkTools(t, tools, k.Bootstrap(), f)
	t.Run("warm calls are fast", func(t *testing.T) {
		if r := tools.Run(t, ConsumerGroups, "--bootstrap-server", k.Bootstrap(), "--list"); r.Took > 5*time.Second {
			t.Errorf("a warm --list took %s", r.Took)
		} else {
			t.Logf("a warm --list took %s", r.Took)
		}
	})
	t.Run("clamping is logged to the call's own stderr", func(t *testing.T) {
		r := tools.Run(t, ConsumerGroups, "--bootstrap-server", k.Bootstrap(), "--group", f.App2, "--topic", f.Topic,
			"--reset-offsets", "--to-offset", "999", "--dry-run")
		if !strings.Contains(r.Stderr, "999") || strings.Contains(r.Stdout, "WARN") {
			t.Errorf("stdout %q, stderr %q; want a warning about 999 in stderr", r.Stdout, r.Stderr)
		}
	})
}

// The tools work on kfake too, with the versions that [Fake] offers.
func TestToolsOnFake(t *testing.T) {
	c, cl := FakeClient(t)
	checkTools(t, shared.Tools(t), c.ListenAddrs()[0], F1(t, cl, "tools."))
}

func checkTools(t *testing.T, tools *Tools, bootstrap string, f Orders) {
	t.Run("list", func(t *testing.T) {
		r := tools.Run(t, ConsumerGroups, "--bootstrap-server", bootstrap, "--list")
		if lines := strings.Fields(r.Stdout); r.Status != 0 || !slices.Contains(lines, f.App) || !slices.Contains(lines, f.App2) {
			t.Errorf("%+v, want %s and %s", r, f.App, f.App2)
		}
	})
	t.Run("describe", func(t *testing.T) {
		r := tools.Run(t, ConsumerGroups, "--bootstrap-server", bootstrap, "--describe", "--group", f.App)
		rows := Table(r.Stdout)
		if len(rows) != 2 || rows[0]["CURRENT-OFFSET"] != "6" || rows[1]["LAG"] != "3" {
			t.Errorf("%+v", r)
		}
		if strings.Count(r.Stderr+r.Stdout, "no active members") != 1 {
			t.Errorf("the notice is missing: %+v", r)
		}
	})
	t.Run("offsets", func(t *testing.T) {
		r := tools.Run(t, GetOffsets, "--bootstrap-server", bootstrap, "--topic", f.Topic, "--time", "1710072000500")
		if want := f.Topic + ":0:5\n" + f.Topic + ":1:5\n" + f.Topic + ":2:5\n"; r.Stdout != want || r.Status != 0 {
			t.Errorf("%+v, want %q", r, want)
		}
	})
	t.Run("exit status and usage", func(t *testing.T) {
		r := tools.Run(t, Topics, "--bootstrap-server", bootstrap, "--describe", "--topic", "tools.nope")
		if r.Status != 1 || !strings.Contains(r.Stdout+r.Stderr, "tools.nope") {
			t.Errorf("describe of an unknown topic: %+v, want status 1", r)
		}
		if r := tools.Run(t, ConsumerGroups, "--nonsense"); r.Status != 1 || !strings.Contains(r.Stderr, "nonsense") {
			t.Errorf("an unknown option: %+v, want status 1", r)
		}
		if r := tools.Run(t, "org.example.Missing"); r.Status != 1 || !strings.Contains(r.Stderr, "ClassNotFoundException") {
			t.Errorf("a missing class: %+v, want status 1", r)
		}
	})
	t.Run("standard input", func(t *testing.T) {
		r := tools.RunInput(t, "hé\nho\n", ConsoleProducer, "--bootstrap-server", bootstrap, "--topic", f.Topic)
		if r.Status != 0 {
			t.Fatalf("produce: %+v", r)
		}
		r = tools.Run(t, GetOffsets, "--bootstrap-server", bootstrap, "--topic", f.Topic)
		if got := strings.Count(r.Stdout, ":12\n") + strings.Count(r.Stdout, ":11\n"); got == 0 {
			t.Errorf("nothing was produced: %q", r.Stdout)
		}
	})
}

func TestToolsOverSASL(t *testing.T) {
	k := Start(t, Options{Secure: true})
	f := F1(t, k.Client(t), "")
	k.Allow(t, LimitedUser, kmsg.ACLResourceTypeGroup, f.App, kmsg.ACLOperationDescribe)
	r := shared.Tools(t).Run(t, ConsumerGroups, "--bootstrap-server", k.Secure().SASLAddr,
		"--command-config", k.CommandConfig(t, LimitedUser), "--list")
	if got := strings.TrimSpace(r.Stdout); got != f.App {
		t.Errorf("the limited user lists %q, want %s alone (stderr %q)", got, f.App, r.Stderr)
	}
}
