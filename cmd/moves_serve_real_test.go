//go:build realkafka

package cmd_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/koffset/koffset/internal/kafkatest"
)

// sample is a line of a metrics page: its name, its partition where it has one, and its value.
var sample = regexp.MustCompile(`(?m)^(koffset_\w+)(?:\{([^}]*)\})? (\S+)$`)

// serve reads the metrics of the group whose commits stay, over several refreshes: what is shown is right, and what is missing is counted.
func (b *movesBed) serve() {
	address := inBackground(b.t, `serving (http://\S+/metrics)`, "koffset", "-b", b.kafka.Bootstrap(), "--timeout", movesTimeout.String(),
		"serve", b.still, "--listen", "127.0.0.1:0", "--interval", "300ms")
	began := -1.0
	kafkatest.Until(b.t, "there were four refreshes", func() bool {
		page := b.page(address)
		values, known := b.served(page)
		ended := values["koffset_refreshes_total"]
		if began < 0 {
			began = ended
		}
		missing := values["koffset_up"] == 0 || values["koffset_groups_unread"] > 0 || values["koffset_groups"] == 0 || values["koffset_brokers_unanswered"] > 0
		if ended > 0 && known < 3 && !missing {
			b.t.Errorf("%d of 3 partitions are known, and nothing says that something is missing:\n%s", known, page)
		}
		return b.t.Failed() || ended >= began+4
	})
}

func (b *movesBed) page(address string) string {
	b.t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(page)
}

// served are the values without a partition, and how many of the first three partitions are known; each is what it is.
func (b *movesBed) served(page string) (values map[string]float64, known int) {
	b.t.Helper()
	values = map[string]float64{}
	number := regexp.MustCompile(`partition="(\d+)"`)
	for _, m := range sample.FindAllStringSubmatch(page, -1) {
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			b.t.Errorf("%s: %v", m[0], err)
		}
		p := number.FindStringSubmatch(m[2])
		if p == nil {
			values[m[1]] = v
			continue
		}
		n, _ := strconv.ParseFloat(p[1], 64)
		if n > 2 {
			continue // it was added meanwhile
		}
		switch want, is := map[string]float64{"koffset_group_partition_committed_offset": 4 + n, "koffset_group_partition_lag": 6 - n, "koffset_topic_partition_log_end_offset": 10}[m[1]]; {
		case is && v != want:
			b.t.Errorf("%s, want %v", m[0], want)
		case m[1] == "koffset_group_partition_lag":
			known++
		}
	}
	return values, known
}
