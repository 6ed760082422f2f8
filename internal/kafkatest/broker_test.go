//go:build realkafka

package kafkatest

import (
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

var shared Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

func TestFixturesOnKafka(t *testing.T) {
	checkFixtures(t, shared.Kafka(t).Client(t))
}

func TestMembersOnKafka(t *testing.T) {
	cl := shared.Kafka(t).Client(t)
	checkMembers(t, cl)
	t.Run("streams", func(t *testing.T) {
		CreateTopic(t, cl, "members.streams.t", 2)
		m := JoinStreams(t, cl, "members.streams", "app-1", "members.streams.t")
		adm := kadm.NewClient(cl)
		groups, err := adm.ListGroupsByType(t.Context(), []string{"streams"})
		if err != nil || groups["members.streams"].State != "Stable" {
			t.Fatalf("listed as %+v, %v", groups, err)
		}
		m.Close()
		Until(t, "the streams group is empty", func() bool {
			groups, err := adm.ListGroupsByType(t.Context(), []string{"streams"})
			return err == nil && groups["members.streams"].State == "Empty"
		})
	})
}
