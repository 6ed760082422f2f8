package cmd

// Stores outside Kafka: store:URL as a position, and where positions are saved.

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/mysql"
	"github.com/koffset/koffset/migrate/store/postgres"
	"github.com/koffset/koffset/migrate/store/redis"
	"github.com/koffset/koffset/migrate/store/sqlite"
	"github.com/koffset/koffset/offset"
)

// openStore opens the store that a URL names. The caller closes it.
func (a *App) openStore(ctx context.Context, ref string) (store.Store, store.Location, error) {
	l, err := store.Parse(ref)
	if err != nil {
		return nil, l, asUsage(err)
	}
	if l.Path != "" {
		l.Path = a.path(l.Path)
	}
	// Each Open returns its own type, and a nil one must not become a store that is not nil.
	var s store.Store
	switch l.Scheme {
	case store.SchemeFile:
		return store.OpenFile(l.Path, a.Version), l, nil
	case store.SchemeSQLite:
		if db, e := sqlite.Open(ctx, l); e == nil {
			s = db
		} else {
			err = e
		}
	case store.SchemePostgres:
		if db, e := postgres.Open(ctx, l); e == nil {
			s = db
		} else {
			err = e
		}
	case store.SchemeMySQL:
		if db, e := mysql.Open(ctx, l); e == nil {
			s = db
		} else {
			err = e
		}
	case store.SchemeRedis:
		if db, e := redis.Open(ctx, l); e == nil {
			s = db
		} else {
			err = e
		}
	}
	return s, l, storeFault(err)
}

// storeFault gives a store's error its exit status.
func storeFault(err error) error {
	var missing *store.MissingError
	var cluster *store.ClusterError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return &fault{code: exitNotFound, err: err}
	case errors.As(err, &cluster):
		return &fault{code: exitRefused, err: err, hint: "choose another table or key; nothing was changed"}
	}
	return err
}

// foreignStore reads what a store has for the named groups, or for the one group that its URL names, or for all that it
// has. A store that was filled from another cluster is refused: its numbers mean other records there.
func (a *App) foreignStore(ctx context.Context, ref, clusterID string, groups []string) (foreignOffsets, error) {
	s, l, err := a.openStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	out, err := loadStore(ctx, s, l, clusterID, groups)
	if cerr := s.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("store %s: %w", l, cerr)
	}
	return out, err
}

func loadStore(ctx context.Context, s store.Store, l store.Location, clusterID string, groups []string) (foreignOffsets, error) {
	one := l.Group != ""
	switch {
	case one:
		groups = []string{l.Group}
	case len(groups) == 0:
		var err error
		if groups, err = s.Groups(ctx); err != nil {
			return nil, storeFault(err)
		}
	}
	out := foreignOffsets{}
	for _, g := range groups {
		saved, err := s.Load(ctx, g)
		if err != nil {
			return nil, storeFault(err)
		}
		if err := store.SameCluster(g, saved.ClusterID, clusterID); err != nil {
			return nil, faultf(exitRefused, "koffset migrate export --from store:URL -g GROUP on that cluster, and migrate import here, translate them",
				"store %s: %w", l, err)
		}
		if len(saved.Positions) > 0 {
			out[g] = saved.Foreign()
		}
	}
	if len(out) == 0 {
		return nil, faultf(exitNotFound, "", "store %s has no positions for %v", l, groups)
	}
	if one {
		// The URL names whose positions are meant, whichever group they go to.
		out = foreignOffsets{"": out[l.Group]}
	}
	return out, nil
}

// saveTo stores the positions of one group.
func saveTo(ctx context.Context, s store.Store, w store.Write) error {
	return storeFault(s.Save(ctx, w))
}

// storePositions are commits as a store takes them.
func storePositions(at map[offset.Partition]offset.Committed) []store.Position {
	out := make([]store.Position, 0, len(at))
	for p, c := range at {
		out = append(out, store.Position{Partition: p, Committed: c})
	}
	store.Sort(out)
	return out
}

// engineStore is where koffset consume saves positions.
type engineStore struct {
	app            *App
	store          store.Store
	group, cluster string
}

// Save implements consume.OffsetStore.
func (e *engineStore) Save(ctx context.Context, _ int64, positions []consume.Position) error {
	w := store.Write{Group: e.group, ClusterID: e.cluster, At: e.app.Now()}
	for _, p := range positions {
		w.Positions = append(w.Positions, store.Position{Partition: p.Partition, Committed: offset.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}})
	}
	return e.store.Save(ctx, w)
}

// openEngineStore opens the store of --offset-store. Positions are kept under the group that the URL names, the run's
// group, or its job. What another cluster's run has saved there is refused now, and not at the first checkpoint.
func (a *App) openEngineStore(ctx context.Context, ref, group, job, cluster string) (*engineStore, error) {
	s, l, err := a.openStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	e := &engineStore{app: a, store: s, group: cmp.Or(l.Group, group, job), cluster: cluster}
	if e.group == "" {
		err = usagef("add --group or --job, or group=NAME to the store's URL", "under which name are the positions to be kept? none was given")
	}
	var saved store.Saved
	if err == nil {
		saved, err = s.Load(ctx, e.group)
	}
	if err == nil {
		err = store.SameCluster(e.group, saved.ClusterID, cluster)
	}
	if err != nil {
		return nil, errors.Join(storeFault(err), s.Close())
	}
	return e, nil
}

// storePosition is what store:URL means as the start of a run of a group: nothing where the store does not know it, so that
// --if-no-commit decides.
func (a *App) storePosition(ctx context.Context, ref, cluster, group string) (map[offset.Partition]offset.Foreign, error) {
	s, l, err := a.openStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(l.Group, group)
	if name == "" {
		err = usagef("add --group, or group=NAME to the store's URL", "whose positions in store %s? no group was named", l)
	}
	var saved store.Saved
	if err == nil {
		saved, err = s.Load(ctx, name)
	}
	if err == nil {
		err = store.SameCluster(name, saved.ClusterID, cluster)
	}
	if err = errors.Join(storeFault(err), s.Close()); err != nil {
		return nil, err
	}
	return saved.Foreign(), nil
}
