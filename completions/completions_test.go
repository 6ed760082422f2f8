package completions_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/internal/kafkatest"
)

// command is what a completion is asked for, with the flags that it reads.
func command(t *testing.T, args ...string) *cobra.Command {
	t.Helper()
	c := &cobra.Command{Use: "x"}
	c.Flags().StringArray("topic", nil, "")
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	c.SetContext(t.Context())
	return c
}

// words are the completions without their descriptions.
func words(f completions.Func, c *cobra.Command, word string, args ...string) []string {
	got, directive := f(c, args, word)
	if directive&cobra.ShellCompDirectiveNoFileComp == 0 || directive&cobra.ShellCompDirectiveError != 0 {
		return []string{"files or an error are offered"}
	}
	var out []string
	for _, g := range got {
		name, _, _ := strings.Cut(g, "\t")
		out = append(out, name)
	}
	return out
}

func source(c *kfake.Cluster, dir string) *completions.Source {
	return &completions.Source{
		Connect: func(context.Context, *cobra.Command) (*kgo.Client, error) {
			return kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics())
		},
		Key: func(*cobra.Command) (string, error) { return "cluster", nil }, CacheDir: dir, Now: time.Now,
	}
}

func TestLiveWords(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	kafkatest.CreateTopic(t, cl, "wide", 300)
	s := source(fake, "")
	for _, c := range []struct {
		name string
		got  []string
		want string
	}{
		{"groups", words(s.Groups(), command(t), ""), f.App + " " + f.App2},
		{"groups not given yet", words(s.Groups(), command(t), "", f.App), f.App2},
		{"topics", words(s.Topics(), command(t), "o"), f.Topic},
		{"partitions", words(s.Topics(), command(t), f.Topic+":"), "orders.v1:0 orders.v1:1 orders.v1:2"},
		{"more partitions", words(s.Topics(), command(t), f.Topic+":0,"), "orders.v1:0,1 orders.v1:0,2"},
		{"of no topic", words(s.Topics(), command(t), "nope:"), ""},
		{"-p", words(s.Partitions(), command(t, "--topic", f.Topic), "2"), "2"},
		{"-p of a flag that was parsed twice", words(s.Partitions(), command(t, "--topic", f.Topic, "--topic", f.Topic), "2"), "2"},
		{"-p of two topics", words(s.Partitions(), command(t, "--topic", f.Topic, "--topic", "wide"), "2"), ""},
		{"-p of none", words(s.Partitions(), command(t), "2"), ""},
		{"positions", words(s.Positions(), command(t), "ea"), "earliest earliest-local"},
		{"a group's commits", words(s.Positions(), command(t), "group:app2"), "group:app2"},
		{"a path", words(s.Positions(), command(t), "file:/et"), "file:/etc/"},
		{"a path to nowhere", words(s.Positions(), command(t), "checkpoint:nowhere/"), ""},
		{"a list", words(completions.List("classic", "consumer", "share"), command(t), "consumer,C"), "consumer,classic"},
		{"words", words(completions.Words("group", "topic"), command(t), "t"), "topic"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if n := len(words(s.Topics(), command(t), "wide:")); n != 200 {
		t.Errorf("a wide topic offers %d partitions", n)
	}
}

// Shells ask several times a TAB: the second answer comes from what is remembered, for a while.
func TestCache(t *testing.T) {
	fake, cl := kafkatest.FakeClient(t)
	f := kafkatest.F1(t, cl, "")
	asked := fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListGroups}, Observe: true, Count: -1})
	dir := filepath.Join(t.TempDir(), "cache")
	s := source(fake, dir)
	now := time.Now()
	s.Now = func() time.Time { return now }
	both := []string{f.App, f.App2}
	step := func(what string, want []string, requests int) {
		t.Helper()
		if got := words(s.Groups(), command(t), ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q", what, got)
		}
		if asked.Hits() != requests {
			t.Errorf("%s: %d requests, want %d", what, asked.Hits(), requests)
		}
	}
	step("the first time", both, 1)
	step("at once again", both, 1)
	now = now.Add(25 * time.Second)
	step("a while later", both, 2)

	// The cluster is gone: what was known is better than nothing, for a day.
	s.Connect = func(context.Context, *cobra.Command) (*kgo.Client, error) { return nil, errors.New("refused") }
	now = now.Add(time.Hour)
	step("without the cluster", both, 2)
	now = now.Add(25 * time.Hour)
	step("a day later", nil, 2)

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the cache holds %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(files[0], []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	step("with a broken file", nil, 2)
	// Another cluster has another file.
	s = source(fake, dir)
	s.Key = func(*cobra.Command) (string, error) { return "other", nil }
	step("of another cluster", both, 3)
	// A folder that cannot be made disturbs nobody.
	s.CacheDir = filepath.Join(files[0], "below-a-file")
	step("without a folder", both, 4)
}

// A dial that heeds no context must not hold the shell.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &completions.Source{
			Connect: func(context.Context, *cobra.Command) (*kgo.Client, error) { <-release; return nil, errors.New("late") },
			Key:     func(*cobra.Command) (string, error) { return "k", nil }, Now: time.Now,
		}
		start := time.Now()
		if got := words(s.Groups(), command(t), ""); got != nil {
			t.Errorf("%q", got)
		}
		if took := time.Since(start); took != completions.Deadline {
			t.Errorf("it took %s, want %s", took, completions.Deadline)
		}
		close(release)
	})
	if completions.Deadline >= time.Second {
		t.Errorf("a deadline of %s is over a second", completions.Deadline)
	}
}

func TestBrokenSettingsAreSilent(t *testing.T) {
	s := &completions.Source{
		Connect: func(context.Context, *cobra.Command) (*kgo.Client, error) { return nil, errors.New("no") },
		Key:     func(*cobra.Command) (string, error) { return "", errors.New("no such profile") }, Now: time.Now,
	}
	for _, f := range []completions.Func{s.Groups(), s.Topics(), s.Partitions()} {
		if got := words(f, command(t, "--topic", "t"), ""); got != nil {
			t.Errorf("%q", got)
		}
	}
	if got := words(s.Positions(), command(t), "latest"); !slices.Equal(got, []string{"latest", "latest-tiered"}) {
		t.Errorf("words that need no cluster: %q", got)
	}
}
