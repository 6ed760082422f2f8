package offset

// Where a set of offsets comes from, and the one rule that decides whether it may be used on a cluster. Whatever loads
// offsets (a group, an export, a plan, a list of another tool, a checkpoint, a store, a range file, the journal) says where
// they are from in an Origin; whatever uses them asks Compare first.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/koffset/koffset/internal/text"
)

// Origin is what a source says about the offsets in it. An offset means something only in the log that it was read from:
// one topic id on one cluster. The zero value says nothing, and is not the same as "from here".
type Origin struct {
	// From names the source in messages, with its kind: export billing.jsonl, store redis://h/0. Never a secret.
	From string
	// ClusterID is the cluster that the offsets are of; empty where the source does not tell.
	ClusterID string
	// TopicIDs are the ids of the topics as Kafka prints them; a topic that is not in it, or empty, has none that is known.
	TopicIDs map[string]string
	// At is when the offsets were read from Kafka, or saved; zero where it is not known.
	At time.Time
	// Live says that they were read from the cluster that they are used on, by the same command: there is nothing to compare,
	// but what is provisional.
	Live bool
	// Digest is the digest that the source carries and that its contents were held to; empty where there is none. A source
	// whose contents do not have the digest that it carries never becomes an Origin.
	Digest string
	// Unsealed says that a source of this kind carries a digest, and this one does not: an older koffset wrote it.
	Unsealed bool
}

// AddTopic notes the id of a topic as far as it is known. Several ids of one topic become all of them, which is the id of no
// topic: such offsets are not of one log.
func (o *Origin) AddTopic(topic, id string) {
	const between = " and "
	was := o.TopicIDs[topic]
	if id == "" || id == was {
		return
	}
	if was != "" {
		all := append(strings.Split(was, between), id)
		slices.Sort(all)
		id = strings.Join(slices.Compact(all), between)
	}
	if o.TopicIDs == nil {
		o.TopicIDs = map[string]string{}
	}
	o.TopicIDs[topic] = id
}

// Here is the cluster that offsets are to be used on.
type Here struct {
	ClusterID string // empty where it tells none
	// TopicIDs are the topics that exist, with an empty id on brokers before 2.8. A topic that is not in it is not compared.
	TopicIDs map[string]string
}

// Saved are the offsets that a source has for one group, with where they come from.
type Saved struct {
	Origin  Origin
	Offsets map[Partition]Foreign
	// Rest says that what the source has for the partitions that are not in Offsets is not known; nil where it has nothing for them.
	Rest *Unknown
}

// SavedBy is everything that a source has. A source either names groups, one of which may be named "", or has offsets for
// whichever group is asked about.
type SavedBy struct {
	Groups map[string]Saved
	Any    *Saved
}

// For is what the source has for a group; ok is false where it has nothing.
func (s *SavedBy) For(group string) (one Saved, ok bool) {
	if s == nil {
		return Saved{}, false
	}
	if one, ok = s.Groups[group]; ok {
		return one, true
	}
	if s.Any != nil {
		return *s.Any, true
	}
	return Saved{}, false
}

// One is what the source has where it is about one group, or about none; ok is false where there are several.
func (s *SavedBy) One() (one Saved, ok bool) {
	switch {
	case s.Any != nil:
		return *s.Any, true
	case len(s.Groups) == 1:
		for _, one = range s.Groups {
			return one, true
		}
	}
	return Saved{}, false
}

// Names are the groups that the source names, sorted.
func (s *SavedBy) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Groups))
}

// Put adds an offset of a source; a group of nil is any.
func (s *SavedBy) Put(o Origin, group *string, p Partition, f Foreign) {
	if group == nil {
		if s.Any == nil {
			s.Any = &Saved{Origin: o, Offsets: map[Partition]Foreign{}}
		}
		s.Any.Offsets[p] = f
		return
	}
	one, ok := s.Groups[*group]
	if !ok {
		if s.Groups == nil {
			s.Groups = map[string]Saved{}
		}
		one = Saved{Origin: o, Offsets: map[Partition]Foreign{}}
		s.Groups[*group] = one
	}
	one.Offsets[p] = f
}

// Take is the rule in one call: the offsets for the wanted partitions (nil is all) as they may be used here, and what a user
// must be told about them. The error is an *OriginError.
func (s Saved) Take(here Here, wanted []Partition, allow AllowOrigin) (map[Partition]Foreign, []Finding, error) {
	used := s.Offsets
	if wanted != nil {
		used = map[Partition]Foreign{}
		for _, p := range wanted {
			if f, ok := s.Offsets[p]; ok {
				used[p] = f
			} else if s.Rest != nil {
				used[p] = Foreign{Unknown: s.Rest}
			}
		}
	}
	c := s.Origin.Compare(here, known(used), allow)
	if err := c.Err(); err != nil {
		return nil, nil, err
	}
	out := make(map[Partition]Foreign, len(used))
	for p, f := range used {
		if !f.NoValue {
			out[p] = c.take(p, f)
		}
	}
	return out, c.Said(), nil
}

// known are the offsets that say something: of which log the others would be does not matter.
func known(used map[Partition]Foreign) map[Partition]Foreign {
	out := maps.Clone(used)
	maps.DeleteFunc(out, func(_ Partition, f Foreign) bool { return f.Unknown != nil && f.Unknown.Oldest == nil })
	return out
}

// Mismatch is how an origin differs from the cluster that its offsets are to be used on.
type Mismatch string

// The mismatches. All but the last two refuse, unless they are allowed.
const (
	OtherCluster  Mismatch = "other-cluster" // read on another cluster
	OtherTopic    Mismatch = "other-topic"   // the topic has another id: made anew, or another one of the same name
	Provisional   Mismatch = "provisional"   // written by a transaction that may still be taken back
	OriginUnknown Mismatch = "unknown"       // the source, or the cluster, does not tell: said, never refused
	Unsealed      Mismatch = "unsealed"      // nothing tells whether the source was changed: said, never refused
)

// AllowOrigin are the mismatches that are taken as they are.
type AllowOrigin []Mismatch

// Allowable are the words that ParseAllowOrigin reads.
func Allowable() []string {
	return []string{string(OtherCluster), string(OtherTopic), string(Provisional)}
}

// ParseAllowOrigin reads mismatches, separated by commas; an empty text allows none. The error is a *SyntaxError.
func ParseAllowOrigin(s string) (AllowOrigin, error) {
	var out AllowOrigin
	if s == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); !slices.Contains(Allowable(), word) {
			return nil, syntaxf(s, "use "+strings.Join(Allowable(), ", ")+", with commas between several", "%q is not something that can be allowed", word)
		}
		out = append(out, Mismatch(word))
	}
	return out, nil
}

// Finding is one mismatch, with both sides named.
type Finding struct {
	Mismatch Mismatch
	// Refused says that the offsets must not be used.
	Refused bool
	Text    string
}

// Comparison is what the rule found.
type Comparison struct {
	Findings []Finding // at most one a mismatch
	origin   Origin
	same     map[string]bool     // topics that are proved to be the same log
	other    map[string]otherIDs // topics that have another id
	known    bool                // both cluster ids are known, and are one
}

// otherIDs are the two ids of a topic.
type otherIDs struct{ there, here string }

// OriginError is offsets that are not of the cluster or topics that they were to be used on, or that are not final.
type OriginError struct {
	Origin   Origin
	Findings []Finding // the refused ones; never empty
}

// ErrorKind is always refused.
func (e *OriginError) ErrorKind() ErrorKind { return KindRefused }

func (e *OriginError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.Text
	}
	return strings.Join(texts, "; ")
}

// Has says that the offsets were refused for this mismatch.
func (e *OriginError) Has(m Mismatch) bool {
	return slices.ContainsFunc(e.Findings, func(f Finding) bool { return f.Mismatch == m })
}

// Err is an *OriginError where anything is refused, else nil.
func (c Comparison) Err() error {
	var refused []Finding
	for _, f := range c.Findings {
		if f.Refused {
			refused = append(refused, f)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &OriginError{Origin: c.origin, Findings: refused}
}

// Topic is Err for the offsets of one topic: nil where they may be used although others may not. Whoever refuses row by row
// asks it.
func (c Comparison) Topic(topic string) error {
	var refused []Finding
	for _, f := range c.Findings {
		if f.Mismatch == OtherTopic {
			if !c.OtherTopic(topic) {
				continue
			}
			f.Text = c.otherText([]string{topic})
		}
		if f.Refused {
			refused = append(refused, f)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &OriginError{Origin: c.origin, Findings: refused}
}

// Same says that a topic is proved to be the log that the offsets were read from.
func (c Comparison) Same(topic string) bool { return c.same[topic] }

// OtherTopic says that a topic is proved to be another log: it has another id than the offsets' own.
func (c Comparison) OtherTopic(topic string) bool {
	_, other := c.other[topic]
	return other
}

// Said are the findings that refuse nothing and that a user must be told: what is not known, and what was allowed.
func (c Comparison) Said() []Finding {
	var out []Finding
	for _, f := range c.Findings {
		if !f.Refused {
			out = append(out, f)
		}
	}
	return out
}

// take is an offset as it may be used here: leader epochs go along only where the topic is proved to be the same log. An
// epoch of another log makes the next consumer look for a truncation that never was, and jump back.
func (c Comparison) take(p Partition, f Foreign) Foreign {
	if !c.same[p.Topic] {
		f.LeaderEpoch = LeaderEpoch{}
		if f.Unknown != nil && f.Unknown.Oldest != nil {
			u, oldest := *f.Unknown, *f.Unknown.Oldest
			oldest.LeaderEpoch = LeaderEpoch{}
			u.Oldest = &oldest
			f.Unknown = &u
		}
	}
	return f
}

// Compare is the rule. It holds an origin against the cluster that the used offsets are to be used on:
//
//	the same topic id                        the same log: fine, leader epochs go along
//	another cluster id                       refused (OtherCluster), whatever the topic ids say
//	the same cluster, another topic id       refused (OtherTopic): the topic was deleted and created again
//	cluster not known, another topic id      refused (OtherTopic): another topic of the same name
//	cluster or topic id not known            taken without leader epochs, and said (OriginUnknown)
//	a value of an open transaction           refused (Provisional)
//	no digest, where there could be one      taken, and said (Unsealed)
//
// A mismatch that is allowed is said instead of refused. Contents that were changed are refused when a source is read.
func (o Origin) Compare(here Here, used map[Partition]Foreign, allow AllowOrigin) Comparison {
	c := Comparison{origin: o, same: map[string]bool{}, other: map[string]otherIDs{}, known: o.ClusterID != "" && o.ClusterID == here.ClusterID}
	add := func(m Mismatch, text string) {
		c.Findings = append(c.Findings, Finding{Mismatch: m, Text: text, Refused: m != OriginUnknown && m != Unsealed && !slices.Contains(allow, m)})
	}
	topics := usedTopics(here, used)
	switch {
	case len(used) == 0:
		return c
	case o.Live:
		for _, t := range topics {
			c.same[t] = true
		}
	case o.ClusterID != "" && here.ClusterID != "" && o.ClusterID != here.ClusterID:
		add(OtherCluster, fmt.Sprintf("%s has offsets of cluster %s%s, and this is cluster %s: the same numbers are other records here",
			o.From, o.ClusterID, o.when(), here.ClusterID))
	default:
		c.compareTopics(here, topics)
		if len(c.other) > 0 {
			add(OtherTopic, c.otherText(slices.Sorted(maps.Keys(c.other))))
		}
		if text := o.unknown(here, topics); text != "" {
			add(OriginUnknown, text)
		}
	}
	if o.Unsealed {
		add(Unsealed, fmt.Sprintf("%s was written by an older koffset, without a digest: whether it was changed since is not known", o.From))
	}
	if text := o.provisional(used); text != "" {
		add(Provisional, text)
	}
	return c
}

// usedTopics are the topics of the offsets that exist here, sorted.
func usedTopics(here Here, used map[Partition]Foreign) []string {
	set := map[string]bool{}
	for p := range used {
		if _, there := here.TopicIDs[p.Topic]; there {
			set[p.Topic] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// compareTopics sorts out which topics are the same, and which have another id.
func (c Comparison) compareTopics(here Here, topics []string) {
	for _, t := range topics {
		switch was, is := c.origin.TopicIDs[t], here.TopicIDs[t]; {
		case was == "" || is == "":
		case was == is:
			c.same[t] = true
		default:
			c.other[t] = otherIDs{there: was, here: is}
		}
	}
}

// otherText says of topics that they have another id.
func (c Comparison) otherText(topics []string) string {
	texts := make([]string, len(topics))
	for i, t := range topics {
		texts[i] = fmt.Sprintf("%s (id %s there, %s here)", t, c.other[t].there, c.other[t].here)
	}
	what := "other topics of the same name"
	if len(texts) == 1 {
		what = "another topic of the same name"
	}
	if c.known {
		what = "deleted and created again since"
	}
	return fmt.Sprintf("%s%s has offsets of %s: %s, so its numbers are other records now", c.origin.From, c.origin.when(), someOf(texts), what)
}

// unknown says what cannot be compared, because one side does not tell.
func (o Origin) unknown(here Here, topics []string) string {
	var noID []string
	for _, t := range topics {
		if o.TopicIDs[t] == "" || here.TopicIDs[t] == "" {
			noID = append(noID, t)
		}
	}
	switch {
	case len(noID) == 0: // a topic id says which cluster it is of, too
	case o.ClusterID == "" && len(o.TopicIDs) == 0:
		return fmt.Sprintf("%s does not say which cluster and topics its offsets belong to: they are taken as offsets of this cluster", o.From)
	case o.ClusterID == "":
		return fmt.Sprintf("%s does not say which cluster its offsets of %s belong to: they are taken as offsets of this cluster", o.From, someOf(noID))
	case here.ClusterID == "":
		return fmt.Sprintf("%s has offsets of cluster %s, and this cluster tells no id: they are taken for offsets of this cluster", o.From, o.ClusterID)
	default:
		return fmt.Sprintf("%s%s has no topic id to compare for %s: whether it was deleted and created again since is not known", o.From, o.when(), someOf(noID))
	}
	return ""
}

// provisional names the offsets that are not final.
func (o Origin) provisional(used map[Partition]Foreign) string {
	var parts []Partition
	for p, f := range used {
		if f.Provisional {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	slices.SortFunc(parts, Partition.Compare)
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.String()
	}
	return fmt.Sprintf("%s%s has an open transaction on %s: the commit there is not final", o.From, o.when(), someOf(names))
}

func (o Origin) when() string {
	if o.At.IsZero() {
		return ""
	}
	return " (" + FormatTime(o.At) + ")"
}

// someOf lists the first few names.
func someOf(names []string) string {
	return text.Some(names, 3)
}
