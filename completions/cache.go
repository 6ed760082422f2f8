package completions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/koffset/koffset/internal/wholefile"
)

// fresh is how long an answer is used without asking again. Shells call a completion several times a TAB, and people
// press TAB several times a line; a group that is a few seconds old is still the group they mean.
const fresh = 20 * time.Second

// stale is how old an answer may be where the cluster does not answer.
const stale = 24 * time.Hour

// Answer is what a cluster holds, as far as completions need it.
type Answer struct {
	At     time.Time `json:"at"`
	Groups []Group   `json:"groups"`
	Topics []Topic   `json:"topics"`
}

// Group is a group with the words shown beside it.
type Group struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	State string `json:"state,omitempty"`
}

// Topic is a topic and the number of its partitions.
type Topic struct {
	Name       string `json:"name"`
	Partitions int    `json:"partitions"`
}

type cache struct {
	path string
	now  func() time.Time
}

func (s *Source) cache(key string) cache {
	if s.CacheDir == "" {
		return cache{now: s.Now}
	}
	sum := sha256.Sum256([]byte(key))
	return cache{path: filepath.Join(s.CacheDir, "completion-"+hex.EncodeToString(sum[:8])+".json"), now: s.Now}
}

func (c cache) load(now time.Time) (a Answer, age time.Duration, ok bool) {
	if c.path == "" {
		return a, 0, false
	}
	b, err := os.ReadFile(c.path)
	if err != nil || json.Unmarshal(b, &a) != nil {
		return Answer{}, 0, false
	}
	age = now.Sub(a.At)
	if age < 0 || age > stale {
		return Answer{}, 0, false
	}
	return a, age, true
}

// store keeps an answer. It fails silently: a read-only home is no reason to disturb a shell.
func (c cache) store(a Answer) {
	if c.path == "" {
		return
	}
	a.At = c.now()
	b, err := json.Marshal(a)
	if err != nil || os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return
	}
	_ = wholefile.Write(c.path, b)
}
