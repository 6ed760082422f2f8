// Package storetest holds every store to the same contract.
package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

func pos(topic string, p int32, n int64, epoch int32, metadata string) store.Position {
	return store.Position{Partition: offset.Partition{Topic: topic, Partition: p},
		Committed: offset.Committed{Offset: n, LeaderEpoch: offset.EpochOf(epoch), Metadata: metadata}}
}

// Run runs the contract on an empty store. reopen opens the same place again.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	s := open(t)
	ctx := t.Context()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	load := func(t *testing.T, s store.Store, group string) store.Saved {
		t.Helper()
		got, err := s.Load(ctx, group)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	t.Run("unknown group", func(t *testing.T) {
		if got := load(t, s, "nobody"); len(got.Positions) != 0 || got.ClusterID != "" {
			t.Fatalf("a group that was never saved has %+v", got)
		}
	})
	t.Run("round trip", func(t *testing.T) {
		want := []store.Position{pos("Orders", 0, 1<<62, -1, ""), pos("orders", 2, 7, 0, "ckpt=17"), pos("orders", 10, 0, 3, "naïve 'quote\" \\ %")}
		if err := s.Save(ctx, store.Write{Group: "g", ClusterID: "c1", At: at, Positions: []store.Position{want[2], want[0], want[1]}}); err != nil {
			t.Fatal(err)
		}
		for name, st := range map[string]store.Store{"same": s, "reopened": open(t)} {
			got := load(t, st, "g")
			if !reflect.DeepEqual(got.Positions, want) || got.ClusterID != "c1" || !got.At.Equal(at) {
				t.Errorf("%s: got %+v, want %+v at %s", name, got, want, at)
			}
		}
	})
	t.Run("topic ids", func(t *testing.T) {
		old, anew := pos("t", 0, 1, -1, ""), pos("t", 1, 2, -1, "")
		old.TopicID, anew.TopicID = "AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA"
		unknown := pos("u", 0, 3, -1, "")
		if err := s.Save(ctx, store.Write{Group: "ids", ClusterID: "c1", At: at, Positions: []store.Position{old, anew, unknown}}); err != nil {
			t.Fatal(err)
		}
		got := load(t, s, "ids")
		if !reflect.DeepEqual(got.Positions, []store.Position{old, anew, unknown}) {
			t.Errorf("got %+v", got.Positions)
		}
		o := got.Of(store.Location{Scheme: store.SchemeFile, Path: "x"}, "ids").Origin
		if o.TopicIDs["t"] != old.TopicID+" and "+anew.TopicID || o.TopicIDs["u"] != "" || o.ClusterID != "c1" || !o.At.Equal(at) {
			t.Errorf("the origin is %+v", o)
		}
		old.TopicID = anew.TopicID
		if err := s.Save(ctx, store.Write{Group: "ids", ClusterID: "c1", At: at, Positions: []store.Position{old}}); err != nil {
			t.Fatal(err)
		}
		if o := load(t, s, "ids").Of(store.Location{}, "ids").Origin; o.TopicIDs["t"] != anew.TopicID {
			t.Errorf("after a save the id is %q", o.TopicIDs["t"])
		}
	})
	t.Run("names are bytes", func(t *testing.T) {
		for _, g := range []string{"G", "g ", "g:x", "a b/c*?[d]"} {
			if got := load(t, s, g); len(got.Positions) != 0 {
				t.Errorf("%q: it has the positions of another group: %+v", g, got.Positions)
			}
			if err := s.Save(ctx, store.Write{Group: g, ClusterID: "c1", At: at, Positions: []store.Position{pos("t", 0, int64(len(g)), -1, "")}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := load(t, s, "g"); len(got.Positions) != 3 {
			t.Errorf("saving other groups changed g: %+v", got.Positions)
		}
		groups, err := s.Groups(ctx)
		if err != nil || !reflect.DeepEqual(groups, []string{"G", "a b/c*?[d]", "g", "g ", "g:x", "ids"}) {
			t.Errorf("groups are %q, %v", groups, err)
		}
	})
	t.Run("overwrites and keeps", func(t *testing.T) {
		if err := s.Save(ctx, store.Write{Group: "g", ClusterID: "c1", At: at.Add(time.Second), Positions: []store.Position{pos("orders", 2, 3, -1, "")}}); err != nil {
			t.Fatal(err)
		}
		got := load(t, s, "g")
		if len(got.Positions) != 3 || got.Positions[1] != pos("orders", 2, 3, -1, "") || !got.At.Equal(at.Add(time.Second)) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("another cluster is refused whole", func(t *testing.T) {
		err := s.Save(ctx, store.Write{Group: "g", ClusterID: "c2", At: at, Positions: []store.Position{pos("new", 0, 1, -1, ""), pos("orders", 2, 99, -1, "")}})
		var ce *store.ClusterError
		if !errors.As(err, &ce) || ce.Stored != "c1" || ce.Wanted != "c2" {
			t.Fatalf("the error is %v", err)
		}
		if got := load(t, s, "g"); len(got.Positions) != 3 || got.Positions[1].Offset != 3 {
			t.Errorf("a refused save changed %+v", got.Positions)
		}
	})
	t.Run("no position is stored that is none", func(t *testing.T) {
		for _, bad := range []store.Write{
			{Group: "", Positions: []store.Position{pos("t", 0, 1, -1, "")}},
			{Group: "bad", Positions: []store.Position{pos("t", 0, 1, -1, ""), pos("t", 1, -1, -1, "")}},
			{Group: "bad", Positions: []store.Position{pos("t", 0, 1, -1, ""), pos("t", 0, 2, -1, "")}},
		} {
			if err := s.Save(ctx, bad); err == nil {
				t.Errorf("%+v was saved", bad)
			}
		}
		if got := load(t, s, "bad"); len(got.Positions) != 0 {
			t.Errorf("half of a bad save is there: %+v", got.Positions)
		}
	})
	t.Run("many", func(t *testing.T) {
		var ps []store.Position
		for p := range int32(1201) {
			ps = append(ps, pos("wide", p, int64(p)*7, p%5-1, ""))
		}
		if err := s.Save(ctx, store.Write{Group: "wide", At: at, Positions: ps}); err != nil {
			t.Fatal(err)
		}
		if got := load(t, s, "wide"); !reflect.DeepEqual(got.Positions, ps) {
			t.Errorf("%d positions came back, or others", len(got.Positions))
		}
	})
	t.Run("several writers", func(t *testing.T) {
		errs := make(chan error, 4)
		for n := range int64(4) {
			go func() {
				errs <- s.Save(ctx, store.Write{Group: "busy", ClusterID: "c1", At: at, Positions: []store.Position{pos("t", 0, n, -1, fmt.Sprint(n)), pos("t", 1, n, -1, fmt.Sprint(n))}})
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		got := load(t, s, "busy")
		if len(got.Positions) != 2 || got.Positions[0].Offset != got.Positions[1].Offset {
			t.Errorf("two saves were mixed: %+v", got.Positions)
		}
	})
}
