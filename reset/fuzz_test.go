package reset

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// world is a cluster without a cluster: what is stored, and where the logs begin and end.
type world struct {
	topics map[string]inspect.Topic
	facts  map[offset.Partition]offset.Facts
	stored map[string]map[offset.Partition]offset.Committed
}

func (w *world) groups() []inspect.Group { return []inspect.Group{{Name: "a"}, {Name: "b"}} }

// read is what Gather would say about it.
func (w *world) read() *Facts {
	f := &Facts{ClusterID: "c", Groups: map[string]*GroupFacts{}, Parts: inspect.NewFacts(w.topics)}
	for p, one := range w.facts {
		f.Parts.Set(p, one)
	}
	for _, g := range w.groups() {
		d := inspect.Description{Group: g}
		d.State, d.Type = "Empty", inspect.TypeClassic
		f.Groups[g.Name] = &GroupFacts{Description: d, Commits: inspect.NewCommits(g.Name, w.stored[g.Name])}
	}
	return f
}

// write is what a broker does with the rows: it stores any number.
func (w *world) write(t *testing.T, rows []Change) {
	for _, c := range rows {
		switch c.Action {
		case checkpointfile.ActionCommit:
			if c.To.Offset < 0 {
				t.Fatalf("%s: %d would be sent", c.Key(), c.To.Offset)
			}
			w.stored[c.Group][c.Partition] = offset.Committed{Offset: c.To.Offset, LeaderEpoch: c.To.LeaderEpoch, Metadata: c.To.Metadata}
		case checkpointfile.ActionDelete:
			delete(w.stored[c.Group], c.Partition)
		}
	}
}

func newWorld(r *rand.Rand) *world {
	w := &world{topics: map[string]inspect.Topic{}, facts: map[offset.Partition]offset.Facts{}, stored: map[string]map[offset.Partition]offset.Committed{"a": {}, "b": {}}}
	for _, name := range []string{"t", "u"} {
		topic := inspect.Topic{Name: name}
		for n := range int32(1 + r.IntN(4)) {
			topic.Partitions = append(topic.Partitions, inspect.TopicPartition{Number: n})
			start := int64(r.IntN(20))
			b := offset.Bounds{Start: start, End: start + int64(r.IntN(30))}
			b.LastStable = b.Start + r.Int64N(b.End-b.Start+1)
			one := offset.Facts{Bounds: &b, StartEpoch: offset.EpochOf(int32(r.IntN(3)) - 1), EndEpoch: offset.EpochOf(int32(r.IntN(3)))}
			if b.End > b.Start && r.IntN(3) > 0 {
				one.Found = &offset.Record{Offset: b.Start + r.Int64N(b.End-b.Start)}
			}
			p := offset.Partition{Topic: name, Partition: n}
			w.facts[p] = one
			for g := range w.stored {
				if r.IntN(3) == 0 {
					continue
				}
				w.stored[g][p] = offset.Committed{Offset: int64(r.IntN(60)) - 5, LeaderEpoch: offset.EpochOf(int32(r.IntN(4)) - 1), Metadata: []string{"", "m", "n"}[r.IntN(3)]}
			}
		}
		w.topics[name] = topic
	}
	return w
}

func anyRequest(r *rand.Rand, w *world) *Request {
	req := &Request{Verb: "reset", Groups: w.groups(), Scope: Scope{All: r.IntN(2) == 0}, Create: true}
	if !req.Scope.All {
		req.Scope.Topics = []offset.TopicSpec{{Topic: "t"}}
	}
	kinds := []offset.Kind{offset.Earliest, offset.Latest, offset.Current, offset.Exact, offset.FromStart, offset.FromEnd, offset.FromCurrent, offset.AtTime}
	req.Position = offset.Position{Kind: kinds[r.IntN(len(kinds))], N: int64(r.IntN(40))}
	if req.Position.Kind == offset.FromCurrent {
		req.Position.N -= 20
	}
	req.Rules = offset.Rules{Isolation: offset.Isolation(r.IntN(2)),
		OutOfRange: []offset.OutOfRange{offset.OutOfRangeClamp, offset.OutOfRangeSkip}[r.IntN(2)],
		IfNone:     []offset.IfNone{offset.IfNoneLatest, offset.IfNoneEarliest, offset.IfNoneSkip}[r.IntN(3)],
		IfExpired:  offset.IfExpiredEarliest,
		IfNoCommit: []offset.IfNoCommit{offset.IfNoCommitSkip, offset.IfNoCommitEarliest, offset.IfNoCommitLatest}[r.IntN(3)]}
	if r.IntN(3) == 0 {
		req.Metadata = Metadata{Replace: true, Text: []string{"", "z"}[r.IntN(2)]}
	}
	return req
}

// journalOf is what the journal holds after a plan was executed.
func journalOf(rows []Change, groups []PlanGroup) *checkpointfile.Entry {
	e := &checkpointfile.Entry{Header: checkpointfile.Header{ClusterID: "c"}}
	e.ID, e.Groups = "op", groups
	for _, c := range rows {
		if c.Changes() {
			e.Changes, e.States, e.Errors = append(e.Changes, c), append(e.States, checkpointfile.StateVerified), append(e.Errors, "")
		}
	}
	return e
}

// unsign drops what an undo does not bring back: commits that were no offset are gone afterwards.
func unsign(m map[string]map[offset.Partition]offset.Committed, changed []Change) map[string]map[offset.Partition]offset.Committed {
	touched := map[Key]bool{}
	for _, c := range changed {
		touched[c.Key()] = c.Changes()
	}
	out := map[string]map[offset.Partition]offset.Committed{}
	for g, ps := range m {
		out[g] = map[offset.Partition]offset.Committed{}
		for p, c := range ps {
			if c.Offset >= 0 || !touched[Key{Group: g, Partition: p}] {
				out[g][p] = c
			}
		}
	}
	return out
}

// A plan, executed and undone, leaves what was there: offsets, epochs, metadata, and nothing where nothing was. Whatever
// the request, no number below 0 is sent, and a plan that was executed has nothing left to do.
func FuzzUndoRestores(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8) {
		r := rand.New(rand.NewPCG(seed, uint64(kind)))
		w := newWorld(r)
		req := anyRequest(r, w)
		var b *Built
		var err error
		switch kind % 4 {
		case 0:
			b, err = BuildDelete(req, w.read(), r.IntN(2) == 0)
		case 1:
			req.Scope = Scope{All: true}
			b, err = BuildRepair(req, w.read(), DefaultMends())
		default:
			b, err = Build(req, w.read())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range b.Failed {
			if !errors.Is(g, ErrNothingInScope) {
				var nf *NotFoundError
				if !errors.As(g, &nf) {
					t.Fatal(g)
				}
			}
		}
		if Summarize(b.Plan).Refused > 0 {
			return
		}
		before := map[string]map[offset.Partition]offset.Committed{}
		for g, ps := range w.stored {
			before[g] = map[offset.Partition]offset.Committed{}
			for p, c := range ps {
				before[g][p] = c
			}
		}
		checked := Check(b.Plan, w.read(), Allowed{})
		if len(checked.Drifts) > 0 {
			t.Fatalf("a fresh plan does not fit: %v", checked.Drifts)
		}
		w.write(t, checked.Rows)
		again := Check(b.Plan, w.read(), Allowed{})
		for _, c := range again.Rows {
			if c.Changes() || len(again.Drifts) > 0 {
				t.Fatalf("after it was executed the plan still wants %+v (%v)", c, again.Drifts)
			}
		}
		op := journalOf(checked.Rows, b.Plan.Groups)
		inv, err := Inverse(op, w.read(), Undo{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := Summarize(inv.Plan).Refused; n > 0 {
			t.Fatalf("%d rows of the undo are refused: %+v", n, inv.Plan.Changes)
		}
		back := Check(inv.Plan, w.read(), Allowed{})
		if len(back.Drifts) > 0 {
			t.Fatalf("the undo does not fit: %v", back.Drifts)
		}
		w.write(t, back.Rows)
		if want := unsign(before, checked.Rows); !reflect.DeepEqual(w.stored, want) {
			t.Fatalf("after the undo\n%+v\nwant\n%+v\nplan %+v", w.stored, want, b.Plan.Changes)
		}
		// Undoing the undo brings the plan's result back, where it stored any.
		redo, err := Inverse(journalOf(back.Rows, inv.Plan.Groups), w.read(), Undo{Exact: true})
		if err != nil || Summarize(redo.Plan).Refused > 0 {
			t.Fatalf("the undo cannot be undone: %v, %+v", err, redo)
		}
	})
}
