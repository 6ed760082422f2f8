package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

type checkOptions struct {
	app            *cli.App
	out            cli.OutputFlag
	topics, groups []string
}

func newProfileCheck(a *cli.App) *cobra.Command {
	o := &checkOptions{app: a}
	c := &cobra.Command{
		Use: "check [PROFILE]", Short: "Connect step by step, and say what the user may do",
		Long: `Goes through each step of connecting, for each broker of the settings in force, and shows its result: the settings, the
name, the connection, TLS with the certificates that the broker shows, the kinds of request, the login, the cluster and the
addresses that it gives for its brokers. Then it lists what each command needs, and for how many of the topics and groups that
this user sees it has that; --topic and --group ask about names. Topics and groups that are hidden from the user cannot be
counted. Nothing is written.` + cli.ExitStatus(
			"  3  the cluster is another one than cluster_id says",
			"  4  some brokers failed and others did not",
			"  6  a step failed: unreachable",
			"  7  a step failed: TLS or the login"),
		Example: `  koffset profile check
  koffset profile check prod
  koffset -b kafka:9093 -X tls.ca=ca.pem profile check --group billing --topic orders`,
		ValidArgsFunction: a.CompleteProfiles,
		Args:              atMostOne("check"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.out.Format()
			if err != nil {
				return err
			}
			s, err := settingsOf(a, cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), s, f)
		},
	}
	o.out.Add(c)
	c.Flags().StringSliceVar(&o.topics, "topic", nil, "ask what the user may do on these `TOPICS`")
	c.Flags().StringSliceVar(&o.groups, "group", nil, "ask what the user may do with these `GROUPS`, whether they exist or not")
	return c
}

func (o *checkOptions) run(ctx context.Context, s *conn.Settings, f render.Format) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	waiting := o.app.Streams.Waiting("connect")
	steps, cl := conn.Check(ctx, s, oldDescribe())
	var rights []right
	var rightsErr error
	if cl != nil {
		defer cl.Close()
		var a *authorized
		if a, rightsErr = readRights(ctx, cl, o.topics, o.groups); rightsErr == nil {
			rights = a.rights()
		}
	}
	waiting.Stop()
	w := render.NewWriter(o.app.Streams, f, render.Meta{Kind: "profile-check", GeneratedAt: o.app.Now(), Extra: []render.Field{render.F("profile", render.Text(s.Profile))}})
	stepSheet(w, steps, o.app.Streams.Spell)
	if f.IsTable() && len(rights) > 0 || f.IsJSON() {
		rightSheet(w, rights)
	}
	if err := w.Close(render.End{Incomplete: cl == nil || rightsErr != nil}); err != nil {
		return err
	}
	if err := stepsFault(steps, cl != nil); err != nil {
		return err
	}
	if rightsErr != nil {
		return &cli.Fault{Kind: offset.KindPartial, Err: fmt.Errorf("what the user may do could not be read: %w", rightsErr), Hint: cli.RightsHint(rightsErr)}
	}
	return nil
}

// oldDescribe keeps to a version of the call that answers for names that no group has.
func oldDescribe() kgo.Opt {
	v := conn.RequestVersions()
	v.SetMaxKeyVersion(kmsg.DescribeGroups.Int16(), 5)
	return kgo.MaxVersions(v)
}

func stepSheet(w *render.Writer, steps []conn.Step, spell func(string) string) {
	w.Begin(render.Sheet{Name: "steps", Row: "step", Columns: []render.Column{
		{Header: "STEP", Key: "step"}, {Header: "TARGET", Key: "target", HideEmpty: true}, {Header: "RESULT", Key: "result"},
		{Header: "DETAIL", Key: "detail", HideEmpty: true}, {Key: "hint", NoTable: true},
	}})
	for _, s := range steps {
		result := render.String(string(s.Result))
		switch s.Result {
		case conn.StepOK:
			result = result.Styled(render.Good)
		case conn.StepFailed:
			result = result.Styled(render.Bad)
		}
		w.Row(render.String(s.Name), render.Text(s.Target), result, render.Text(offset.Mask(s.Detail)), render.Text(spell(s.Hint)))
	}
}

func rightSheet(w *render.Writer, rights []right) {
	w.Begin(render.Sheet{Name: "rights", Row: "right", Columns: []render.Column{
		{Header: "COMMANDS", Key: "commands"}, {Header: "NEED", Key: "needs"}, {Header: "MAY", Key: "result"}, {Header: "DETAIL", Key: "detail", HideEmpty: true},
	}})
	for _, r := range rights {
		result := render.String(r.result)
		switch r.result {
		case rightYes:
			result = result.Styled(render.Good)
		case rightNo:
			result = result.Styled(render.Bad)
		default:
			result = result.Styled(render.Warn)
		}
		w.Row(render.String(r.commands), render.String(r.needs), result, render.Text(r.detail))
	}
}

// stepsFault is how a check ended whose steps did not all succeed.
func stepsFault(steps []conn.Step, connected bool) error {
	for _, s := range steps {
		if s.Result != conn.StepFailed {
			continue
		}
		kind := s.Kind
		if connected && kind != offset.KindRefused {
			kind = offset.KindPartial
		}
		where := s.Name
		if s.Target != "" {
			where += " " + s.Target
		}
		return &cli.Fault{Kind: kind, Err: fmt.Errorf("%s: %w", where, errors.New(s.Detail)), Hint: s.Hint}
	}
	return nil
}
