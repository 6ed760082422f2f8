package consume_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/internal/kafkatest"
)

// grow gives a topic more partitions.
func grow(t *testing.T, cl *kgo.Client, topic string, n int) {
	t.Helper()
	resp, err := kadm.NewClient(cl).UpdatePartitions(t.Context(), n, topic)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	kafkatest.WaitLeaders(t, cl, topic, int32(n))
}

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
