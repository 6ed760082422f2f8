// Package setup has the commands around the tool itself: profile, sandbox, demo, completion and version.
package setup

import (
	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
)

// NewProfile is the command profile.
func NewProfile(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "profile", GroupID: "other", Short: "List, show, choose, write and check connection profiles",
		Long: `A profile is a named set of settings in the configuration file: how to reach a cluster, how to log in, and its
guard rails. koffset profile show --resolved prints every setting in force with the place it came from; secrets are masked.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("koffset profile list, show, use, add or check", "profile needs a verb")
			}
			return cli.UnknownCommand(cmd, nil, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return nil },
	}
	c.AddCommand(newProfileList(a), newProfileShow(a), newProfileUse(a), newProfileAdd(a), newProfileCheck(a))
	return c
}

func newProfileList(a *cli.App) *cobra.Command {
	var out cli.OutputFlag
	c := &cobra.Command{
		Use: "list", Short: "List the profiles of the configuration file", Args: noArgs,
		Long: "List the profiles of the configuration file. The current one is used when neither --profile nor -b is given." + profileStatus,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := out.Format()
			if err != nil {
				return err
			}
			path, profiles, err := conn.ProfilesOf(a.Inputs(cmd))
			if err != nil {
				return err
			}
			w := render.NewWriter(a.Streams, f, render.Meta{Kind: "profiles", GeneratedAt: a.Now(), Extra: []render.Field{render.F("config", render.Text(path))}})
			w.Begin(render.Sheet{Name: "profiles", Row: "profile", Columns: []render.Column{
				{Header: "CURRENT", Key: "current"}, {Header: "PROFILE", Key: "profile"}, {Header: "BROKERS", Key: "brokers"},
				{Header: "CLUSTER-ID", Key: "cluster_id", HideEmpty: true}, {Header: "READ-ONLY", Key: "read_only"},
			}})
			for _, p := range profiles {
				current := render.Bool(p.Current)
				if f.IsTable() {
					current = render.Text(map[bool]string{true: "*"}[p.Current])
				}
				w.Row(current, render.String(p.Name), render.Strings(p.Brokers), render.Text(p.ClusterID), render.Bool(p.ReadOnly))
			}
			if err := w.Close(render.End{}); err != nil {
				return err
			}
			if len(profiles) == 0 {
				a.Streams.Note("%s has no profiles", path)
			}
			return nil
		},
	}
	out.Add(c)
	return c
}

func newProfileShow(a *cli.App) *cobra.Command {
	var out cli.OutputFlag
	var resolved bool
	c := &cobra.Command{
		Use: "show [PROFILE]", Short: "Show the settings in force, each with its source",
		Long: `Show the settings that a profile gives, each with the place it came from. --resolved shows every setting in force:
flags, files, environment and built-in values too. Secrets are masked; no connection is opened.` + profileStatus,
		ValidArgsFunction: a.CompleteProfiles,
		Args:              atMostOne("show"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := out.Format()
			if err != nil {
				return err
			}
			s, err := settingsOf(a, cmd, args)
			if err != nil {
				return err
			}
			w := render.NewWriter(a.Streams, f, render.Meta{Kind: "profile", ClusterID: s.ClusterID, GeneratedAt: a.Now(),
				Extra: []render.Field{render.F("profile", render.Text(s.Profile)), render.F("config", render.Text(s.ConfigPath))}})
			w.Begin(render.Sheet{Name: "settings", Row: "setting", Columns: []render.Column{
				{Header: "KEY", Key: "key"}, {Header: "VALUE", Key: "value"}, {Header: "SOURCE", Key: "source"}, {Header: "SECRET", Key: "secret", NoTable: true},
			}})
			rows := 0
			for _, r := range s.Rows() {
				if resolved || r.Source.Kind == config.FromProfile || r.Source.Kind == config.FromDefaults {
					w.Row(render.String(r.Key), render.Text(r.Value), render.String(r.Source.String()), render.Bool(r.Secret))
					rows++
				}
			}
			if err := w.Close(render.End{}); err != nil || rows > 0 {
				return err
			}
			if s.Profile == "" {
				a.Streams.Note("no profile is chosen, so none gives a setting; koffset profile show --resolved shows every setting in force")
			} else {
				a.Streams.Note("profile %s gives no settings; koffset profile show --resolved shows every setting in force", s.Profile)
			}
			return nil
		},
	}
	out.Add(c)
	c.Flags().BoolVar(&resolved, "resolved", false, "every setting in force, not only the profile's")
	return c
}

func newProfileUse(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "use PROFILE", Short: "Make a profile the current one",
		Long:              "Make a profile the current one, by writing current_profile into the configuration file. Comments and order are kept." + profileStatus,
		ValidArgsFunction: a.CompleteProfiles,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("koffset profile list shows them", "profile use takes one profile, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := conn.Use(a.Inputs(cmd), args[0])
			if err != nil {
				return err
			}
			a.Streams.Note("%s is the current profile now (%s)", args[0], path)
			return nil
		},
	}
}

// atMostOne are the arguments of a verb that takes a profile, or goes by the settings in force.
func atMostOne(verb string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return cli.Usagef("", "profile %s takes one profile, got %d", verb, len(args))
		}
		return nil
	}
}

// settingsOf are the settings of the profile that was named, or those in force, and says their warnings.
func settingsOf(a *cli.App, cmd *cobra.Command, args []string) (*conn.Settings, error) {
	in := a.Inputs(cmd)
	if len(args) == 1 {
		in.Profile, in.ProfileSet = args[0], true
	}
	s, err := conn.Load(in)
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.Streams.Warn("%s", w)
	}
	return s, nil
}
