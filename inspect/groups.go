package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// GroupType is the kind of a group, in Kafka's own words.
type GroupType string

// Kafka's four kinds of group. The empty type is a broker before 3.8, which does not tell.
const (
	TypeClassic  GroupType = "classic"  // the original protocol, and groups that only commit
	TypeConsumer GroupType = "consumer" // KIP-848
	TypeShare    GroupType = "share"    // KIP-932
	TypeStreams  GroupType = "streams"  // KIP-1071
)

// GroupTypes are the types that --type takes.
func GroupTypes() []GroupType { return []GroupType{TypeClassic, TypeConsumer, TypeShare, TypeStreams} }

// GroupStates are the states that --state takes, in Kafka's words: those of all types of groups.
func GroupStates() []string {
	return []string{"Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "NotReady", "Dead"}
}

// Group is a group as the list of groups has it.
type Group struct {
	Name         string
	Type         GroupType
	ProtocolType string // "consumer", "connect", … and empty for a group that only commits
	State        string // in Kafka's words, such as Stable or Empty; empty on brokers before 2.6
	Coordinator  int32
	Listed       bool // the list of groups told it, and who coordinates it; a group that was only named may not exist
}

// Member is one member of a group.
type Member struct {
	ID         string
	ClientID   string
	InstanceID string // empty for a dynamic member
	Host       string
	// Topics are the topics that the member subscribes to, by name; nil where it is not told, or where it is a pattern.
	Topics []string
	// Assigned is what the member reads, sorted. It is empty for a Connect worker, whose assignment is not of partitions.
	Assigned []offset.Partition
	// Told says that Assigned is all that it reads: where it is empty, the member is known to read nothing.
	Told bool
	// Tasks are a Streams member's tasks, as Streams writes them: "0_1", and "0_1 (standby)" or "0_1 (warmup)".
	Tasks []string
	Epoch int32 // the member's epoch, 0 for classic groups
}

// Where is how a member is named in messages: client on host.
func (m Member) Where() string {
	host := strings.TrimPrefix(m.Host, "/")
	if m.InstanceID != "" {
		return fmt.Sprintf("%s (static %s) on %s", m.ClientID, m.InstanceID, host)
	}
	return fmt.Sprintf("%s on %s", m.ClientID, host)
}

// Description is what the describe call of a group's own type says.
type Description struct {
	Group
	Assignor string
	Members  []Member
	Epoch    int32 // the group's epoch, 0 for classic groups
	// AssignmentEpoch is the epoch of the assignment; while it is behind Epoch a new assignment is being made.
	AssignmentEpoch int32
	// Application says what kind of program the group belongs to, where its name and members tell; see Applications.
	Application Application
	// NotFound says that no group of that name exists.
	NotFound bool
	// Err is why the group could not be described.
	Err error
}

// Active says that a member is there, or that a rebalance is under way: its commits must not be moved. An empty state
// with no members is not active. What cannot be described counts as active, since nobody knows.
func (d Description) Active() bool {
	if d.NotFound {
		return false
	}
	if d.Err != nil {
		return true
	}
	// Azure Event Hubs never says Empty, and some brokers say Dead for a group that only has commits.
	return len(d.Members) > 0 || d.State != "Empty" && d.State != "Dead" && d.State != ""
}

// Application is the kind of program behind a group.
type Application string

// The applications that a group's name, protocol and members give away.
const (
	AppNone           Application = ""
	AppOffsetsOnly    Application = "offsets-only"    // commits without members: assign(), Flink, Spark. It may be running.
	AppConnectWorkers Application = "connect-workers" // the workers of a Connect cluster
	AppConnectSink    Application = "connect-sink"    // the consumers of one sink connector
	AppStreams        Application = "streams"         // a Kafka Streams application on the classic protocol
)

// Connector is the name of the connector behind a sink's group, or empty: Connect names such a group "connect-" and the
// connector's name (org.apache.kafka.connect.util.SinkUtils).
func (d Description) Connector() string {
	if d.Application != AppConnectSink {
		return ""
	}
	return strings.TrimPrefix(d.Name, "connect-")
}

func applicationOf(d Description, protocol string) Application {
	switch {
	case d.Type == TypeShare || d.Type == TypeStreams || d.NotFound || d.Err != nil:
		return AppNone
	case d.ProtocolType == "connect":
		return AppConnectWorkers
	case strings.HasPrefix(d.Name, "connect-") && (len(d.Members) == 0 || strings.HasPrefix(d.Members[0].ClientID, "connector-consumer-")):
		return AppConnectSink
	case protocol == "stream":
		return AppStreams
	case d.ProtocolType == "" && len(d.Members) == 0 && d.Type != TypeConsumer:
		return AppOffsetsOnly
	}
	return AppNone
}

func sortMembers(ms []Member) {
	for i := range ms {
		slices.SortFunc(ms[i].Assigned, offset.Partition.Compare)
	}
	slices.SortFunc(ms, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.ClientID, b.ClientID), strings.Compare(a.ID, b.ID))
	})
}
