package migrate

// What an export holds.

import (
	"time"

	"github.com/koffset/koffset/offset"
)

// Row is where one group stood on one partition when it was exported.
type Row struct {
	Group string
	offset.Partition
	// Committed is nil where the group has no commit: it is never replaced by the log end.
	Committed *offset.Committed
	// Share says that it is of a share group, and Committed its start offset: the first record that is not finished. Acknowledged
	// is how many offsets from it on are finished all the same; nil where the broker does not tell.
	Share        bool
	Acknowledged *int64
	// Marker is set in a row that was exported from a Flink snapshot whose source had not read yet; Committed is nil then.
	Marker offset.Marker
	Bounds *offset.Bounds // nil where they could not be read
	// Around is nil where fingerprints were left out, or could not be read.
	Around *Surroundings
	// Provisional says that an open transaction held a commit for it: what is stored then is not known. Error says so too.
	Provisional bool
	// Gone says that the topic or partition does not exist any more: the commit is left over, and nothing can read it.
	Gone bool
	// Error says why the row is incomplete; empty where it is not.
	Error string
}

// Stores is what a group of this kind has for a partition, in words.
func (r Row) Stores() string {
	if r.Share {
		return "start offset"
	}
	return "commit"
}

// expired says that the source's log begins behind the commit.
func (r Row) expired() bool {
	return r.Bounds != nil && r.Committed != nil && r.Committed.Offset < r.Bounds.Start
}

// gap are the source offsets around the position at which no record lies, from one up to another: behind the last record read, and
// in front of the next one. Around and Committed are set.
func (r Row) gap() (from, until int64) {
	from, until = r.Committed.Offset, r.Committed.Offset
	if b := r.Around.Before; len(b) > 0 {
		from = b[0].Offset + 1
	}
	if a := r.Around.At; len(a) > 0 {
		until = a[0].Offset
	}
	return from, until
}

// Topic is what an export says about a topic.
type Topic struct {
	Name       string `json:"topic"`
	ID         string `json:"topic_id,omitempty"` // as Kafka prints it; empty on brokers before 2.8
	Partitions int    `json:"partitions"`         // 0 where it could not be read
	Error      string `json:"error,omitempty"`
}

// Group is what an export says about a group.
type Group struct {
	Name string
	// Any says that the offsets are for whichever group is asked about: a checkpoint has none. Name is empty then.
	Any     bool
	Type    string // classic, consumer, share, streams; empty where the broker does not tell
	State   string
	Members int
	// Live says that members are there, or may be: its commits move on while they are carried.
	Live  bool
	Error string // why nothing, or not all, could be read
	Rows  []Row  // sorted by topic and partition
}

// Header is the beginning of an export.
type Header struct {
	CreatedAt time.Time
	Version   string // the koffset that wrote it
	ClusterID string
	// Fingerprints says that records were read.
	Fingerprints bool
	// Source is what the positions were read from, in words: the groups of the cluster, a checkpoint.
	Source string
	Topics []Topic // sorted
	// Digest is the sum over the export as it was read; empty in one that was not read from a file, or that is Unsealed.
	Digest string
	// Unsealed says that an older koffset wrote the file, which has no digest.
	Unsealed bool
}

// Export is a whole export, as ReadExport returns it.
type Export struct {
	Header
	Groups []Group // sorted
	// Incomplete says that something could not be read when it was written.
	Incomplete bool
}

// Origin is where the offsets of an export come from; name is the file's.
func (h *Header) Origin(name string) offset.Origin {
	o := offset.Origin{From: "export " + name, ClusterID: h.ClusterID, At: h.CreatedAt, Digest: h.Digest, Unsealed: h.Unsealed}
	for _, t := range h.Topics {
		o.AddTopic(t.Name, t.ID)
	}
	return o
}

// Topic returns one topic of the export.
func (h *Header) Topic(name string) (Topic, bool) {
	for _, t := range h.Topics {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}
