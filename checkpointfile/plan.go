package checkpointfile

// What a plan file and the journal hold: changes of committed offsets, as plain data. Package reset makes and executes them.

import (
	"fmt"
	"time"

	"github.com/koffset/koffset/offset"
)

// Version of the contents of plans and of the journal that this koffset writes, and the newest that it reads.
const (
	PlanVersion    = 1
	JournalVersion = 1
)

// Commit is what is stored for one partition of one group. In a plan's From it may be negative or outside the log, since
// brokers store any number; in a plan's To it is a position inside the log.
type Commit struct {
	Offset      int64              `json:"offset"`
	LeaderEpoch offset.LeaderEpoch `json:"leader_epoch"`
	Metadata    string             `json:"metadata"`
}

// Action is what a plan does with one partition.
type Action string

// The actions. Only commit and delete change anything.
const (
	ActionCommit Action = "commit" // To is stored
	ActionDelete Action = "delete" // the commit is removed
	ActionNone   Action = "none"   // the commit is as requested already
	ActionLeave  Action = "leave"  // a policy leaves it alone
	ActionRefuse Action = "refuse" // no target under the rules in force; such a plan cannot be applied
)

// Change is one partition of one group in a plan.
type Change struct {
	Group string `json:"group"`
	offset.Partition
	TopicID string  `json:"topic_id,omitempty"` // empty where the broker tells none
	Action  Action  `json:"action"`
	From    *Commit `json:"from"` // what was stored when the plan was made; nil where nothing was
	To      *Commit `json:"to"`   // nil unless the action is commit or none
	// LogStart, LogEnd and LastStable are the bounds when the plan was made; nil where the partition could not be read.
	LogStart   *int64 `json:"log_start_offset"`
	LogEnd     *int64 `json:"log_end_offset"`
	LastStable *int64 `json:"last_stable_offset"`
	// Acknowledged is how many offsets from From on a share group had finished when the plan was made; nil for other groups and
	// where it is not known. No write puts them back.
	Acknowledged *int64        `json:"acknowledged,omitempty"`
	How          offset.Reason `json:"how"`
	Detail       string        `json:"detail,omitempty"`
	// Asked is the number that was asked for, where a policy changed it or it was refused.
	Asked *int64 `json:"asked,omitempty"`
	// Proof says how a translated offset was confirmed on the other cluster.
	Proof string `json:"proof,omitempty"`
	// Error and Hint are why the row was refused.
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
	// Gone says that the topic or partition did not exist any more: only a commit was left of it.
	Gone bool `json:"gone,omitempty"`
	// Exact says that To may lie outside the log: an undo that puts back exactly what was there.
	Exact bool `json:"exact,omitempty"`
}

// Bounds are the bounds when the plan was made; ok is false where they are not known.
func (c Change) Bounds() (b offset.Bounds, ok bool) {
	if c.LogStart == nil || c.LogEnd == nil || c.LastStable == nil {
		return offset.Bounds{}, false
	}
	return offset.Bounds{Start: *c.LogStart, End: *c.LogEnd, LastStable: *c.LastStable}, true
}

// Changes says that applying the row would write something.
func (c Change) Changes() bool { return c.Action == ActionCommit || c.Action == ActionDelete }

// Key names the row within a plan.
func (c Change) Key() Key { return Key{c.Group, c.Partition} }

// Key is one partition of one group.
type Key struct {
	Group string
	offset.Partition
}

func (k Key) String() string {
	return fmt.Sprintf("group %s, %s", offset.NameText(k.Group), k.Partition)
}

// Compare orders by group, then topic, then partition number.
func (k Key) Compare(o Key) int {
	switch {
	case k.Group < o.Group:
		return -1
	case k.Group > o.Group:
		return 1
	}
	return k.Partition.Compare(o.Partition)
}

// PlanGroup is one group of a plan.
type PlanGroup struct {
	Name string `json:"name"`
	// Type is classic, consumer, share or streams; empty where the broker does not tell. It decides which call moves it.
	Type string `json:"type,omitempty"`
	// Create says that the group did not exist when the plan was made: its first commit creates it.
	Create bool `json:"create,omitempty"`
	// Delete says that the group itself is deleted, with everything that it stored.
	Delete bool `json:"delete,omitempty"`
	// Hidden says, where Delete is set, what of the group could not be seen: then the commits that can be seen are deleted
	// one by one, and the group itself is left to the broker, which removes a group that stores nothing.
	Hidden string `json:"hidden,omitempty"`
	// TakeHidden says that the group is deleted although some of it may be hidden.
	TakeHidden bool `json:"take_hidden,omitempty"`
	// LastCommit is, of a group that is to be deleted since it is inactive, when it last committed: a later commit of the same offsets
	// shows that it is not. nil where that was not read.
	LastCommit *time.Time `json:"last_commit,omitempty"`
	// Application is what kind of program is behind the group, where its name and history tell.
	Application string `json:"application,omitempty"`
}

// Plan is a set of changes on one cluster. It is a value: what was shown is what is applied.
type Plan struct {
	// Verb is the command that made it: reset, delete, undo, repair, import.
	Verb string `json:"verb"`
	// Asked is what was asked for, in words.
	Asked     string           `json:"asked,omitempty"`
	ClusterID string           `json:"cluster_id"`
	Isolation offset.Isolation `json:"isolation"` // which end the targets were held to
	Groups    []PlanGroup      `json:"groups"`
	Changes   []Change         `json:"changes"` // sorted by group, topic and partition
	// Undoes is the journal's id of the operation that this plan reverts.
	Undoes string `json:"undoes,omitempty"`
	// Digest identifies the plan; EncodePlan and DecodePlan set it, and Seal without a file.
	Digest string `json:"-"`
	// File and At are where the plan was read from and when it was made; empty and zero in one that this process made.
	File string    `json:"-"`
	At   time.Time `json:"-"`
}

// Group returns one group of the plan.
func (p *Plan) Group(name string) (PlanGroup, bool) {
	for _, g := range p.Groups {
		if g.Name == name {
			return g, true
		}
	}
	return PlanGroup{}, false
}

// ID is the short form of the digest, by which people tell plans apart.
func (p *Plan) ID() string { return Short(p.Digest) }

// Seal computes the digest without writing a file.
func (p *Plan) Seal() error {
	h := Header{Kind: KindPlan, SchemaVersion: PlanVersion, ClusterID: p.ClusterID}
	_, err := Encode(&h, p)
	p.Digest = h.Digest
	return err
}

// EncodePlan writes a plan for review, indented. h needs Version and CreatedAt alone. It sets the plan's digest.
func EncodePlan(h Header, p *Plan) ([]byte, error) {
	h.Kind, h.SchemaVersion, h.ClusterID = KindPlan, PlanVersion, p.ClusterID
	data, err := Indented(&h, p)
	p.Digest = h.Digest
	return data, err
}

// Origin is where the offsets of a plan come from.
func (p *Plan) Origin() offset.Origin {
	name := p.File
	if name == "" {
		name = p.ID()
	}
	return originOf(offset.Origin{From: "plan " + name, ClusterID: p.ClusterID, At: p.At, Digest: p.Digest}, p.Changes)
}

// originOf is an origin with the topics of rows.
func originOf(o offset.Origin, rows []Change) offset.Origin {
	for _, c := range rows {
		o.AddTopic(c.Topic, c.TopicID)
	}
	return o
}

// DecodePlan reads what EncodePlan wrote. The error is a *FileError; beside Decode's reasons it names the first row that no
// koffset would write, such as a negative target.
func DecodePlan(path string, data []byte) (*Plan, Header, error) {
	p := &Plan{}
	h, err := Decode(path, data, KindPlan, PlanVersion, p)
	if err != nil {
		return nil, h, err
	}
	if p.ClusterID != h.ClusterID {
		return nil, h, &FileError{Path: path, Problem: fmt.Sprintf("the envelope is for cluster %q, the plan for %q", h.ClusterID, p.ClusterID), Err: ErrDamaged}
	}
	if err := p.check(); err != nil {
		return nil, h, &FileError{Path: path, Problem: err.Error(), Err: ErrDamaged}
	}
	p.Digest, p.File, p.At = h.Digest, path, h.CreatedAt
	return p, h, nil
}

// check holds a plan from outside to what Build makes. A digest protects against a slip, not against a hand-made file, and
// the broker itself stores any number.
func (p *Plan) check() error {
	groups := map[string]bool{}
	for _, g := range p.Groups {
		groups[g.Name] = true
	}
	seen := make(map[Key]bool, len(p.Changes))
	for _, c := range p.Changes {
		switch {
		case !groups[c.Group]:
			return fmt.Errorf("%s: the plan does not list the group", c.Key())
		case seen[c.Key()]:
			return fmt.Errorf("%s: it is planned twice", c.Key())
		case c.Action == ActionCommit && c.To == nil:
			return fmt.Errorf("%s: a commit without an offset", c.Key())
		case c.To != nil && c.To.Offset < 0 && c.Action == ActionCommit:
			return fmt.Errorf("%s: %d is not an offset", c.Key(), c.To.Offset)
		case c.Partition.Partition < 0 || c.Topic == "":
			return fmt.Errorf("%s: not a partition", c.Key())
		}
		switch c.Action {
		case ActionCommit, ActionDelete, ActionNone, ActionLeave, ActionRefuse:
		default:
			return fmt.Errorf("%s: action %q is not known", c.Key(), c.Action)
		}
		seen[c.Key()] = true
	}
	return nil
}
