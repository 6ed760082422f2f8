package setup

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

type addOptions struct {
	app    *cli.App
	noTest bool
	use    bool

	in      conn.Inputs
	secrets map[string]string // typed, by the setting
}

func newProfileAdd(a *cli.App) *cobra.Command {
	o := &addOptions{app: a, secrets: map[string]string{}}
	c := &cobra.Command{
		Use: "add PROFILE", Short: "Write a new profile, after a test of the connection",
		Long: `Writes a profile into the configuration file: the brokers of -b and the settings of -X, or what is asked for on a terminal
where no brokers are given. The connection is tested first, step by step as by koffset profile check, and the id of the cluster
goes into the profile, so that it can never mean another cluster.

A password is typed, or comes from a file or a command (-X sasl.password_file=FILE, -X sasl.password_command=COMMAND): one on
the command line would be seen by every user of the machine, and is refused. A typed one goes into a file of its own beside the
configuration file, with mode 0600. Comments and order of the configuration file are kept; a new one has mode 0600. The first
profile of a file becomes the current one.` + cli.ExitStatus(
			"  3  the connection failed, and it was declined to write the profile",
			"  6  the connection failed: unreachable; nothing was written",
			"  7  the connection failed: TLS or the login; nothing was written"),
		Example: `  koffset profile add prod
  koffset profile add prod -b kafka-1:9093,kafka-2:9093 -X tls.ca=/etc/ssl/kafka-ca.pem -X sasl.mechanism=SCRAM-SHA-512 -X sasl.user=ops
  koffset profile add dev -b localhost:9092 --no-test`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.Usagef("koffset profile add NAME", "profile add takes the name of one new profile, got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), cmd, args[0]) },
	}
	c.Flags().BoolVar(&o.noTest, "no-test", false, "write it without a test of the connection")
	c.Flags().BoolVar(&o.use, "use", false, "make it the current profile")
	return c
}

func (o *addOptions) run(ctx context.Context, cmd *cobra.Command, name string) error {
	given := o.app.Inputs(cmd)
	switch {
	case given.CommandConfigSet:
		return cli.Usagef("write its settings as -X", "profile add takes no --command-config")
	case given.ProfileSet:
		return cli.Usagef("koffset profile add "+given.Profile, "profile add takes the name as its argument, not --profile")
	}
	path, has, err := conn.HasProfile(given, name)
	switch {
	case err != nil:
		return err
	case has:
		return cli.Usagef("choose another name, or edit "+path, "there is a profile %s already", name)
	}
	for _, x := range given.X {
		if key, _, _ := strings.Cut(x, "="); conn.IsSecret(key) {
			return cli.Usagef("leave it out and type it, or set "+key+"_file or "+key+"_command with -X", "-X %s: a secret on the command line is seen by every user of the machine", key)
		}
	}
	// The settings of the new profile alone: no other profile, no environment.
	o.in = given
	o.in.Environ, o.in.Config, o.in.ConfigSet = nil, os.DevNull, true
	if err := o.ask(ctx); err != nil {
		return err
	}
	s, err := conn.Load(o.withSecrets())
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		o.app.Streams.Warn("%s", w)
	}
	if len(s.Brokers) == 0 {
		return cli.Usagef("add -b HOST:PORT", "no brokers are given, and there is no terminal to ask on")
	}
	settings := o.settings(s)
	if !o.noTest {
		id, err := o.test(ctx, s)
		if err != nil {
			return err
		}
		if id != "" && !slices.ContainsFunc(settings, func(x conn.NewSetting) bool { return x.Key == "cluster_id" }) {
			settings = slices.Insert(settings, 1, conn.NewSetting{Key: "cluster_id", Value: id})
		}
	}
	return o.write(given, name, settings)
}

// withSecrets are the inputs with what was typed.
func (o *addOptions) withSecrets() conn.Inputs {
	in := o.in
	in.X = slices.Clone(in.X)
	for key, secret := range o.secrets {
		in.X = append(in.X, key+"="+secret)
	}
	return in
}

// ask asks for what is not given: everything where there are no brokers, and a password where the login needs one.
func (o *addOptions) ask(ctx context.Context) error {
	st := o.app.Streams
	if !st.CanPrompt() {
		return nil
	}
	if !o.in.BrokersSet && !o.has("brokers") {
		for _, q := range []struct{ key, question string }{
			{"brokers", "Brokers (HOST:PORT, several with commas):"},
			{"tls.enabled", "TLS (yes or no; empty is no):"},
			{"tls.ca", "File of the authority's certificate (empty: the system's):"},
			{"sasl.mechanism", "Login (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512; empty is none):"},
			{"sasl.user", "User:"},
		} {
			if q.key == "tls.ca" && !o.on("tls.enabled") || q.key == "sasl.user" && !o.has("sasl.mechanism") || o.has(q.key) {
				continue
			}
			if err := o.askOne(ctx, q.key, q.question); err != nil {
				return err
			}
		}
	}
	mech := strings.ToUpper(o.value("sasl.mechanism"))
	if (mech == "PLAIN" || strings.HasPrefix(mech, "SCRAM-")) && !o.has("sasl.password_file") && !o.has("sasl.password_command") {
		secret, ok, err := st.AskSecret(ctx, "Password (not shown):")
		if err != nil || !ok {
			return declined(err)
		}
		o.secrets["sasl.password"] = secret
	}
	return nil
}

func (o *addOptions) askOne(ctx context.Context, key, question string) error {
	answer, ok, err := o.app.Streams.Ask(ctx, question)
	if err != nil || !ok {
		return declined(err)
	}
	if key == "tls.enabled" {
		switch strings.ToLower(answer) {
		case "", "n", "no", "false":
			answer = ""
		case "y", "yes", "true":
			answer = "true"
		}
	}
	if answer != "" {
		o.in.X = append(o.in.X, key+"="+answer)
	}
	return nil
}

// declined is for a question that got no answer.
func declined(err error) error {
	if err != nil {
		return err
	}
	return cli.Faultf(offset.KindRefused, "", "no answer: nothing was written")
}

func (o *addOptions) value(key string) string {
	for _, x := range o.in.X {
		if name, value, _ := strings.Cut(x, "="); name == key {
			return value
		}
	}
	return ""
}

func (o *addOptions) has(key string) bool { return o.value(key) != "" }

func (o *addOptions) on(key string) bool { return o.value(key) == "true" }

// settings are what goes into the profile: what was given, paths as whole ones, since the file lies elsewhere.
func (o *addOptions) settings(s *conn.Settings) []conn.NewSetting {
	var out []conn.NewSetting
	for _, r := range s.Rows() {
		if r.Source.Kind != config.FromFlag && r.Source.Kind != config.FromX || r.Secret {
			continue
		}
		if i := slices.IndexFunc(out, func(x conn.NewSetting) bool { return x.Key == r.Key }); i >= 0 {
			if out[i].List == nil {
				out[i].List = []string{out[i].Value}
			}
			out[i].List = append(out[i].List, r.Value) // a row for each item of a list
			continue
		}
		x := conn.NewSetting{Key: r.Key, Value: r.Value}
		if v, ok := s.Value(r.Key); ok && len(v.List) > 0 {
			x.List = v.List
		}
		if r.Key == "brokers" {
			x.List = s.Brokers
		}
		out = append(out, x)
	}
	return out
}

// test goes through the steps, and returns the id of the cluster.
func (o *addOptions) test(ctx context.Context, s *conn.Settings) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	waiting := o.app.Streams.Waiting("connect")
	steps, cl := conn.Check(ctx, s)
	waiting.Stop()
	if cl != nil {
		cl.Close()
	}
	w := render.NewWriter(o.app.Streams, render.Table, render.Meta{Kind: "profile-check"})
	stepSheet(w, steps, o.app.Streams.Spell)
	if err := w.Close(render.End{}); err != nil {
		return "", err
	}
	for _, step := range steps {
		if step.Name == conn.StepCluster && step.Result == conn.StepOK {
			id = step.Target
		}
	}
	failed := stepsFault(steps, cl != nil)
	if failed == nil {
		return id, nil
	}
	var f *cli.Fault
	if !errors.As(failed, &f) {
		return "", failed
	}
	if !o.app.Streams.CanPrompt() {
		f.Hint = strings.TrimPrefix(f.Hint+"; nothing was written: --no-test writes it all the same", "; ")
		return "", f
	}
	o.app.Streams.Fail(render.Failure{Err: f.Err, Hint: f.Hint, Kind: f.Kind})
	yes, err := o.app.Streams.Confirm(ctx, "Write the profile all the same?")
	if err != nil || !yes {
		return "", errors.Join(err, cli.Faultf(offset.KindRefused, "", "declined: nothing was written"))
	}
	return id, nil
}

// write keeps typed secrets in files of their own, and then the profile.
func (o *addOptions) write(in conn.Inputs, name string, settings []conn.NewSetting) error {
	for key, secret := range o.secrets {
		path, err := conn.SecretFile(in, name, key)
		if err != nil {
			return err
		}
		if err := conn.WriteSecret(path, secret); err != nil {
			return err
		}
		settings = append(settings, conn.NewSetting{Key: key + "_file", Value: path})
	}
	path, current, err := conn.AddProfile(in, name, settings)
	if err != nil {
		return err
	}
	if o.use && !current {
		if path, err = conn.Use(in, name); err != nil {
			return err
		}
		current = true
	}
	o.app.Streams.Note("profile %s is written to %s", name, path)
	if current {
		o.app.Streams.Note("it is the current profile: koffset inspect")
		return nil
	}
	o.app.Streams.Note("use it with --profile %s, or make it the current one: koffset profile use %s", name, name)
	return nil
}
