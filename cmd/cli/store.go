package cli

// Stores outside Kafka: store:URL as a position, and where positions are saved.

import (
	"context"
	"errors"
	"fmt"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/migrate/store/mysql"
	"github.com/koffset/koffset/migrate/store/postgres"
	"github.com/koffset/koffset/migrate/store/redis"
	"github.com/koffset/koffset/migrate/store/sqlite"
	"github.com/koffset/koffset/offset"
)

// OpenStore opens the store that a URL names. The caller closes it.
func (a *App) OpenStore(ctx context.Context, ref string) (store.Store, store.Location, error) {
	l, err := store.Parse(ref)
	if err != nil {
		return nil, l, AsUsage(err)
	}
	if l.Path != "" {
		l.Path = a.Path(l.Path)
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
	return s, l, StoreFault(err)
}

// StoreFault gives a store's error its exit status.
func StoreFault(err error) error {
	var missing *store.MissingError
	var cluster *store.ClusterError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return &Fault{Kind: offset.KindNotFound, Err: err}
	case errors.As(err, &cluster):
		return &Fault{Kind: offset.KindRefused, Err: err, Hint: "choose another table or key; nothing was changed"}
	}
	return err
}

// ForeignStore reads what a store has for the named groups, or for the one group that its URL names, or for all that it
// has. A store that was filled from another cluster is refused: its numbers mean other records there.
func (a *App) ForeignStore(ctx context.Context, ref, clusterID string, groups []string) (ForeignOffsets, error) {
	s, l, err := a.OpenStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	out, err := loadStore(ctx, s, l, clusterID, groups)
	if cerr := s.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("store %s: %w", l, cerr)
	}
	return out, err
}

func loadStore(ctx context.Context, s store.Store, l store.Location, clusterID string, groups []string) (ForeignOffsets, error) {
	one := l.Group != ""
	switch {
	case one:
		groups = []string{l.Group}
	case len(groups) == 0:
		var err error
		if groups, err = s.Groups(ctx); err != nil {
			return nil, StoreFault(err)
		}
	}
	out := ForeignOffsets{}
	for _, g := range groups {
		saved, err := s.Load(ctx, g)
		if err != nil {
			return nil, StoreFault(err)
		}
		if err := store.SameCluster(g, saved.ClusterID, clusterID); err != nil {
			return nil, Faultf(offset.KindRefused, "koffset migrate export --from store:URL -g GROUP on that cluster, and migrate import here, translate them",
				"store %s: %w", l, err)
		}
		if len(saved.Positions) > 0 {
			out[g] = saved.Foreign()
		}
	}
	if len(out) == 0 {
		return nil, Faultf(offset.KindNotFound, "", "store %s has no positions for %v", l, groups)
	}
	if one {
		// The URL names whose positions are meant, whichever group they go to.
		out = ForeignOffsets{"": out[l.Group]}
	}
	return out, nil
}
