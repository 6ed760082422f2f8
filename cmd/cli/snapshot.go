package cli

// Opening checkpoints and savepoints, koffset's own and Flink's, for every command that takes one.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// SnapshotFlags choose a source of a snapshot, and say where its files lie.
type SnapshotFlags struct {
	UID, ID  string
	Cluster  string
	pathMap  []string
	InFlight bool // --allow-in-flight, where the command has it
}

// Add adds the flags that choose a source of a snapshot.
func (s *SnapshotFlags) Add(f *pflag.FlagSet) {
	f.StringVar(&s.UID, "operator-uid", "", "the Flink source with this `UID`, as the job's uid(\"…\") has it")
	f.StringVar(&s.ID, "operator-id", "", "the Flink source with this id, `HEX` as checkpoint show prints it")
	f.StringVar(&s.Cluster, "source-cluster", "", "of a dynamic Kafka source only what it reads on the cluster that it calls `NAME`")
	f.StringArrayVar(&s.pathMap, "path-map", nil, "a Flink state directory `OLD=NEW` that is elsewhere here, such as s3://bucket/ck=/mnt/ck; repeatable")
}

// AddInFlight adds the flag that accepts an incomplete checkpoint.
func (s *SnapshotFlags) AddInFlight(f *pflag.FlagSet) {
	f.BoolVar(&s.InFlight, "allow-in-flight", false, "take a snapshot of an unaligned checkpoint: another reader that starts there skips the records in it")
}

func (s *SnapshotFlags) options() (flink.Options, error) {
	var o flink.Options
	if s.UID != "" && s.ID != "" {
		return o, Usagef("leave one of them out", "--operator-uid and --operator-id were both given")
	}
	for _, m := range s.pathMap {
		from, to, ok := strings.Cut(m, "=")
		if !ok || from == "" || to == "" {
			return o, Usagef("such as s3://bucket/checkpoints=/mnt/checkpoints", "--path-map %q is not OLD=NEW", m)
		}
		o.PathMap = append(o.PathMap, flink.PathMapping{Old: from, New: to})
	}
	return o, nil
}

// OpenSnapshot opens what a command line names as a snapshot.
func (a *App) OpenSnapshot(ref string, flags *SnapshotFlags) (*checkpointfile.Snapshot, error) {
	o, err := flags.options()
	if err != nil {
		return nil, err
	}
	for i := range o.PathMap {
		o.PathMap[i].New = a.Path(o.PathMap[i].New)
	}
	if ref == "" {
		return nil, Usagef("a directory with a _metadata file", "the name of the checkpoint is empty")
	}
	path := ref
	if !strings.Contains(ref, ":/") { // file:/…, s3://… as they are
		path = a.Path(ref)
	}
	s, err := checkpointfile.OpenSnapshot(path, o)
	if err != nil {
		return nil, SnapshotFault(err)
	}
	if s.Newest > 1 {
		a.Streams.Note("%s holds %s: the newest is taken, %s", ref, text.Plural(s.Newest, "checkpoint"), s.Path)
	}
	return s, nil
}

// SnapshotFault is a snapshot that cannot be used: the command line named it, so it is a usage error.
func SnapshotFault(err error) error {
	var fe *checkpointfile.FileError
	hint := ""
	switch {
	case errors.As(err, &fe):
		hint = fe.Hint
	case errors.Is(err, flink.ErrNotSnapshot):
		hint = "koffset checkpoint list DIR finds the checkpoints in a directory"
	case errors.Is(err, fs.ErrNotExist):
		hint = "koffset checkpoint list DIR finds the checkpoints in a directory"
	}
	return &Fault{Kind: offset.KindUsage, Err: err, Hint: hint}
}

// ChooseSources are the sources that the flags name, or all.
func (s *SnapshotFlags) ChooseSources(snap *checkpointfile.Snapshot) ([]flink.Source, error) {
	found, err := snap.Choose(s.UID, s.ID)
	if err != nil {
		return nil, &Fault{Kind: offset.KindNotFound, Err: err, Hint: "koffset checkpoint show " + snap.Path + " lists them"}
	}
	if s.Cluster == "" {
		return found, nil
	}
	var out []flink.Source
	for _, src := range found {
		src.Partitions = slices.DeleteFunc(slices.Clone(src.Partitions), func(p flink.Partition) bool { return p.Cluster != s.Cluster })
		if len(src.Partitions) > 0 {
			out = append(out, src)
		}
	}
	if len(out) == 0 {
		return nil, Faultf(offset.KindNotFound, "koffset checkpoint show "+snap.Path+" lists them", "no source of the snapshot reads on a cluster %q", s.Cluster)
	}
	return out, nil
}

// OneCluster refuses sources that read several Kafka clusters: offsets of one mean nothing on another, and a command talks
// to one.
func OneCluster(sources []flink.Source) error {
	names := map[string]bool{}
	for _, src := range sources {
		for _, p := range src.Partitions {
			names[p.Cluster] = true
		}
	}
	if len(names) < 2 {
		return nil
	}
	list := slices.Sorted(maps.Keys(names))
	if list[0] == "" {
		list = list[1:]
		return Faultf(offset.KindRefused, "choose with --operator-id, --operator-uid or --source-cluster", "some sources read any Kafka cluster, and some those that they call %s: their offsets cannot be taken together", strings.Join(list, ", "))
	}
	return Faultf(offset.KindRefused, "choose one with --source-cluster", "the sources read on the Kafka clusters that they call %s: their offsets cannot be taken together", strings.Join(list, ", "))
}

// SnapshotTitle says what a snapshot is, in one line.
func SnapshotTitle(s *checkpointfile.Snapshot) string {
	if s.Own != nil {
		t := fmt.Sprintf("checkpoint %d of koffset job %s, written %s", s.Own.ID, s.Own.Job, offset.FormatTime(s.Header.CreatedAt))
		if s.Own.Final != "" {
			t += ", the last one (" + s.Own.Final + ")"
		}
		return t
	}
	f := s.Flink
	t := fmt.Sprintf("%s %d", f.Kind, f.CheckpointID)
	if f.Kind == flink.UnknownKind {
		t = fmt.Sprintf("checkpoint or savepoint %d", f.CheckpointID)
	}
	if f.Format != "" && f.Format != flink.UnknownFormat {
		t = fmt.Sprintf("%s %s", f.Format, t)
	}
	if f.JobID != "" {
		t += " of Flink job " + f.JobID
	}
	return t + fmt.Sprintf(" (%s, metadata version %d)", flinkRelease(f.MetadataVersion), f.MetadataVersion)
}

// flinkRelease says which Flink writes a metadata version.
func flinkRelease(version int) string {
	switch version {
	case 2:
		return "Flink 1.3 to 1.10"
	case 3:
		return "Flink 1.11 to 1.15"
	case 4:
		return "Flink 1.16 to 1.20"
	case 5:
		return "Flink 2.0"
	case 6:
		return "Flink 2.1 to 2.3"
	}
	return "a later Flink than 2.3"
}

// SnapshotWarnings says what a person should know before using the positions of the sources. It says how many operators
// could not be read; their errors are failures of their own.
func (a *App) SnapshotWarnings(s *checkpointfile.Snapshot, sources []flink.Source) (broken int) {
	if s.Flink == nil {
		return 0
	}
	chosen := map[string]bool{}
	for _, src := range sources {
		chosen[src.OperatorID] = true
	}
	for _, w := range s.Flink.Warnings {
		if w.OperatorID == "" || chosen[w.OperatorID] || w.Code == flink.WarnPendingTransactions {
			a.Streams.Warn("%s", w.Message)
		}
	}
	return len(s.Flink.OperatorErrors)
}

// PositionsOf reads where a snapshot's sources stand, for a command that will send somebody there: refused with exit
// status 3 where the snapshot holds records in flight, since they would be skipped.
func (a *App) PositionsOf(ref string, flags *SnapshotFlags) (none offset.Saved, err error) {
	s, err := a.OpenSnapshot(ref, flags)
	if err != nil {
		return none, err
	}
	sources, err := flags.ChooseSources(s)
	if err != nil {
		return none, err
	}
	if broken := a.SnapshotWarnings(s, sources); broken > 0 && flags.UID == "" && flags.ID == "" {
		e := &s.Flink.OperatorErrors[0]
		return none, Faultf(offset.KindRefused, "name a source that could be read: --operator-uid or --operator-id",
			"%s of the snapshot could not be read, so not all positions are known: %w", text.Plural(broken, "operator"), e)
	}
	if err := OneCluster(sources); err != nil {
		return none, err
	}
	if err := RefuseInFlight(s, flags.InFlight); err != nil {
		return none, err
	}
	out, err := checkpointfile.Positions(sources)
	if err != nil {
		return none, Faultf(offset.KindRefused, "choose one: --operator-uid or --operator-id (koffset checkpoint show "+ref+")", "%w", err)
	}
	if len(out) == 0 {
		return none, Faultf(offset.KindNotFound, "", "the snapshot %s holds no position of any partition", ref)
	}
	return offset.Saved{Origin: s.Origin(), Offsets: out}, nil
}

// RefuseInFlight refuses a snapshot with records in flight, unless that was allowed.
func RefuseInFlight(s *checkpointfile.Snapshot, allowed bool) error {
	if !s.InFlight() || allowed {
		return nil
	}
	return Faultf(offset.KindRefused, "take a savepoint, or an aligned checkpoint; add --allow-in-flight to skip those records",
		"%s holds in-flight records: its sources are past records that the job has not processed, and a reader that starts there skips them", s.Path)
}

// CheckpointCompletion completes directories.
func CheckpointCompletion(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
