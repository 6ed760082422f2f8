//go:build realkafka

package migrate_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/kafkatest"
	"github.com/koffset/koffset/migrate"
)

// A target that keeps commits for a minute: what is committed again in time stays, what nobody looks after is gone, and comes back with
// the next round though its source stands still.
func TestCommitsExpire(t *testing.T) {
	t.Parallel() // it mostly waits
	src := real.Kafka(t).Client(t)
	k := kafkatest.Start(t, kafkatest.Options{Properties: map[string]string{"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}})
	dst := k.Client(t)
	kafkatest.CreateTopic(t, src, "expire", 1)
	kafkatest.CreateTopic(t, dst, "expire", 1)
	rs := kafkatest.Records("expire", 0, 60, 1_700_000_000_000, 1000)
	kafkatest.Produce(t, src, rs...)
	var copies []*kgo.Record
	for _, r := range rs[10:] {
		c := *r
		copies = append(copies, &c)
	}
	kafkatest.Produce(t, dst, copies...)
	kafkatest.Commit(t, src, "kept", kafkatest.At("expire", 0, 40))
	kafkatest.Commit(t, src, "lost", kafkatest.At("expire", 0, 40))
	keeps, err := inspect.ReadCommitRetention(t.Context(), dst)
	if err != nil || keeps != time.Minute {
		t.Fatalf("the target keeps commits for %s, %v", keeps, err)
	}
	dir := t.TempDir()
	kept := &migrate.Syncer{State: migrate.OpenSyncState(dir, "a", "b", "test"), Clock: time.Now, Retention: keeps}
	lost := &migrate.Syncer{State: migrate.OpenSyncState(dir, "a", "c", "test"), Clock: time.Now, Retention: keeps}
	for g, s := range map[string]*migrate.Syncer{"kept": kept, "lost": lost} {
		r := syncRound(t, s, src, dst, dir, noCrash, g) // fails where the commit was not sent
		if i := r.Result.Items[0]; i.Outcome != migrate.Exact || i.Offset != 30 {
			t.Fatalf("the first round of %s: %s %d, %v", g, i.Label(), i.Offset, i.Reasons)
		}
	}
	last, refreshed := time.Now(), 0
	deadline := time.Now().Add(3 * time.Minute)
	for committedAt(t, dst, "lost", "expire") >= 0 {
		if time.Now().After(deadline) {
			t.Fatal("the commit did not expire in three minutes")
		}
		<-time.After(time.Second)
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			refreshed += syncRound(t, kept, src, dst, dir, noCrash, "kept").Planned.Effect.Refreshed
		}
	}
	if got := committedAt(t, dst, "kept", "expire"); got != 30 || refreshed == 0 {
		t.Errorf("the commit that was looked after is %d, committed again %d times", got, refreshed)
	}
	r := syncRound(t, lost, src, dst, dir, noCrash, "lost")
	if got := committedAt(t, dst, "lost", "expire"); got != 30 || len(r.Look.Steps[migrate.StepRestore]) != 1 {
		t.Errorf("after the next round the expired commit is %d; %v", got, r.Look.Steps)
	}
}

// Whether a group has read further, with a real broker's markers at the end of transactions and of aborted ones.
func TestFurtherByMarkersOnTwoClusters(t *testing.T) {
	furtherByMarkers(t, real.Kafka(t).Client(t), real.Second(t).Client(t))
}
