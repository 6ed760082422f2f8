package text_test

import (
	"testing"
	"time"

	"github.com/koffset/koffset/internal/text"
)

func TestHuman(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 123456: "123,456", -1 << 63: "-9,223,372,036,854,775,808"} {
		if got := text.Count(n); got != want {
			t.Errorf("Count(%d) = %s", n, got)
		}
	}
	if text.Plural(1, "record") != "1 record" || text.Plural(0, "record") != "0 records" || text.Plural(2000, "record") != "2,000 records" {
		t.Error("Plural")
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 20 << 20: "20 MiB", 1<<20 - 1: "1024 KiB", 1<<63 - 1: "8.0 EiB", -2048: "-2.0 KiB"} {
		if got := text.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0ms", 850 * time.Millisecond: "850ms", 12340 * time.Millisecond: "12.3s",
		5*time.Minute + 10*time.Second: "5m10s", time.Hour: "1h", 2*time.Hour + 5*time.Minute + time.Second: "2h5m",
		76 * time.Hour: "3d4h", -time.Second: "-1s", -1 << 63: "-106751d23h"} {
		if got := text.Duration(d); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestNear(t *testing.T) {
	known := []string{"billing", "billing-eu", "shipping", "analytics", "x"}
	for name, want := range map[string]string{"biling": "billing", "Billing": "billing", "analytic": "analytics", "zzzz": "", "bill": "billing"} {
		got := ""
		if near := text.Near(name, known); len(near) > 0 {
			got = near[0]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"brokers", "tls.ca", "sasl.user", "prod", "staging"}
	for in, want := range map[string]string{"brokesr": "brokers", "sasl.usr": "sasl.user", "prdo": "prod", "stagin": "staging", "x": "", "production": "", "Prod": "prod"} {
		if got := text.Nearest(in, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSome(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{0, ""}, {1, "0"}, {3, "0, 1, 2"}, {4, "0, 1, 2 and 1 more"}, {1003, "0, 1, 2 and 1,000 more"}} {
		list := make([]int, c.n)
		for i := range list {
			list[i] = i
		}
		if got := text.Some(list, 3); got != c.want {
			t.Errorf("%d: %q, want %q", c.n, got, c.want)
		}
	}
}
