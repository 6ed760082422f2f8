package cmd

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/conn"
)

// completer is the source of every live completion. It reads the same settings as the command that is being completed,
// and says nothing about what is wrong with them.
func (a *App) completer() *completions.Source {
	s := &completions.Source{Now: a.Now, CacheDir: a.cacheDir()}
	s.Connect = func(ctx context.Context, cmd *cobra.Command) (*kgo.Client, error) {
		set, err := conn.Load(a.inputs(cmd))
		if err != nil {
			return nil, err
		}
		set.Timeout = completions.Deadline
		return conn.Connect(ctx, set)
	}
	s.Key = func(cmd *cobra.Command) (string, error) {
		set, err := conn.Load(a.inputs(cmd))
		if err != nil {
			return "", err
		}
		user, _ := set.Value("sasl.user")
		return strings.Join(append(set.Brokers, set.Profile, user.Text), "\x00"), nil
	}
	return s
}

// cacheDir follows the XDG rule; without a home nothing is cached.
func (a *App) cacheDir() string {
	if d := a.env("XDG_CACHE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "koffset")
	}
	if a.Home == "" {
		return ""
	}
	return filepath.Join(a.Home, ".cache", "koffset")
}

func (a *App) env(name string) string {
	v := ""
	for _, e := range a.Environ {
		if k, val, ok := strings.Cut(e, "="); ok && k == name {
			v = val
		}
	}
	return v
}

// completeFlags gives every flag of a command that has a live or fixed set of values its completion.
func (a *App) completeFlags(c *cobra.Command) {
	src := a.completer()
	for name, f := range map[string]completions.Func{
		"group": src.Groups(), "to-group": src.Groups(), "against": src.Groups(), "topic": src.Topics(), "expect-topics": src.Topics(), "partitions": src.Partitions(),
		"to": src.Positions(), "from": src.Positions(), "until": src.Positions(),
		"isolation": completions.Words("read_uncommitted", "read_committed"),
		"by":        completions.Words(byGroup, byTopic, byPartition, byMember),
		"fail-on":   completions.Words("unhealthy"),
		"type":      completions.List(typeWords()...),
		"state":     completions.List("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "NotReady", "Dead"),
	} {
		if c.Flags().Lookup(name) != nil {
			if _, has := c.GetFlagCompletionFunc(name); !has {
				_ = c.RegisterFlagCompletionFunc(name, f)
			}
		}
	}
	for _, sub := range c.Commands() {
		a.completeFlags(sub)
	}
}

func typeWords() []string {
	var out []string
	for _, t := range inspect.GroupTypes() {
		out = append(out, string(t))
	}
	return out
}

// completeGlobals does the same for the flags of every command.
func (a *App) completeGlobals(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("profile", a.completeProfiles)
	_ = root.RegisterFlagCompletionFunc("color", completions.Words("auto", "always", "never"))
	_ = root.RegisterFlagCompletionFunc("timeout", completions.Words("10s", "30s", "2m"))
	_ = root.RegisterFlagCompletionFunc("bootstrap-server", cobra.NoFileCompletions)
	_ = root.RegisterFlagCompletionFunc("tz", completions.Words("UTC", "Local", "Europe/Berlin", "America/New_York", "Asia/Tokyo"))
	_ = root.MarkPersistentFlagDirname("state-dir")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.MarkPersistentFlagFilename("command-config", "properties", "conf", "config")
}

func (a *App) completeProfiles(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, profiles, err := conn.ProfilesOf(a.inputs(cmd))
	if err != nil || len(args) > 0 && cmd.Name() != "show" && cmd.Name() != "use" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, p := range profiles {
		if strings.HasPrefix(p.Name, word) {
			out = append(out, cobra.CompletionWithDesc(p.Name, strings.Join(p.Brokers, ",")))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
