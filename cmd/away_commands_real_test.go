//go:build realkafka

package cmd_test

// What docs/troubleshooting.md says of each command while a broker is away, held to what each does.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/koffset/koffset/internal/kafkatest"
)

// awayCommands is what was prepared while all brokers were there, for a group whose coordinator goes away.
type awayCommands struct {
	*awayBed
	fine, lost string
	dir, state string
	plan       string
}

// prepareCommands makes a plan and an operation that can be undone.
func (b *awayBed) prepareCommands(fine, lost string) *awayCommands {
	b.t.Helper()
	c := &awayCommands{awayBed: b, fine: fine, lost: lost, dir: b.t.TempDir(), state: b.t.TempDir()}
	c.plan = filepath.Join(c.dir, "plan.json")
	for _, line := range []string{"reset FINE LOST --topic TOPIC:0 --to 6 --plan-out PLAN", "reset LOST --topic TOPIC:2 --to 7 --execute --yes"} {
		if r := c.run(line); r.code != 0 {
			b.t.Fatalf("koffset %s: exit status %d\n%s%s", line, r.code, r.out, r.err)
		}
	}
	return c
}

func (c *awayCommands) run(line string) lineEnd {
	line = strings.NewReplacer("FINE", c.fine, "LOST", c.lost, "TOPIC", c.topic, "PLAN", c.plan, "DIR", c.dir, "ALL", c.topic+"-g.*").Replace(line)
	return runLine(c.t, append([]string{"-b", c.kafka.Bootstrap(), "--state-dir", c.state, "--timeout", "8s"}, strings.Fields(line)...)...)
}

// each runs every command beside the others: they mostly wait.
func (c *awayCommands) each() {
	c.t.Helper()
	var all sync.WaitGroup
	for _, x := range []struct {
		code       int
		line, want string
	}{
		{6, "split TOPIC --parts 2", "TOPIC:1.*LEADER_NOT_AVAILABLE"},
		{4, "check FINE --max-lag 99999 -o json", `"incomplete":true`},
		{4, "check LOST FINE --max-lag 99999", "LOST"},
		{4, "reset FINE LOST --topic TOPIC:0 --to 6", "(?s)FINE +TOPIC +0 +4 .*LOST"},
		{4, "delete FINE LOST", "(?s)FINE.*LOST"},
		{6, "repair FINE LOST", "(?s)FINE.*LOST|LOST.*FINE"},
		{3, "repair --group-match ALL", "not complete"},
		{3, "reset --group-match ALL --topic TOPIC:0 --to earliest --execute --yes", "not complete"},
		{3, "delete --group-match ALL --execute --yes", "not complete"},
		{3, "apply PLAN --execute --yes", "LOST"},
		{6, "undo last --execute --yes", "LOST"},
		{4, "migrate export --group-match ALL --no-fingerprint --out DIR/all.jsonl", "partition 2 of 6 of __consumer_offsets"},
		{4, "migrate export LOST FINE --no-fingerprint --out DIR/two.jsonl", "LOST"},
		{4, "watch FINE LOST --count 1 --plain", "LOST"},
		{6, "consume TOPIC --from earliest --until latest -q", "TOPIC:1"},
	} {
		all.Go(func() {
			r := c.run(x.line)
			want := strings.NewReplacer("FINE", c.fine, "LOST", c.lost, "TOPIC", c.topic).Replace(x.want)
			if r.code != x.code || !regexp.MustCompile(want).MatchString(r.out+r.err) || strings.Contains(r.err, "does not exist") {
				c.t.Errorf("koffset %s: exit status %d after %s, want %d and %s\n%s%s", x.line, r.code, r.took, x.code, want, r.out, r.err)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(filepath.Join(c.dir, "all.jsonl"))
	if err != nil || !strings.Contains(string(data), `"incomplete":true`) {
		c.t.Errorf("%v: the export does not say that it is incomplete:\n%s", err, data)
	}
	if got := kafkatest.CommittedOffsets(c.t, c.cl, c.fine, c.topic); got[0] != 4 {
		c.t.Errorf("%s was moved: %v", c.fine, got)
	}
}

// A coordinator that is killed is another broker within seconds: each command that has just begun finds it there.
func (b *awayBed) afterTheKill(t *testing.T, group string) {
	t.Helper()
	var all sync.WaitGroup
	for _, line := range []string{"check GROUP --max-lag 100", "inspect GROUP", "reset GROUP --topic " + b.topic + " --to earliest", "watch GROUP --count 1 --plain"} {
		all.Go(func() {
			r := runLine(t, append([]string{"-b", b.kafka.Bootstrap(), "--timeout", "40s"}, strings.Fields(strings.Replace(line, "GROUP", group, 1))...)...)
			if r.code != 0 || r.took.Seconds() > 30 {
				t.Errorf("koffset %s: exit status %d after %s\n%s%s", line, r.code, r.took, r.out, r.err)
			}
		})
	}
	all.Wait()
}
