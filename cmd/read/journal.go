package read

// The journal of a run that commits: what the group had before its first commit, and how the run ended.

import (
	"fmt"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

// journal writes the before-image of the run's first commit, so that undo can put it back.
func (o *consumeOptions) journal(ses *cli.Session, group string, before []consume.Before) error {
	op := checkpointfile.Operation{Verb: "consume", Command: o.app.CommandLine(), User: act.UserName(o.app), Host: act.HostName(),
		Profile: ses.Settings.Profile, Brokers: ses.Settings.Brokers}
	pg := checkpointfile.PlanGroup{Name: group, Create: true}
	for _, b := range before {
		bounds := b.Bounds
		ch := checkpointfile.Change{Group: group, Partition: b.Partition, TopicID: b.TopicID, Action: checkpointfile.ActionCommit,
			LogStart: &bounds.Start, LogEnd: &bounds.End, LastStable: &bounds.LastStable, How: offset.ReasonExact,
			Detail: "the first commit of the run; later ones followed",
			To:     &checkpointfile.Commit{Offset: b.Next.Offset, LeaderEpoch: b.Next.LeaderEpoch}}
		if c := b.Committed; c != nil {
			ch.From = &checkpointfile.Commit{Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata}
			pg.Create = false
		}
		op.Changes = append(op.Changes, ch)
	}
	op.Groups = []checkpointfile.PlanGroup{pg}
	plan := checkpointfile.Plan{Verb: op.Verb, ClusterID: ses.Cluster.ID, Groups: op.Groups, Changes: op.Changes}
	if err := plan.Seal(); err != nil {
		return err
	}
	op.PlanDigest = plan.Digest
	j, err := checkpointfile.CreateJournal(ses.Settings.StateDir, checkpointfile.Header{Version: o.app.Version, ClusterID: ses.Cluster.ID}, &op, o.app.Now)
	if err != nil {
		return &cli.Fault{Kind: offset.KindRefused, Err: fmt.Errorf("the undo journal cannot be written: %w", err), Hint: "choose another folder with --state-dir; nothing was committed"}
	}
	rows := make([]int, len(op.Changes))
	for i := range rows {
		rows[i] = i
	}
	j.Note(checkpointfile.StateCommitted, "", rows...)
	// The journal is closed here, and its end is added when the run ends: a run that is killed stays "started", which is all that is
	// known of it.
	if err := j.Close("started"); err != nil {
		return err
	}
	o.kept = j.Path
	if !o.quiet {
		o.app.Streams.Note("what group %s had committed is kept: %s puts it back", offset.NameText(group), o.app.Again("undo", j.ID, "--allow-drift", "--execute"))
	}
	return nil
}

// journalEnd adds to the journal how the run ended, where it committed. That it could not be written changes nothing about the run.
func (o *consumeOptions) journalEnd(sum consume.Summary, err error) {
	if o.kept == "" {
		return
	}
	word := "interrupted"
	switch {
	case render.IsBrokenPipe(err): // whoever read the records went away
	case err != nil:
		word = "failed"
	case sum.Ended == consume.Finished:
		word = "done"
	case sum.Ended == consume.Incomplete:
		word = "partial"
	}
	if err := checkpointfile.EndJournal(o.kept, word, o.app.Now()); err != nil {
		o.app.Streams.Warn("the journal does not say how the run ended: %v", err)
	}
}
