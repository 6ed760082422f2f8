//go:build realkafka

package cmd_test

import "testing"

// The same on two real clusters.
func TestSyncKilledOnTwoClusters(t *testing.T) {
	a, b := real.Kafka(t), real.Second(t)
	syncKilled(t, a.Client(t), b.Client(t), a.Bootstrap(), b.Bootstrap())
}
