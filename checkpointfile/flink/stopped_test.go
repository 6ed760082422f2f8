package flink

import (
	"slices"
	"testing"
)

// Two real savepoints of stop-with-savepoint, by Flink 1.20.4 with FlinkKafkaConsumer. The job of the first had taken a
// savepoint at 30 and 30, then read seven records more; that of the second had no checkpoint before. FlinkKafkaConsumer is
// closed when such a savepoint is taken, and leaves its state as the checkpoint before made it.
func TestStoppedLegacySource(t *testing.T) {
	for _, tc := range []struct {
		dir  string
		next []int64
	}{{"after-a-savepoint", []int64{30, 30}}, {"without", nil}} {
		s, err := Open("testdata/stopped/"+tc.dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.TypeName != "Suspend Savepoint" || len(s.Sources) != 1 || s.Sources[0].Kind != FlinkKafkaConsumer {
			t.Fatalf("%s: %s with %+v", tc.dir, s.TypeName, s.Sources)
		}
		var next []int64
		for _, p := range s.Sources[0].Partitions {
			next = append(next, *p.Next)
		}
		if !slices.Equal(next, tc.next) {
			t.Errorf("%s: %v, want %v", tc.dir, next, tc.next)
		}
		if len(s.Warnings) != 1 || s.Warnings[0].Code != WarnStoppedLegacy {
			t.Errorf("%s: %+v", tc.dir, s.Warnings)
		}
	}
}
