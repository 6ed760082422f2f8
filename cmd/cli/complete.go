package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/checkpointfile/flink"
	"github.com/koffset/koffset/completions"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
)

// OneFile completes the one file that is the argument.
func OneFile(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completions.Files(cmd, args, word)
}

// Completer is the source of every live completion. It reads the same settings as the command that is being completed,
// and says nothing about what is wrong with them.
func (a *App) Completer() *completions.Source { return a.CompleterOf(a.Inputs) }

// CompleterOf completes from the cluster that other inputs name.
func (a *App) CompleterOf(inputs func(*cobra.Command) conn.Inputs) *completions.Source {
	s := &completions.Source{Now: a.Now, CacheDir: a.cacheDir(), Dir: a.Dir}
	s.Connect = func(ctx context.Context, cmd *cobra.Command) (*kgo.Client, error) {
		set, err := conn.Load(inputs(cmd))
		if err != nil {
			return nil, err
		}
		set.Timeout = completions.Deadline
		return conn.Connect(ctx, set)
	}
	s.Key = func(cmd *cobra.Command) (string, error) {
		set, err := conn.Load(inputs(cmd))
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
	if d := a.Env("XDG_CACHE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "koffset")
	}
	if a.Home == "" {
		return ""
	}
	return filepath.Join(a.Home, ".cache", "koffset")
}

// Env is a variable of the environment; the last one counts, as for a shell.
func (a *App) Env(name string) string {
	v := ""
	for _, e := range a.Environ {
		if k, val, ok := strings.Cut(e, "="); ok && k == name {
			v = val
		}
	}
	return v
}

// CompleteFlags gives every flag of a command that takes a value its completion, and every command that its arguments. What
// has none here takes files or directories where its help says FILE or DIR, and offers nothing otherwise: cobra's default is
// the files of the current folder, which are wrong for a number or an expression.
func (a *App) CompleteFlags(c *cobra.Command) {
	byName := a.flagWords()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, has := c.GetFlagCompletionFunc(f.Name); has || f.NoOptDefVal != "" {
			return
		}
		if fn, ok := byName[f.Name]; ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, fn)
			return
		}
		what, _ := pflag.UnquoteUsage(f)
		fn := cobra.NoFileCompletions
		switch what {
		case "FILE":
			fn = completions.Files
		case "DIR":
			fn = completions.Dirs
		case "DURATION":
			fn = completions.Words("10s", "30s", "1m", "5m", "1h", "1d")
		}
		_ = c.RegisterFlagCompletionFunc(f.Name, fn)
	})
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = cobra.NoFileCompletions // its subcommands are offered all the same
	}
	for _, sub := range c.Commands() {
		a.CompleteFlags(sub)
	}
}

// flagWords are the completions of flags by their names, which mean the same in every command.
func (a *App) flagWords() map[string]completions.Func {
	src := a.Completer()
	return map[string]completions.Func{
		"group": src.Groups(), "to-group": src.Groups(), "against": src.Groups(), "topic": src.Topics(), "partitions": src.Partitions(),
		"expect-topics": src.TopicList(), "to": src.Positions(), "from": src.Positions(), "until": src.Positions(),
		"map": src.Renames(false), "map-group": src.Renames(true), "range": src.Ranges(),
		"part":     a.completeParts,
		"to-store": completions.Stores(), "offset-store": completions.Stores(),
		"source-profile": a.completeProfileNames, "target-profile": a.completeProfileNames,
		"operator-uid": a.completeSources(func(s flink.Source) []string { return []string{s.UID} }),
		"operator-id":  a.completeSources(func(s flink.Source) []string { return []string{s.OperatorID} }),
		"source-cluster": a.completeSources(func(s flink.Source) []string {
			var out []string
			for _, p := range s.Partitions {
				out = append(out, p.Cluster)
			}
			return out
		}),
		"isolation":    completions.Words("read_uncommitted", "read_committed"),
		"fail-on":      completions.Words("unhealthy"),
		"type":         completions.List(typeWords()...),
		"state":        completions.List(inspect.GroupStates()...),
		"strategy":     completions.List("same", "record", "mm2", "table", "timestamp", "end-distance"),
		"out-of-range": completions.Words("fail", "clamp", "skip"),
		"if-none":      completions.Words("latest", "earliest", "skip", "fail"),
		"if-expired":   completions.Words("earliest", "fail"),
		"if-no-commit": completions.Words("fail", "skip", "earliest", "latest"),
		"marker":       completions.Words("fail", "earliest", "latest", "committed", "as-written"),
		"metadata":     completions.Words("keep", "clear"),
		"clusters":     completions.Words("1", "2"),
		"listen":       completions.Words("127.0.0.1:9308"), "metrics-listen": completions.Words("127.0.0.1:9309"),
		"key-deserializer": completions.Words(deserializers()...), "value-deserializer": completions.Words(deserializers()...),
		"rate": completions.Words("100/s", "1000/s", "1MiB/s", "10MiB/s"),
		"set":  completions.Prefixes(conn.SettingNames("=")...),
	}
}

func deserializers() []string {
	var out []string
	for _, n := range []string{"String", "ByteArray", "Integer", "Long"} {
		out = append(out, "org.apache.kafka.common.serialization."+n+"Deserializer")
	}
	return out
}

// completeSources offers what is told about the sources of the snapshot that stands elsewhere on the line.
func (a *App) completeSources(tell func(flink.Source) []string) completions.Func {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		seen := map[string]bool{"": true}
		for _, src := range a.sourcesOnLine(cmd, args) {
			for _, w := range tell(src) {
				if !seen[w] && strings.HasPrefix(w, word) {
					out = append(out, cobra.CompletionWithDesc(w, render.Escape(aboutSource(src))))
				}
				seen[w] = true
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeParts offers the parts of the range file that stands elsewhere on the line.
func (a *App) completeParts(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	none := cobra.ShellCompDirectiveNoFileComp
	name, err := cmd.Flags().GetString("range-file")
	if err != nil || name == "" {
		return nil, none
	}
	file, err := os.Open(a.Path(name))
	if err != nil {
		return nil, none
	}
	defer func() { _ = file.Close() }()
	ranges, err := consume.ReadRangeFile(file, name)
	if err != nil {
		return nil, none
	}
	var out []cobra.Completion
	for i, part := range ranges.Parts {
		if k := strconv.Itoa(i + 1); strings.HasPrefix(k, word) {
			out = append(out, cobra.CompletionWithDesc(k, text.Plural(len(part), "range")))
		}
	}
	return out, none | cobra.ShellCompDirectiveKeepOrder
}

func aboutSource(src flink.Source) string {
	topics := map[string]bool{}
	for _, p := range src.Partitions {
		topics[p.Topic] = true
	}
	about := strings.Join(slices.Sorted(maps.Keys(topics)), ", ")
	if src.Name != "" {
		about = src.Name + ": " + about
	}
	return about
}

func (a *App) sourcesOnLine(cmd *cobra.Command, args []string) []flink.Source {
	refs := slices.Clone(args)
	for _, name := range []string{"to", "from", "until", "restore", "rewrite-checkpoint", "position-from"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			refs = append(refs, strings.TrimPrefix(f.Value.String(), "checkpoint:"))
		}
	}
	for _, ref := range refs {
		if ref == "" || strings.Contains(ref, "://") {
			continue // a file system that may take longer than a TAB
		}
		if snap, err := checkpointfile.OpenSnapshot(a.Path(ref), flink.Options{}); err == nil {
			return snap.Sources()
		}
	}
	return nil
}

func typeWords() []string {
	var out []string
	for _, t := range inspect.GroupTypes() {
		out = append(out, string(t))
	}
	return out
}

// CompleteGlobals does the same for the flags of every command.
func (a *App) CompleteGlobals(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("profile", a.completeProfileNames)
	_ = root.RegisterFlagCompletionFunc("color", completions.Words("auto", "always", "never"))
	_ = root.RegisterFlagCompletionFunc("timeout", completions.Words("10s", "30s", "2m"))
	_ = root.RegisterFlagCompletionFunc("bootstrap-server", cobra.NoFileCompletions)
	_ = root.RegisterFlagCompletionFunc("set", a.flagWords()["set"])
	root.ValidArgsFunction = cobra.NoFileCompletions
	_ = root.RegisterFlagCompletionFunc("tz", completions.Words("UTC", "Local", "Europe/Berlin", "America/New_York", "Asia/Tokyo"))
	_ = root.MarkPersistentFlagDirname("state-dir")
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.MarkPersistentFlagFilename("command-config", "properties", "conf", "config")
}

// completeProfileNames completes a flag, completeProfiles the argument of a command too.
func (a *App) completeProfileNames(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.CompleteProfiles(cmd, nil, word)
}

// CompleteProfiles offers the names of the profiles, with their brokers.
func (a *App) CompleteProfiles(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	_, profiles, err := conn.ProfilesOf(a.Inputs(cmd))
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
