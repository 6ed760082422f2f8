package read

import (
	"cmp"
	"context"
	"errors"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

// engineStore is where koffset consume saves positions.
type engineStore struct {
	app            *cli.App
	store          store.Store
	group, cluster string
	topicIDs       map[string]string // of the topics that the run reads, from its plan
}

// learn notes which topics the run's offsets are of.
func (e *engineStore) learn(p *consume.Plan) {
	e.topicIDs = map[string]string{}
	for _, r := range p.Rows {
		e.topicIDs[r.Topic] = r.TopicID
	}
}

// Save implements consume.OffsetStore.
func (e *engineStore) Save(ctx context.Context, _ int64, positions []consume.Position) error {
	w := store.Write{Group: e.group, ClusterID: e.cluster, At: e.app.Now()}
	for _, p := range positions {
		w.Positions = append(w.Positions, store.Position{Partition: p.Partition, Committed: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}, TopicID: e.topicIDs[p.Topic]})
	}
	return e.store.Save(ctx, w)
}

// openEngineStore opens the store of --offset-store. Positions are kept under the group that the URL names, the run's
// group, or its job. What another cluster's run has saved there is refused now, and not at the first checkpoint.
func openEngineStore(ctx context.Context, a *cli.App, ref, group, job, cluster string) (*engineStore, error) {
	s, l, err := a.OpenStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	e := &engineStore{app: a, store: s, group: cmp.Or(l.Group, group, job), cluster: cluster}
	if e.group == "" {
		err = cli.Usagef("add --group or --job, or group=NAME to the store's URL", "under which name are the positions to be kept? none was given")
	}
	var saved store.Saved
	if err == nil {
		saved, err = s.Load(ctx, e.group)
	}
	if err == nil {
		err = store.SameCluster(e.group, saved.ClusterID, cluster)
	}
	if err != nil {
		return nil, errors.Join(cli.StoreFault(err), s.Close())
	}
	return e, nil
}

// storePosition is what store:URL means as the start of a run of a group: nothing where the store does not know it, so that
// --if-no-commit decides.
func storePosition(ctx context.Context, a *cli.App, ref, group string) (none offset.Saved, err error) {
	s, l, err := a.OpenStore(ctx, ref)
	if err != nil {
		return none, err
	}
	name := cmp.Or(l.Group, group)
	if name == "" {
		err = cli.Usagef("add --group, or group=NAME to the store's URL", "whose positions in store %s? no group was named", l)
	}
	var saved store.Saved
	if err == nil {
		saved, err = s.Load(ctx, name)
	}
	if err = errors.Join(cli.StoreFault(err), s.Close()); err != nil {
		return none, err
	}
	return saved.Of(l, name), nil
}
