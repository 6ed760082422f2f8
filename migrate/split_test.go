package migrate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// Whatever the cut, the parts together are the spans: every offset once, in order, at most one span of a partition a part.
func TestSplitIsGapFreeAndOverlapFree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var spans []migrate.Span
		for p := range int32(r.IntN(6)) {
			s := migrate.Span{Partition: offset.Partition{Topic: "t", Partition: p}, From: r.Int64N(1000)}
			s.To = s.From + r.Int64N(200)
			switch r.IntN(8) {
			case 0:
				s.To = s.From
			case 1:
				s.To = math.MaxInt64 - r.Int64N(5)
			}
			if r.IntN(2) == 0 {
				b := r.Int64N(1 << 40)
				s.Bytes = &b
			}
			spans = append(spans, s)
		}
		r.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		n := 1 + r.IntN(12)
		var parts []migrate.Part
		switch r.IntN(3) {
		case 0:
			parts = migrate.SplitInto(spans, n, r.IntN(2) == 0)
			if len(parts) != n {
				t.Fatalf("%d parts, want %d", len(parts), n)
			}
		case 1:
			total := int64(0)
			for _, s := range spans {
				if s.To > 1<<40 {
					total = -1
					break
				}
				total += s.Len()
			}
			if total < 0 {
				continue
			}
			most := 1 + r.Int64N(300)
			parts = migrate.SplitMax(spans, most)
			for _, p := range parts {
				if p.Len() > most {
					t.Fatalf("a part has %d offsets, %d are allowed", p.Len(), most)
				}
			}
			if int64(len(parts)) != (total+most-1)/most {
				t.Fatalf("%d parts for %d offsets of at most %d", len(parts), total, most)
			}
		case 2:
			var cuts []map[offset.Partition]int64
			for range n {
				m := map[offset.Partition]int64{}
				for p := range int32(6) {
					if r.IntN(4) > 0 {
						m[offset.Partition{Topic: "t", Partition: p}] = r.Int64N(1300)
					}
				}
				cuts = append(cuts, m)
			}
			parts = migrate.SplitAt(spans, cuts)
		}
		checkCover(t, spans, parts)
	}
}

func checkCover(t *testing.T, spans []migrate.Span, parts []migrate.Part) {
	t.Helper()
	next := map[offset.Partition]int64{}
	for _, s := range spans {
		next[s.Partition] = s.From
	}
	for k, p := range parts {
		seen := map[offset.Partition]bool{}
		for _, s := range p {
			if seen[s.Partition] || s.Len() <= 0 || next[s.Partition] != s.From {
				t.Fatalf("part %d: %v follows %d (twice: %t)\nspans %v\nparts %v", k+1, s, next[s.Partition], seen[s.Partition], spans, parts)
			}
			seen[s.Partition] = true
			next[s.Partition] = s.To
		}
	}
	for _, s := range spans {
		if next[s.Partition] != s.To {
			t.Fatalf("%v is covered up to %d\nparts %v", s, next[s.Partition], parts)
		}
	}
}

func TestSplitIsEven(t *testing.T) {
	big, small := int64(900), int64(100)
	spans := []migrate.Span{
		{Partition: offset.Partition{Topic: "t", Partition: 0}, From: 0, To: 100, Bytes: &big},
		{Partition: offset.Partition{Topic: "t", Partition: 1}, From: 50, To: 150, Bytes: &small},
	}
	for _, p := range migrate.SplitInto(spans, 8, false) {
		if p.Len() != 25 {
			t.Errorf("a part of eight has %d of 200 offsets", p.Len())
		}
	}
	for _, p := range migrate.SplitInto(spans, 4, true) {
		if b := p.Bytes(); b == nil || *b < 240 || *b > 260 {
			t.Errorf("a part of four has %d of 1000 bytes: %v", *b, p)
		}
	}
}
