// Package completions holds the functions that complete groups, topics, partitions and position words in a shell. They
// ask the cluster under a deadline, remember the answer for a short while, change nothing, and never show an error: a
// completion that fails is silent.
package completions

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
)

// Deadline bounds one completion, connecting included. A shell waits for it at every TAB: beyond a second people press
// it again.
const Deadline = 900 * time.Millisecond

// Source is where completions come from.
type Source struct {
	// Connect opens a client by the flags of the command line that is being completed. key names the cluster it leads to
	// without secrets, for the cache; it is also asked for when the client is not needed.
	Connect func(ctx context.Context, cmd *cobra.Command) (*kgo.Client, error)
	Key     func(cmd *cobra.Command) (string, error)
	// Dir is where relative paths in words begin.
	Dir string
	// CacheDir is where answers are kept; empty keeps none.
	CacheDir string
	Now      func() time.Time
}

// Func is what cobra calls.
type Func = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective)

const quiet = cobra.ShellCompDirectiveNoFileComp

// Groups completes a group, with its type and state.
func (s *Source) Groups() Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, g := range s.answer(cmd).Groups {
			if strings.HasPrefix(g.Name, word) && !slices.Contains(args, g.Name) {
				out = append(out, cobra.CompletionWithDesc(g.Name, strings.TrimSpace(g.Type+" "+g.State)))
			}
		}
		return out, quiet
	}
}

// Topics completes a topic, and its partitions after a colon: orders:0,2.
func (s *Source) Topics() Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return topicWords(s.answer(cmd).Topics, word), quiet
	}
}

func topicWords(topics []Topic, word string) []cobra.Completion {
	name, nums, colon := strings.Cut(word, ":")
	var out []cobra.Completion
	for _, t := range topics {
		if !colon {
			if strings.HasPrefix(t.Name, word) {
				out = append(out, cobra.CompletionWithDesc(t.Name, text.Plural(t.Partitions, "partition")))
			}
			continue
		}
		if t.Name == name {
			out = append(out, partitionWords(name+":", nums, t.Partitions)...)
		}
	}
	return out
}

// maxPartitionWords keeps a TAB on a topic of thousands of partitions readable.
const maxPartitionWords = 200

// partitionWords completes the last number of a list such as 0,2-5.
func partitionWords(prefix, nums string, n int) []cobra.Completion {
	cut := strings.LastIndexAny(nums, ",-") + 1
	done, last := nums[:cut], nums[cut:]
	given := map[string]bool{}
	for part := range strings.SplitSeq(strings.TrimRight(done, ",-"), ",") {
		given[part] = true
	}
	var out []cobra.Completion
	for i := range n {
		num := strconv.Itoa(i)
		if strings.HasPrefix(num, last) && !given[num] {
			out = append(out, prefix+done+num)
		}
		if len(out) == maxPartitionWords {
			break
		}
	}
	return out
}

// Partitions completes -p with the partitions of the one --topic.
func (s *Source) Partitions() Func {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		specs, err := cmd.Flags().GetStringArray("topic")
		// cobra parses the flags of a completion twice, and a flag that repeats collects its values twice.
		slices.Sort(specs)
		if specs = slices.Compact(specs); err != nil || len(specs) != 1 {
			return nil, quiet
		}
		for _, t := range s.answer(cmd).Topics {
			if t.Name == specs[0] {
				return partitionWords("", word, t.Partitions), quiet
			}
		}
		return nil, quiet
	}
}

// Positions completes a position word, and what follows group: from the cluster.
func (s *Source) Positions() Func {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if name, ok := strings.CutPrefix(word, "group:"); ok {
			var out []cobra.Completion
			for _, g := range s.answer(cmd).Groups {
				if strings.HasPrefix(g.Name, name) {
					out = append(out, cobra.CompletionWithDesc("group:"+g.Name, g.State))
				}
			}
			return out, quiet
		}
		for _, p := range []string{"file:", "checkpoint:"} {
			if path, ok := strings.CutPrefix(word, p); ok {
				return s.paths(p, path, p == "checkpoint:"), quiet | cobra.ShellCompDirectiveNoSpace
			}
		}
		if strings.HasPrefix(word, "store:") {
			return Prefixes(storeWords("store:")...)(nil, nil, word)
		}
		var out []cobra.Completion
		for _, w := range positionWords() {
			if strings.HasPrefix(w.word, word) {
				out = append(out, cobra.CompletionWithDesc(w.word, w.means))
			}
		}
		return out, quiet | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	}
}

type positionWord struct{ word, means string }

func positionWords() []positionWord {
	return []positionWord{
		{"earliest", "the log start"}, {"latest", "the log end"}, {"current", "the group's commit"},
		{"@-1h", "an hour ago"}, {"@-1d/d", "yesterday at midnight"}, {"@", "a time: @2026-11-29T10:00:00Z, @-2h"},
		{"start+", "offsets after the log start"}, {"end-", "offsets before the log end"},
		{"current-", "offsets before the commit"}, {"current+", "offsets after the commit"},
		{"max-timestamp", "the record with the largest timestamp"},
		{"group:", "another group's commits"}, {"file:", "offsets in a file"}, {"checkpoint:", "a koffset or Flink checkpoint"}, {"store:", "a database or file"},
		{"earliest-local", "tiered storage: the first offset on the broker"}, {"latest-tiered", "tiered storage: the last remote offset"},
	}
}

// Stores completes how the URL of a store begins.
func Stores() Func { return Prefixes(storeWords("")...) }

func storeWords(prefix string) []string {
	var out []string
	for _, w := range []string{"file:", "sqlite:", "postgres://", "mysql://", "mariadb://", "redis://", "rediss://"} {
		out = append(out, prefix+w)
	}
	return out
}

// Snapshots completes where positions are exported from: a checkpoint or a store.
func (s *Source) Snapshots() Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.HasPrefix(word, "checkpoint:") || strings.HasPrefix(word, "store:") {
			return s.Positions()(cmd, args, word)
		}
		return Prefixes("checkpoint:", "store:")(cmd, args, word)
	}
}

// TopicList completes the last of several topics separated by commas.
func (s *Source) TopicList() Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		for _, t := range s.answer(cmd).Topics {
			names = append(names, t.Name)
		}
		return List(names...)(cmd, args, word)
	}
}

// Renames completes the old name of OLD=NEW: a topic, or a group.
func (s *Source) Renames(groups bool) Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.Contains(word, "=") {
			return nil, quiet
		}
		var names []string
		a := s.answer(cmd)
		if groups {
			for _, g := range a.Groups {
				names = append(names, g.Name+"=")
			}
		} else {
			for _, t := range a.Topics {
				names = append(names, t.Name+"=")
			}
		}
		return Prefixes(names...)(cmd, args, word)
	}
}

// Ranges completes the partition of a range, TOPIC:P=FROM:TO.
func (s *Source) Ranges() Func {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.Contains(word, "=") {
			return nil, quiet
		}
		var out []cobra.Completion
		for _, w := range topicWords(s.answer(cmd).Topics, word) {
			name, _, _ := strings.Cut(w, "\t")
			if strings.Contains(name, ":") {
				name += "="
			} else {
				name += ":"
			}
			out = append(out, name)
		}
		return out, quiet | cobra.ShellCompDirectiveNoSpace
	}
}

// Words completes one of fixed words.
func Words(words ...string) Func {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, w := range words {
			if strings.HasPrefix(w, word) {
				out = append(out, w)
			}
		}
		return out, quiet | cobra.ShellCompDirectiveKeepOrder
	}
}

// List completes the last of several words separated by commas.
func List(words ...string) Func {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cut := strings.LastIndexByte(word, ',') + 1
		done, last := word[:cut], word[cut:]
		given := strings.Split(done, ",")
		var out []cobra.Completion
		for _, w := range words {
			if strings.HasPrefix(strings.ToLower(w), strings.ToLower(last)) && !slices.Contains(given, w) {
				out = append(out, done+w)
			}
		}
		return out, quiet
	}
}

// answer is what the cluster holds: from the cache while it is fresh, else from the cluster, else from an old cache. It
// is empty where nothing could be learned in time.
func (s *Source) answer(cmd *cobra.Command) Answer {
	key, err := s.Key(cmd)
	if err != nil {
		cobra.CompDebugln("koffset: "+err.Error(), false)
		return Answer{}
	}
	c := s.cache(key)
	old, age, ok := c.load(s.Now())
	if ok && age < fresh {
		return old
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), Deadline)
	defer cancel()
	done := make(chan Answer, 1)
	go func() {
		a, err := s.ask(ctx, cmd)
		if err != nil {
			cobra.CompDebugln("koffset: "+err.Error(), false)
			done <- old
			return
		}
		c.store(a)
		done <- a
	}()
	select {
	case a := <-done:
		return a
	case <-ctx.Done(): // a dial that does not heed its context must not hold the shell
		return old
	}
}

func (s *Source) ask(ctx context.Context, cmd *cobra.Command) (Answer, error) {
	cl, err := s.Connect(ctx, cmd)
	if err != nil {
		return Answer{}, err
	}
	defer cl.Close()
	type topics struct {
		m   map[string]inspect.Topic
		err error
	}
	ch := make(chan topics, 1)
	go func() {
		m, err := inspect.ReadTopics(ctx, cl, nil)
		ch <- topics{m, err}
	}()
	groups, _, gerr := inspect.ListGroups(ctx, cl)
	t := <-ch
	if gerr != nil && t.err != nil {
		return Answer{}, gerr
	}
	var a Answer
	for _, g := range groups {
		a.Groups = append(a.Groups, Group{Name: g.Name, Type: string(g.Type), State: g.State})
	}
	for name, one := range t.m {
		if !one.Internal && one.Err == nil {
			a.Topics = append(a.Topics, Topic{Name: name, Partitions: len(one.Partitions)})
		}
	}
	slices.SortFunc(a.Topics, func(x, y Topic) int { return cmp.Compare(x.Name, y.Name) })
	return a, nil
}
