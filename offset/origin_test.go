package offset

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The rule, in all its cases: what each side knows, what is found, what is refused, and whether leader epochs go along.
func TestOriginCompare(t *testing.T) {
	p := Partition{"orders", 0}
	final := map[Partition]Foreign{p: {Committed: Committed{Offset: 7, LeaderEpoch: EpochOf(3)}}}
	open := map[Partition]Foreign{p: {Committed: Committed{Offset: 7, LeaderEpoch: EpochOf(3)}, Provisional: true}}
	ids := func(id string) map[string]string { return map[string]string{"orders": id} }
	here := Here{ClusterID: "B", TopicIDs: ids("t1")}
	for _, c := range []struct {
		name   string
		origin Origin
		here   Here
		used   map[Partition]Foreign
		allow  string
		want   string // mismatches; ! marks a refused one
		epochs bool
	}{
		{"same log", Origin{ClusterID: "B", TopicIDs: ids("t1")}, here, final, "", "", true},
		{"same topic id, cluster not told", Origin{TopicIDs: ids("t1")}, here, final, "", "", true},
		{"same topic id, this cluster has none", Origin{ClusterID: "A", TopicIDs: ids("t1")}, Here{TopicIDs: ids("t1")}, final, "", "", true},
		{"other cluster", Origin{ClusterID: "A", TopicIDs: ids("t9")}, here, final, "", "!other-cluster", false},
		{"other cluster, same topic id", Origin{ClusterID: "A", TopicIDs: ids("t1")}, here, final, "", "!other-cluster", false},
		{"other cluster allowed", Origin{ClusterID: "A"}, here, final, "other-cluster", "other-cluster", false},
		{"other cluster, another thing allowed", Origin{ClusterID: "A"}, here, final, "other-topic,provisional", "!other-cluster", false},
		{"made anew", Origin{ClusterID: "B", TopicIDs: ids("t0")}, here, final, "", "!other-topic", false},
		{"made anew, allowed", Origin{ClusterID: "B", TopicIDs: ids("t0")}, here, final, "other-topic", "other-topic", false},
		{"same name elsewhere", Origin{TopicIDs: ids("t0")}, here, final, "", "!other-topic", false},
		{"no topic id there", Origin{ClusterID: "B"}, here, final, "", "unknown", false},
		{"no topic id here", Origin{ClusterID: "B", TopicIDs: ids("t1")}, Here{"B", ids("")}, final, "", "unknown", false},
		{"no cluster id here, no topic id there", Origin{ClusterID: "A"}, Here{TopicIDs: ids("t1")}, final, "", "unknown", false},
		{"nothing known", Origin{}, here, final, "", "unknown", false},
		{"no digest", Origin{ClusterID: "B", TopicIDs: ids("t1"), Unsealed: true}, here, final, "", "unsealed", true},
		{"no digest, nothing known", Origin{Unsealed: true}, here, final, "", "unknown unsealed", false},
		{"no digest, other cluster allowed", Origin{ClusterID: "A", Unsealed: true}, here, final, "other-cluster", "other-cluster unsealed", false},
		{"open transaction", Origin{Live: true}, here, open, "", "!provisional", true},
		{"open transaction, allowed", Origin{Live: true}, here, open, "provisional", "provisional", true},
		{"open transaction elsewhere", Origin{ClusterID: "A"}, here, open, "other-cluster", "other-cluster !provisional", false},
		{"read just now", Origin{Live: true}, here, final, "", "", true},
		{"topic does not exist here", Origin{ClusterID: "B", TopicIDs: ids("t0")}, Here{ClusterID: "B"}, final, "", "", false},
		{"nothing used", Origin{ClusterID: "A"}, here, nil, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.origin.From = "export x.jsonl"
			c.origin.At = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
			allow, err := ParseAllowOrigin(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			got := c.origin.Compare(c.here, c.used, allow)
			var words []string
			refused := false
			for _, f := range got.Findings {
				w := string(f.Mismatch)
				if f.Refused {
					w, refused = "!"+w, true
				}
				words = append(words, w)
				if !strings.Contains(f.Text, "export x.jsonl") {
					t.Errorf("the text does not name the source: %s", f.Text)
				}
			}
			if s := strings.Join(words, " "); s != c.want {
				t.Errorf("found %q, want %q", s, c.want)
			}
			var oe *OriginError
			if errors.As(got.Err(), &oe) != refused || len(got.Said())+len(got.Findings) == 0 && c.want != "" {
				t.Errorf("Err is %v", got.Err())
			}
			f := got.take(p, final[p])
			if _, known := f.LeaderEpoch.Get(); known != c.epochs {
				t.Errorf("the leader epoch goes along: %v, want %v", known, c.epochs)
			}
			if f.Offset != 7 {
				t.Errorf("the offset became %d", f.Offset)
			}
		})
	}
}

// Both sides are in the text, so that its reader can tell which of them is the wrong one.
func TestOriginTexts(t *testing.T) {
	used := map[Partition]Foreign{}
	there, here := map[string]string{}, map[string]string{}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		used[Partition{n, 0}] = Foreign{}
		there[n], here[n] = "old-"+n, "new-"+n
	}
	o := Origin{From: "store sqlite:x.db", ClusterID: "B", TopicIDs: there}
	text := o.Compare(Here{"B", here}, used, nil).Err().Error()
	for _, want := range []string{"store sqlite:x.db", "a (id old-a there, new-a here)", "and 2 more", "deleted and created again"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
	o.ClusterID = "A"
	text = o.Compare(Here{"B", here}, used, nil).Err().Error()
	if !strings.Contains(text, "cluster A") || !strings.Contains(text, "cluster B") {
		t.Errorf("both clusters are to be named: %s", text)
	}
}

// What is not wanted is not compared, and a partition that has nothing but a value that is not final has none to take.
func TestSavedTake(t *testing.T) {
	a, b := Partition{"a", 0}, Partition{"b", 0}
	s := Saved{Origin: Origin{From: "group g", Live: true}, Offsets: map[Partition]Foreign{
		a: {Committed: Committed{Offset: 1}}, b: {Provisional: true, NoValue: true}}}
	here := Here{TopicIDs: map[string]string{"a": "", "b": ""}}
	if got, said, err := s.Take(here, []Partition{a}, nil); err != nil || len(said) != 0 || len(got) != 1 || got[a].Offset != 1 {
		t.Errorf("%v, %v, %v", got, said, err)
	}
	var oe *OriginError
	if _, _, err := s.Take(here, nil, nil); !errors.As(err, &oe) || !oe.Has(Provisional) {
		t.Errorf("%v", err)
	}
	if got, said, err := s.Take(here, nil, AllowOrigin{Provisional}); err != nil || len(said) != 1 || len(got) != 1 {
		t.Errorf("%v, %v, %v", got, said, err)
	}
}

func TestParseAllowOrigin(t *testing.T) {
	if a, err := ParseAllowOrigin("other-cluster, provisional"); err != nil || len(a) != 2 || a[1] != Provisional {
		t.Errorf("%v, %v", a, err)
	}
	for _, bad := range []string{"all", "unknown", "other-cluster,"} {
		if _, err := ParseAllowOrigin(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// Rows of one topic with several ids are of no one log, whatever their order and number.
func TestOriginOfSeveralLogs(t *testing.T) {
	for _, list := range [][]string{{"b", "a", "", "c", "a", "b"}, {"", "c", "b", "c", "a"}} {
		o := Origin{ClusterID: "B"}
		for _, id := range list {
			o.AddTopic("orders", id)
		}
		o.AddTopic("audit", "")
		if got := o.TopicIDs["orders"]; len(o.TopicIDs) != 1 || got != "a and b and c" {
			t.Errorf("%q: %q of %v", list, got, o.TopicIDs)
		}
		c := o.Compare(Here{ClusterID: "B", TopicIDs: map[string]string{"orders": "a"}}, map[Partition]Foreign{{Topic: "orders"}: {}}, nil)
		if c.Err() == nil || c.Same("orders") {
			t.Errorf("%q: it is taken for one log", list)
		}
	}
}
