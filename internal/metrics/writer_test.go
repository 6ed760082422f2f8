package metrics

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A label may hold anything: both ways of writing samples escape it the same way, and Prometheus' own parser reads it back.
func TestEscaping(t *testing.T) {
	hard := "a/b#c:\"d\\e\nf"
	var b strings.Builder
	w := NewWriter(&b, &Slab{})
	w.One(Family{Name: "x_total", Help: "X.", Counter: true}, 1.5, NewLabel("topic", hard), NewLabel("partition", "7"))
	w.Lines(Family{Name: "y", Help: "Y."}, func(line func(string, int32, string, float64)) {
		line(Prefix(NewLabel("topic", hard)), 7, PlainEnd, 1_000_000)
	})
	w.Lines(Family{Name: "none", Help: "Without samples."}, func(func(string, int32, string, float64)) {})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	got, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %d families: %s", err, len(got), b.String())
	}
	for name, f := range got {
		if l := f.Metric[0].Label; l[0].GetValue() != hard || l[1].GetValue() != "7" {
			t.Errorf("%s: %v", name, l)
		}
	}
	if got["x_total"].Metric[0].GetCounter().GetValue() != 1.5 || got["y"].Metric[0].GetGauge().GetValue() != 1e6 || !strings.Contains(b.String(), "} 1000000\n") {
		t.Errorf("%s", b.String())
	}
}

func TestFail(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b, &Slab{})
	broken := errors.New("broken")
	w.Fail(broken)
	w.Fail(errors.New("later"))
	w.One(Family{Name: "x", Help: "X."}, 1)
	if err := w.Flush(); !errors.Is(err, broken) || b.Len() != 0 {
		t.Errorf("%v: %q", err, b.String())
	}
}
