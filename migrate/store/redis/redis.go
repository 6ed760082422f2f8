// Package redis keeps positions in Redis: a hash for each group, whose fields are topic:partition.
//
// # Compatibility
//
// Before 1.0 a minor version may change or remove what is exported here, and CHANGELOG.md says what to write instead; a patch
// version changes nothing of it.
package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
)

// Redis is a store in Redis. It implements store.Store.
//
// The key of a group is the location's key with the group in place of {group}; each field is topic:partition, and its
// value is JSON: {"offset":42,"leader_epoch":3,"metadata":"","cluster_id":"…","saved_at_ms":1764410400000,"topic_id":"…"}.
type Redis struct {
	cl  *redis.Client
	key string
}

// New is the store behind a client that is open; Close closes it. key must hold {group}.
func New(cl *redis.Client, key string) *Redis { return &Redis{cl: cl, key: key} }

// Open connects.
func Open(ctx context.Context, l store.Location) (*Redis, error) {
	o, err := redis.ParseURL(l.URL.String())
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", l, err)
	}
	cl := redis.NewClient(o)
	if err := cl.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", l, err), cl.Close())
	}
	return New(cl, l.Key), nil
}

type value struct {
	Offset      int64              `json:"offset"`
	LeaderEpoch offset.LeaderEpoch `json:"leader_epoch"`
	Metadata    string             `json:"metadata"`
	ClusterID   string             `json:"cluster_id"`
	SavedAt     int64              `json:"saved_at_ms"`
	TopicID     string             `json:"topic_id,omitempty"` // values of older versions have none
}

func (r *Redis) keyOf(group string) string { return strings.Replace(r.key, "{group}", group, 1) }

// Load implements store.Store.
func (r *Redis) Load(ctx context.Context, group string) (store.Saved, error) {
	fields, err := r.cl.HGetAll(ctx, r.keyOf(group)).Result()
	if err != nil {
		return store.Saved{}, fmt.Errorf("read key %s: %w", r.keyOf(group), err)
	}
	return r.decode(group, fields)
}

func (r *Redis) decode(group string, fields map[string]string) (s store.Saved, err error) {
	for field, text := range fields {
		p, err := offset.ParsePartition(field)
		if err != nil {
			return s, fmt.Errorf("key %s, field %q: %w", r.keyOf(group), field, err)
		}
		var v value
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return s, fmt.Errorf("key %s, field %s: %w", r.keyOf(group), field, err)
		}
		if s.ClusterID == "" {
			s.ClusterID = v.ClusterID
		}
		if err := store.SameCluster(group, s.ClusterID, v.ClusterID); err != nil {
			return s, fmt.Errorf("key %s is not consistent: %w", r.keyOf(group), err)
		}
		if at := time.UnixMilli(v.SavedAt).UTC(); at.After(s.At) {
			s.At = at
		}
		s.Positions = append(s.Positions, store.Position{Partition: p, Committed: offset.Committed{Offset: v.Offset, LeaderEpoch: v.LeaderEpoch, Metadata: v.Metadata}, TopicID: v.TopicID})
	}
	store.Sort(s.Positions)
	return s, nil
}

// saveTries is how often a save begins again because another writer changed the key in between.
const saveTries = 10

// Save implements store.Store: one HSET within MULTI, after a look at the cluster id that a concurrent writer would void.
func (r *Redis) Save(ctx context.Context, w store.Write) error {
	if err := w.Check(); err != nil {
		return err
	}
	key := r.keyOf(w.Group)
	set := make([]any, 0, 2*len(w.Positions))
	for _, p := range w.Positions {
		v, err := json.Marshal(value{p.Offset, p.LeaderEpoch, p.Metadata, w.ClusterID, w.At.UnixMilli(), p.TopicID})
		if err != nil {
			return err
		}
		set = append(set, p.Partition.String(), v)
	}
	if len(set) == 0 {
		return nil
	}
	save := func(tx *redis.Tx) error {
		fields, err := tx.HGetAll(ctx, key).Result()
		if err != nil {
			return err
		}
		now, err := r.decode(w.Group, fields)
		if err != nil {
			return err
		}
		if err := store.SameCluster(w.Group, now.ClusterID, w.ClusterID); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.HSet(ctx, key, set...).Err() })
		return err
	}
	var err error
	for range saveTries {
		if err = r.cl.Watch(ctx, save, key); !errors.Is(err, redis.TxFailedErr) {
			break
		}
	}
	var ce *store.ClusterError
	if err != nil && !errors.As(err, &ce) {
		return fmt.Errorf("write key %s: %w", key, err)
	}
	return err
}

// Groups implements store.Store.
func (r *Redis) Groups(ctx context.Context) ([]string, error) {
	prefix, suffix, _ := strings.Cut(r.key, "{group}")
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)
	it := r.cl.Scan(ctx, 0, escape.Replace(prefix)+"*"+escape.Replace(suffix), 1000).Iterator()
	var out []string
	for it.Next(ctx) {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(it.Val(), prefix), suffix))
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("list keys %s: %w", r.key, err)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Close implements store.Store.
func (r *Redis) Close() error { return r.cl.Close() }
