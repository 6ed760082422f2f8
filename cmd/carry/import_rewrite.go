package carry

// migrate import --rewrite-checkpoint: the translated offsets go into a copy of a Flink snapshot instead of a group, so that
// a job moves to the other cluster with its state.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

type rewriteFlags struct {
	dir, out      string
	snap          cli.SnapshotFlags
	selfContained bool
}

func (r *rewriteFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.dir, "rewrite-checkpoint", "", "put the offsets into a copy of the Flink checkpoint or savepoint in `DIR` instead of a group")
	f.StringVar(&r.out, "out", "", "the directory `NEW` of the copy; its parent exists, it does not")
	r.snap.Add(f)
	r.snap.AddInFlight(f)
	f.BoolVar(&r.selfContained, "self-contained", false, "copy state that the snapshot names by absolute path, so that the original can be deleted")
}

func (r *rewriteFlags) check(o *importOptions) error {
	switch {
	case (r.dir == "") != (r.out == ""):
		return cli.Usagef("give both, or neither", "--rewrite-checkpoint DIR and --out NEW belong together")
	case r.dir == "":
		return nil
	case o.write.PlanOut != "":
		return cli.Usagef("leave one of them out", "--rewrite-checkpoint and --plan-out were both given")
	case o.skip:
		// A partition that stays as it is would go on from the old cluster's number.
		return cli.Usagef("leave --skip-unresolved out", "a copy of a checkpoint needs every partition's offset")
	}
	if _, err := os.Lstat(o.app.Path(r.out)); err == nil {
		return cli.Faultf(offset.KindRefused, "choose another --out; a copy is never written over anything", "%s exists", r.out)
	}
	return nil
}

// carried is one partition of the snapshot with its offset on the other cluster.
type carried struct {
	part   flink.Partition
	source *flink.Source
	item   *migrate.Item // nil for a partition that holds a word, which means the same there
	why    string        // refused, and why
	note   string        // what else is to be known about it
}

func (r *rewriteFlags) run(ctx context.Context, o *importOptions, s *cli.Session, res *migrate.Result) error {
	snap, err := o.app.OpenSnapshot(r.dir, &r.snap)
	if err != nil {
		return err
	}
	if snap.Flink == nil {
		return cli.Usagef("leave --rewrite-checkpoint out: koffset consume starts from a group", "%s is a checkpoint of koffset's: only Flink's are rewritten", r.dir)
	}
	if err := cli.RefuseInFlight(snap, r.snap.InFlight); err != nil {
		return err
	}
	sources, err := r.snap.ChooseSources(snap)
	if err != nil {
		return err
	}
	// The export names topics, not the clusters that a dynamic source calls by name: two of them may have one topic.
	if err := cli.OneCluster(sources); err != nil {
		return err
	}
	if err := oneGroup(res); err != nil {
		return err
	}
	rows := carry(sources, res)
	var refused []error
	var changes []flink.Change
	for _, c := range rows {
		switch {
		case c.why != "":
			refused = append(refused, fmt.Errorf("%s:%d: %s", c.part.Topic, c.part.Partition, c.why))
		case c.item != nil && (c.part.Next == nil || *c.part.Next != c.item.Offset):
			changes = append(changes, flink.Change{Source: c.source.OperatorID, Cluster: c.part.Cluster, Topic: c.part.Topic, Partition: c.part.Partition, NewNext: c.item.Offset})
		}
	}
	sayTally(o.app, res)
	o.app.Streams.Note("%s", cli.SnapshotTitle(snap))
	c := act.SnapshotCopy{Of: snap.Flink, Changes: changes, Same: "every partition has the same offset on both clusters: the snapshot can be used as it is",
		To: r.out, SelfContained: r.selfContained, Execute: o.write.Execute, Yes: o.write.Yes, Table: o.write.Format.IsTable(), Where: " on this cluster",
		Print: func(done *flink.Written) error {
			if done != nil && o.write.Format.IsTable() {
				return nil // the rows are on the screen already
			}
			return r.print(o, s, rows, done != nil)
		}}
	if len(refused) > 0 {
		f := cli.RefusedRows(refused).(*cli.Fault)
		f.Hint = ""
		c.Refused = cli.Saying(f, "nothing was written")
	}
	return c.Do(ctx, o.app)
}

// oneGroup: an export of several groups does not say which of them the job's positions are.
func oneGroup(res *migrate.Result) error {
	var names []string
	for _, i := range res.Items {
		names = append(names, i.Row.Group)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 1 {
		return cli.Usagef("add --group with one of them", "the export has offsets of %s: %s", text.Plural(len(names), "group"), strings.Join(offset.NameTexts(names[:min(3, len(names))]), ", "))
	}
	return nil
}

// carry gives every partition of the sources its offset. None may keep the old cluster's number.
func carry(sources []flink.Source, res *migrate.Result) []carried {
	at := map[offset.Partition]*migrate.Item{}
	for _, i := range res.Items {
		at[i.Row.Partition] = i
	}
	var out []carried
	for n := range sources {
		src := &sources[n]
		for _, p := range src.Partitions {
			c := carried{part: p, source: src}
			i := at[offset.Partition{Topic: p.Topic, Partition: p.Partition}]
			switch {
			case p.Stopping != nil:
				// It is the old cluster's number too: the copy would end early, and what lies between would never be read.
				c.why = fmt.Sprintf("its stopping offset %d is one of the old cluster, and would stay in the copy", *p.Stopping)
			case p.Next == nil:
				// Not read yet: the job's start mode, or a word, decides, and both mean the same on any cluster.
				if p.State == flink.FinishedOrLost {
					c.note = "no reader holds it: finished, or lost by its connector; it stays as it is"
				}
			case i == nil:
				c.why = "the export says nothing about it: export with --from checkpoint:DIR"
			case i.Target.Topic != p.Topic:
				c.why = fmt.Sprintf("it is named %s on the target, and the job would continue to read %s: mirror with the topics' own names (IdentityReplicationPolicy)", i.Target.Topic, p.Topic)
			case i.Row.Gone:
				c.why = "the topic or partition does not exist any more at the source"
			case i.Row.Committed != nil && *p.Next != i.Row.Committed.Offset:
				c.why = fmt.Sprintf("the export says %d, the snapshot %d: it was not exported from this snapshot", i.Row.Committed.Offset, *p.Next)
			case !i.Resolved():
				c.why = "unresolved: " + strings.Join(i.Reasons, "; ")
			default:
				c.item = i
			}
			out = append(out, c)
		}
	}
	return out
}

func (r *rewriteFlags) print(o *importOptions, s *cli.Session, rows []carried, executed bool) error {
	w := render.NewWriter(o.app.Streams, o.write.Format, s.Meta("checkpoint-import", render.F("out", render.String(o.app.Path(r.out))), render.F("executed", render.Bool(executed))))
	w.Begin(render.Sheet{Name: "changes", Row: "change", Columns: []render.Column{
		{Header: "OPERATOR-ID", Key: "operator_id", Wide: true},
		{Header: "UID", Key: "uid", HideEmpty: true},
		{Header: "TOPIC", Key: "topic"},
		{Header: "PARTITION", Key: "partition", Right: true},
		{Header: "CURRENT-OFFSET", Key: "from_offset", Right: true},
		{Header: "NEW-OFFSET", Key: "to_offset", Right: true},
		{Header: "HOW", Key: "how"},
		{Header: "PROOF", Key: "proof", HideEmpty: true},
		{Header: "DETAIL", Key: "detail", HideEmpty: true},
	}})
	for _, c := range rows {
		from, to, how, proof := render.IntPtr(c.part.Next), render.None(), render.String(string(offset.ReasonTranslated)), ""
		switch {
		case c.why != "":
			how = render.String("refused").Styled(render.Bad)
		case c.item == nil:
			how = render.String(string(offset.ReasonMarker)).Styled(render.Warn)
		default:
			to = render.Int(c.item.Offset)
			proof = c.item.Label() + " (" + string(c.item.Strategy) + "): " + c.item.Proof
		}
		w.Row(render.String(c.source.OperatorID), render.Text(c.source.UID), render.String(c.part.Topic), render.Int32(c.part.Partition), from, to, how, render.Text(proof), render.Text(cmp.Or(c.why, c.note)))
	}
	return w.Close(render.End{})
}
