//go:build realkafka

package kafkatest

import (
	"os"
	"testing"
)

var shared Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestFixturesOnKafka(t *testing.T) {
	checkFixtures(t, shared.Kafka(t).Client(t))
}
