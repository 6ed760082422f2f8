//go:build realkafka

package cmd_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/kafkatest"
)

// However many groups and partitions there are, a phase is one round trip: a cluster across an ocean is asked as fast as one
// next door, but for the way. bench/roundtrips measures the same with more groups, and the time that it takes.
func TestRoundTrips(t *testing.T) {
	k := real.Trio(t)
	cl := k.Client(t)
	const topic, groups, partitions = "trips", 12, 9
	kafkatest.CreateTopic(t, cl, topic, partitions)
	var commits []kafkatest.Committed
	for p := range int32(partitions) {
		kafkatest.Produce(t, cl, kafkatest.Records(topic, p, 20, kafkatest.F1Start, 1)...)
		commits = append(commits, kafkatest.At(topic, p, 10))
	}
	for g := range groups {
		kafkatest.Commit(t, cl, fmt.Sprintf("trips-%d", g), commits...)
	}
	state := t.TempDir()
	at := 0
	for _, x := range []struct {
		most int
		args string
	}{
		{8, "inspect"},
		{8, "inspect trips-7"},
		{5, "resolve trips"},
		{5, "resolve trips --to @-1h"},
		{8, "reset trips-7 --topic trips --to OFFSET"},
		{14, "reset trips-8 --topic trips --to OFFSET --execute --yes"},
		{8, "reset --group-match trips-.* --topic trips --to OFFSET"},
		{14, "reset --group-match trips-.* --topic trips --to OFFSET --execute --yes"},
	} {
		// A machine that is busy makes a question late and so a round trip more, never one less.
		var asked []string
		for try := 0; try == 0 || len(asked) > x.most && try < 5; try++ {
			at++
			line := strings.Replace(x.args, "OFFSET", fmt.Sprint(at%20), 1)
			steps := kafkatest.StartSteps(100*time.Millisecond, k.Proxies()...)
			r := runLine(t, append([]string{"-b", k.Bootstrap(), "--state-dir", state}, strings.Fields(line)...)...)
			asked = steps.End()
			if r.code != 0 {
				t.Fatalf("koffset %s: exit status %d\n%s%s", line, r.code, r.out, r.err)
			}
		}
		if len(asked) == 0 {
			t.Fatalf("koffset %s: nothing was asked", x.args)
		}
		if len(asked) > x.most+1 {
			t.Errorf("koffset %s: %d round trips, want at most %d:\n  %s", x.args, len(asked), x.most, strings.Join(asked, "\n  "))
		}
	}
}
