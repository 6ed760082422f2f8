package watch

import (
	"context"
	"math"
	"time"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/offset"
)

// Frame is what one look saw.
type Frame struct {
	At     time.Time // shown in the zone that it has
	Took   time.Duration
	Groups []Group // sorted by name
	// Missing is how many brokers did not list their groups. Err is why the look failed; Groups is then of the last one
	// that did not.
	Missing int
	Err     error
	// Follow says that commits were to be followed, and Unfollowed why they are not.
	Follow     bool
	Unfollowed error
}

// Group is one group of a frame.
type Group struct {
	Name, Type, State string
	Members           int
	Described         bool // State and Members are known
	Health            inspect.GroupHealth
	Committed, End    int64     // sums
	Lags              []float64 // of the last looks, oldest first; NaN where it was not seen
	Parts             []Part    // sorted by topic and number
	NotFound          bool
	Err               error
	Activity          *inspect.Activity // nil where commits are not followed
}

// Part is one partition of a group.
type Part struct {
	offset.Partition
	Committed, Start, End int64
	HasCommit, HasBounds  bool
	Client                string
	Status                inspect.Status
	Diagnosis             inspect.Diagnosis
	Lags                  []float64
}

// Collector makes frames. It is used by one goroutine.
type Collector struct {
	Sampler *inspect.Sampler
	// Keep chooses groups that are not named by whether they have rows; nil keeps all.
	Keep func(Group) bool

	lags map[string][]float64
	last []Group
}

// Look takes one look. The error is in the frame.
func (c *Collector) Look(ctx context.Context) *Frame {
	began := c.Sampler.Now()
	var groups []Group
	var d *inspect.Description
	l, err := c.Sampler.Look(ctx, func(desc *inspect.Description, r *inspect.Row, dg *inspect.Diagnosis) {
		if d != desc {
			d = desc
			groups = append(groups, Group{Name: desc.Name})
		}
		g := &groups[len(groups)-1]
		p := Part{Partition: r.Partition, Status: r.Status, Diagnosis: *dg}
		switch {
		case r.Committed != nil:
			p.Committed, p.HasCommit = r.Committed.Offset, true
		case r.ShareStart != nil:
			p.Committed, p.HasCommit = *r.ShareStart, true
		}
		if r.Bounds != nil {
			p.Start, p.End, p.HasBounds = r.Bounds.Start, r.Bounds.EndFor(c.Sampler.Query.Isolation), true
		}
		if p.HasCommit && p.HasBounds {
			g.Committed, g.End = g.Committed+p.Committed, g.End+p.End
		}
		if r.Member != nil {
			p.Client = r.Member.Where()
		}
		g.Health.Add(inspect.GroupPartition{Group: desc.Name, Partition: r.Partition}, dg)
		g.Parts = append(g.Parts, p)
	})
	if err != nil {
		return &Frame{At: c.Sampler.Now(), Took: c.Sampler.Now().Sub(began), Groups: c.last, Err: err, Follow: c.Sampler.Standing != nil}
	}
	f := &Frame{At: l.At, Took: l.Took, Missing: len(l.Missing), Follow: c.Sampler.Standing != nil, Unfollowed: l.Snapshot.Unfollowed}
	for i := range l.Snapshot.Groups {
		d := &l.Snapshot.Groups[i]
		g := Group{Name: d.Name}
		if len(groups) > 0 && groups[0].Name == d.Name {
			g, groups = groups[0], groups[1:]
		}
		g.Type, g.State, g.Members, g.Described = string(d.Type), d.State, len(d.Members), d.Err == nil
		g.Activity = l.Snapshot.Activity[d.Name]
		g.NotFound = d.NotFound && len(g.Parts) == 0
		if g.Err = l.Snapshot.GroupErr(*d); g.Err != nil {
			g.Health.Health = inspect.Worst(g.Health.Health, inspect.HealthUnknown)
		} else if len(g.Parts) == 0 {
			g.Health.Health = inspect.HealthNoCommit
		}
		if c.Keep == nil || c.Keep(g) {
			f.Groups = append(f.Groups, g)
		}
	}
	c.remember(f)
	c.last = f.Groups
	c.Sampler.Probe(ctx, l)
	return f
}

// sparkLimit is up to how many partitions each has its lags of the last looks drawn: beyond that it would be 40 MB a look for
// rows that nobody can have on the screen.
const sparkLimit = 10_000

// remember fills in the lags of the last looks.
func (c *Collector) remember(f *Frame) {
	total := 0
	for i := range f.Groups {
		total += len(f.Groups[i].Parts)
	}
	lags := make(map[string][]float64, len(f.Groups))
	for i := range f.Groups {
		g := &f.Groups[i]
		now := float64(g.Health.Lag)
		if g.Err != nil || !g.Health.HasLag() {
			now = math.NaN()
		}
		old := c.lags[g.Name]
		g.Lags = append(old[max(0, len(old)-inspect.WindowSamples+1):len(old):len(old)], now)
		lags[g.Name] = g.Lags
		if total > sparkLimit {
			continue
		}
		var all []float64
		for j := range g.Parts {
			from := len(all)
			all = c.Sampler.History.AppendLags(all, inspect.GroupPartition{Group: g.Name, Partition: g.Parts[j].Partition})
			g.Parts[j].Lags = all[from:len(all):len(all)]
		}
	}
	c.lags = lags
}
