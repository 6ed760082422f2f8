package inspect

import (
	"slices"
	"strings"
	"testing"
)

func TestAdviceForEachVerdict(t *testing.T) {
	all := Healths()
	slices.Reverse(all)
	for i, a := range Advices() {
		if i >= len(all) || a.Health != all[i] || a.Cause == "" || a.Evidence == "" || a.Next == "" {
			t.Errorf("%d: %+v, want %s", i, a, all[min(i, len(all)-1)])
		}
	}
	if len(Advices()) != len(all) {
		t.Errorf("%d of %d verdicts have advice", len(Advices()), len(all))
	}
}

func TestAdviceFitsTheGroup(t *testing.T) {
	sink := Description{Group: Group{Name: "connect-billing-sink"}, Application: AppConnectSink}
	for _, tc := range []struct {
		h    Health
		d    Description
		want string
	}{
		{HealthStopped, Description{}, "start the application"},
		{HealthStopped, sink, "restart the connector billing-sink"},
		{HealthStalled, sink, "tasks of the connector billing-sink"},
		{HealthNeverLive, Description{Application: AppOffsetsOnly}, "Flink"},
		{HealthStalled, Description{Application: AppStreams}, "threads"},
		{HealthFallingBehind, sink, "more readers"},
	} {
		if got := tc.h.Next(tc.d); !strings.Contains(got, tc.want) {
			t.Errorf("%s of %q: %q, want %q in it", tc.h, tc.d.Application, got, tc.want)
		}
	}
}
