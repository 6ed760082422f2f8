package cli

// Stores outside Kafka: store:URL as a position, and where positions are saved.

import (
	"context"
	"errors"
	"fmt"

	"github.com/koffset/koffset/checkpointfile"
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
	return s, l, StoreFault(l.Hide(err))
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
	case errors.Is(err, checkpointfile.ErrDamaged), errors.Is(err, checkpointfile.ErrForeign), errors.Is(err, checkpointfile.ErrNewer):
		return FileFault(err) // a file that was named, as every other one is
	}
	return err
}

// SavedInStore reads what a store has for the named groups, or for the one group that its URL names (whose positions are
// then for any group), or for all that it has.
func (a *App) SavedInStore(ctx context.Context, ref string, groups []string) (*offset.SavedBy, error) {
	s, l, err := a.OpenStore(ctx, ref)
	if err != nil {
		return nil, err
	}
	out, err := loadStore(ctx, s, l, groups)
	if cerr := s.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("store %s: %w", l, l.Hide(cerr))
	}
	return out, err
}

func loadStore(ctx context.Context, s store.Store, l store.Location, groups []string) (*offset.SavedBy, error) {
	switch {
	case l.Group != "":
		groups = []string{l.Group}
	case len(groups) == 0:
		var err error
		if groups, err = s.Groups(ctx); err != nil {
			return nil, StoreFault(l.Hide(err))
		}
	}
	out := &offset.SavedBy{Groups: map[string]offset.Saved{}}
	for _, g := range groups {
		saved, err := s.Load(ctx, g)
		if err != nil {
			return nil, StoreFault(l.Hide(err))
		}
		if len(saved.Positions) > 0 {
			out.Groups[g] = saved.Of(l, g)
		}
	}
	if len(out.Groups) == 0 {
		return nil, Faultf(offset.KindNotFound, "", "store %s has no positions for %v", l, groups)
	}
	if l.Group != "" {
		one := out.Groups[l.Group]
		return &offset.SavedBy{Any: &one}, nil
	}
	return out, nil
}
