package history_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/koffset/koffset/history"
	"github.com/koffset/koffset/offset"
)

// record is a record or a marker of a made-up log.
type record struct {
	history.Raw
	key    string // what compaction goes by: group and partition
	marker bool
	commit bool
	gone   bool // compaction removed it
	// aborted says that its transaction will be.
	aborted bool
}

// madeUp makes a log, and what each key stood at after each record: the value, "none", or absent for none.
func madeUp(rnd *rand.Rand, n int) (log []record, stands []map[string]string) {
	now := map[string]string{}
	at2 := map[string]int64{} // the record that is stored
	type held struct {
		i   int
		key string
		val string
	}
	open := map[int64][]held{}
	for i := range n {
		group, part := fmt.Sprintf("g%d", rnd.IntN(2)), int32(rnd.IntN(2))
		p := offset.Partition{Topic: "t", Partition: part}
		r := record{Raw: history.Raw{Offset: int64(i), Time: at(i), Key: commitKey(group, p), Producer: -1}, key: group + p.String()}
		v := fmt.Sprint(i)
		switch rnd.IntN(10) {
		case 0, 1:
			delete(now, r.key)
			at2[r.key] = int64(i)
			for id, list := range open {
				var rest []held
				for _, h := range list {
					if h.key != r.key {
						rest = append(rest, h)
					}
				}
				open[id] = rest
			}
		case 2, 3:
			r.Value, r.Transaction, r.Producer = val(int64(i)), true, int64(rnd.IntN(2))
			open[r.Producer] = append(open[r.Producer], held{i, r.key, v})
		case 4:
			id := int64(rnd.IntN(2))
			r = record{Raw: history.Raw{Offset: int64(i), Time: at(i), Producer: id}, marker: true, commit: rnd.IntN(2) == 0}
			for _, h := range open[id] {
				if r.commit && int64(h.i) > at2[h.key]-b2i(at2[h.key] == 0 && now[h.key] == "") {
					now[h.key], at2[h.key] = h.val, int64(h.i)
				}
				log[h.i].aborted = !r.commit
			}
			delete(open, id)
		default:
			r.Value = val(int64(i))
			now[r.key], at2[r.key] = v, int64(i)
		}
		log = append(log, r)
		s := map[string]string{}
		for k, v := range now {
			s[k] = v
		}
		stands = append(stands, s)
	}
	return log, stands
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// compact does what the log cleaner does up to an offset, which is before the first open transaction: the newest record of each
// key stays, and a tombstone as long as it is young.
func compact(log []record, until int, tombstones int) {
	newest := map[string]int{}
	for i := range until {
		if r := &log[i]; !r.marker && !r.aborted && !r.gone {
			newest[r.key] = i
		}
	}
	for i := range until {
		r := &log[i]
		switch {
		case r.marker:
		case newest[r.key] != i, r.aborted:
			r.gone = true
		case r.Value == nil && i < tombstones:
			r.gone = true
		}
	}
}

// stable is the first offset of the oldest transaction that is open at the end.
func stable(log []record) int {
	first := map[int64]int{}
	for i, r := range log {
		switch {
		case r.marker:
			delete(first, r.Producer)
		case r.Transaction:
			if _, ok := first[r.Producer]; !ok {
				first[r.Producer] = i
			}
		}
	}
	out := len(log)
	for _, i := range first {
		out = min(out, i)
	}
	return out
}

func feed(log []record, each func(*history.Event)) *history.Replay {
	r := history.NewReplay(history.Options{}, each)
	for i := range log {
		switch one := &log[i]; {
		case one.gone:
		case one.marker:
			r.Marker(history.Marker{Offset: one.Offset, Time: one.Time, Producer: one.Producer, Commit: one.commit})
		default:
			r.Record(&one.Raw)
		}
	}
	r.Finish(int64(len(log)))
	return r
}

// Whatever compaction left, the answer for a moment is what the coordinator had then, or that it is not known; and without
// compaction it is always known.
func TestThenProperty(t *testing.T) {
	t.Parallel()
	known, unknown := 0, 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		log, stands := madeUp(rnd, 10+rnd.IntN(60))
		rounds := rnd.IntN(4)
		tombstones := 0
		for range rounds {
			until := rnd.IntN(stable(log) + 1)
			tombstones = max(tombstones, rnd.IntN(until+1))
			compact(log, until, tombstones)
		}
		for moment := range log {
			then := history.Then{At: at(moment).Add(time.Second), Now: at(len(log))}
			if rnd.IntN(2) == 0 {
				then.Tombstones = time.Duration(len(log)-tombstones) * time.Minute
			}
			r := feed(log, then.Add)
			for _, group := range []string{"g0", "g1"} {
				for part := range int32(2) {
					p := offset.Partition{Topic: "t", Partition: part}
					a := then.Of(group, p, r.Coverage())
					want := stands[moment][group+p.String()]
					if !a.Known {
						unknown++
						if rounds == 0 {
							t.Fatalf("seed %d: %s %s at %d is not known in a whole log", seed, group, p, moment)
						}
						if a.Oldest != nil && !a.Oldest.At.After(then.At) {
							t.Fatalf("seed %d: not known, although %+v", seed, a.Oldest)
						}
						continue
					}
					known++
					got := ""
					if a.Commit != nil {
						got = fmt.Sprint(a.Commit.Offset)
					}
					if got != want {
						t.Fatalf("seed %d: %s %s at %d is %q, want %q", seed, group, p, moment, got, want)
					}
				}
			}
		}
	}
	if known < 10*unknown/100 || unknown == 0 {
		t.Errorf("%d known, %d not: the test tries nothing", known, unknown)
	}
}

// A record that cannot be read may be a later commit: what was before it is not known from then on.
func TestThenDamaged(t *testing.T) {
	t.Parallel()
	k, k0 := commitKey("g", orders), commitKey("g", offset.Partition{Topic: "orders"})
	for name, bad := range map[string]struct{ key, value []byte }{"value": {k, []byte{0, 9}}, "key": {[]byte{0}, nil}, "group's key": {key(1, "g"), nil}} {
		answers := ""
		for moment := range 5 {
			then := history.Then{At: at(moment)}
			r := history.NewReplay(history.Options{}, then.Add)
			for i, rec := range []struct{ key, value []byte }{{k, val(10)}, {k0, val(20)}, {bad.key, bad.value}, {k, val(11)}, {k, nil}} {
				r.Record(&history.Raw{Offset: int64(i), Time: at(i), Key: rec.key, Value: rec.value})
			}
			r.Finish(5)
			a := then.Of("g", orders, r.Coverage())
			switch {
			case !a.Known:
				answers += "? "
			case a.Commit == nil:
				answers += "none "
			default:
				answers += fmt.Sprint(a.Commit.Offset, " ")
			}
			// Another partition is hurt where the key could be its own.
			other := then.Of("g", offset.Partition{Topic: "orders"}, r.Coverage())
			if want := moment < 2 || name == "value"; other.Known != want {
				t.Errorf("%s: another partition at %d is known: %v", name, moment, other.Known)
			}
			if elsewhere := then.Of("h", orders, r.Coverage()); elsewhere.Known != (moment < 2 || name != "key") {
				t.Errorf("%s: another group at %d is known: %v", name, moment, elsewhere.Known)
			}
		}
		if answers != "10 10 ? 11 none " {
			t.Errorf("a damaged %s: %s", name, answers)
		}
	}
}

func TestLastCommit(t *testing.T) {
	p := offset.Partition{Topic: "t"}
	key := commitKey("g", p)
	read := func(log ...history.Raw) (*history.Then, *history.Report) {
		then := &history.Then{At: history.Ever()}
		replay := history.NewReplay(history.Options{}, then.Add)
		for i := range log {
			log[i].Offset, log[i].Producer = int64(i), -1
			replay.Record(&log[i])
		}
		replay.Finish(int64(len(log)))
		return then, &history.Report{Of: 1, Partitions: map[int32]history.PartitionReport{0: {Coverage: replay.Coverage()}}}
	}
	for _, c := range []struct {
		name  string
		log   []history.Raw
		known bool
		at    time.Time
	}{
		{"the last one", []history.Raw{{Time: at(1), Key: key, Value: val(1)}, {Time: at(2), Key: key, Value: val(1)}}, true, at(2)},
		{"none", nil, false, time.Time{}},
		{"removed", []history.Raw{{Time: at(1), Key: key, Value: val(1)}, {Time: at(2), Key: key}}, false, time.Time{}},
		{"a later one that cannot be read", []history.Raw{{Time: at(1), Key: key, Value: val(1)}, {Time: at(2), Key: key, Value: []byte{0, 9}}}, false, time.Time{}},
		{"one of anybody that cannot be read", []history.Raw{{Time: at(1), Key: key, Value: val(1)}, {Time: at(2), Key: []byte{0}}}, false, time.Time{}},
		{"a clock that is ahead", []history.Raw{{Time: time.Now().Add(time.Hour), Key: key, Value: val(1)}}, true, time.Time{}},
	} {
		then, r := read(c.log...)
		got, known := then.LastCommit(r, "g", p)
		if known != c.known || !c.at.IsZero() && !got.Equal(c.at) {
			t.Errorf("%s: %v %t", c.name, got, known)
		}
	}
}
