package cmd

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// writeFlags are the flags of every command that changes offsets.
type writeFlags struct {
	out        outputFlag
	execute    bool
	dryRun     bool
	yes        bool
	confirm    string
	planOut    string
	waitEmpty  string
	settle     string
	impact     bool
	allowDrift bool
	evict      bool

	format    render.Format
	wait      time.Duration
	settleFor time.Duration
	impactSet bool
}

func (w *writeFlags) add(c *cobra.Command, extra ...render.Format) {
	w.out.add(c, extra...)
	f := c.Flags()
	f.BoolVar(&w.execute, "execute", false, "do it; without this flag nothing is changed")
	f.BoolVar(&w.dryRun, "dry-run", false, "show what would be done (what happens without --execute too)")
	f.BoolVarP(&w.yes, "yes", "y", false, "do not ask on a terminal")
	f.StringVar(&w.confirm, "confirm", "", "the `CLUSTER-ID`, where the profile wants it confirmed")
	f.StringVar(&w.waitEmpty, "wait-empty", "", "before executing, wait up to this `DURATION` until the group has no members and no open transaction")
	f.StringVar(&w.settle, "settle", "", "after executing, watch for this `DURATION` whether somebody overwrites the offsets")
}

func (w *writeFlags) addPlanOut(c *cobra.Command) {
	c.Flags().StringVar(&w.planOut, "plan-out", "", "write the plan to a `FILE` that koffset apply takes")
}

func (w *writeFlags) addImpact(c *cobra.Command) {
	c.Flags().BoolVar(&w.impact, "impact", false, "show the times at both ends, bytes and retention (by itself up to 200 partitions; --impact=false turns it off)")
}

func (w *writeFlags) addAllowDrift(c *cobra.Command, what string) {
	c.Flags().BoolVar(&w.allowDrift, "allow-drift", false, what)
}

func (w *writeFlags) parse(c *cobra.Command) error {
	var err error
	if w.format, err = w.out.format(); err != nil {
		return err
	}
	if w.execute && w.dryRun {
		return usagef("leave one of them out", "--execute and --dry-run were both given")
	}
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{{"wait-empty", w.waitEmpty, &w.wait}, {"settle", w.settle, &w.settleFor}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = offset.ParseDuration(d.text); err != nil {
			return &fault{code: exitUsage, err: fmt.Errorf("--%s: %w", d.flag, err), hint: hintOf(err)}
		}
	}
	w.impactSet = c.Flags().Changed("impact")
	return nil
}

// write takes a plan from its first showing to its end. Every command that changes offsets goes through it.
type write struct {
	app   *App
	s     *session
	flags *writeFlags
	built *reset.Built
	// allowed and whole are reset.Options'.
	allowed reset.Allowed
	whole   bool
	// known are the names of all groups, for hints.
	known []string
	// wide says that several groups were asked for: Kafka's CSV then has the group's column.
	wide bool

	impacts map[reset.Key]reset.Impact
}

// run shows the plan, and executes it where --execute says so.
func (w *write) run(ctx context.Context) error {
	verb := w.built.Plan.Verb
	for _, g := range w.built.Failed {
		w.failGroup(ctx, g)
	}
	if len(w.built.Plan.Groups) == 0 {
		if len(w.built.Failed) == 0 {
			return w.nothing()
		}
		return quietly(w.codeOf(w.built.Failed))
	}
	sum := reset.Summarize(w.built.Plan)
	w.head(sum)
	if w.flags.execute {
		// What cannot be executed is not shown as if it could.
		if err := w.inUse(); err != nil {
			w.audit(nil, "refused", err)
			return err
		}
	}
	w.readImpact(ctx, sum)
	if sum.Refused > 0 {
		if err := w.print(nil, true); err != nil {
			return err
		}
		return w.refused(sum)
	}
	if err := w.writePlan(); err != nil {
		return err
	}
	if !w.flags.execute {
		return w.dry(sum)
	}
	if sum.Changed == 0 && !w.removes() {
		if err := w.print(nil, len(w.built.Failed) > 0); err != nil {
			return err
		}
		w.app.Streams.Note("%s: everything stands where it should already; nothing was changed", verb)
		return w.partial()
	}
	return w.execute(ctx, sum)
}

// nothing is a plan without groups that failed nowhere: repair found nothing sick.
func (w *write) nothing() error {
	if err := w.print(nil, false); err != nil {
		return err
	}
	w.app.Streams.Note("nothing to %s", w.built.Plan.Verb)
	return nil
}

// partial ends a run in which some groups were left out.
func (w *write) partial() error {
	if len(w.built.Failed) > 0 {
		return quietly(exitPartial)
	}
	return nil
}

func (w *write) removes() bool {
	for _, g := range w.built.Plan.Groups {
		if g.Delete {
			return true
		}
	}
	return false
}

// dry ends a run without --execute.
func (w *write) dry(sum reset.Summary) error {
	if err := w.print(nil, len(w.built.Failed) > 0); err != nil {
		return err
	}
	if err := w.guard(sum); err != nil {
		w.app.Streams.Warn("executing this would be refused: %v", err)
	}
	if sum.Changed == 0 && !w.removes() {
		w.app.Streams.Note("everything stands where it should already")
	} else if w.flags.format != render.KafkaCSV {
		w.app.Streams.Note("dry run: nothing was changed; add --execute to do it")
	}
	return w.partial()
}

func (w *write) execute(ctx context.Context, sum reset.Summary) error {
	if err := w.guard(sum); err != nil {
		w.audit(nil, "refused", err)
		return err
	}
	if err := w.auditReady(); err != nil {
		return err
	}
	shown := w.flags.format.IsTable()
	if shown {
		if err := w.print(nil, len(w.built.Failed) > 0); err != nil {
			// A reader that closed the pipe ends a command that only shows something well, but this one was to do something.
			err = faultf(exitFailed, "nothing was changed", "the plan could not be shown: %v", err)
			w.audit(nil, "refused", err)
			return err
		}
	}
	if err := w.ask(ctx, sum); err != nil {
		w.audit(nil, "refused", err)
		return err
	}
	if err := w.evictMembers(ctx); err != nil {
		w.audit(nil, "refused", err)
		return err
	}
	progress := w.app.Streams.Progress("writing offsets")
	progress.Set(0, int64(sum.Changed))
	res, err := reset.Apply(ctx, w.s.client, w.built.Plan, reset.Options{
		Allowed: w.allowed, Whole: w.whole, StateDir: w.s.settings.StateDir, Operation: w.operation(), Version: w.app.Version, Clock: w.app.Now,
		Phase: w.s.phase, Settle: w.flags.settleFor, Settling: func() {
			w.app.Streams.Note("written and read back; watching for %s whether somebody overwrites it", offset.FormatDuration(w.flags.settleFor))
		}, Progress: func(n int) { progress.Add(int64(n)) },
	})
	progress.Stop()
	if err != nil {
		err = w.notApplied(ctx, err)
		w.audit(nil, "refused", err)
		return err
	}
	for _, g := range res.Failed {
		w.failGroup(ctx, g)
	}
	var unsaid error
	if !shown || res.Bad() > 0 {
		unsaid = w.print(res, res.Bad() > 0 || len(w.built.Failed) > 0)
	}
	code := w.outcome(res)
	w.audit(res, auditWord(code, res), nil)
	w.said(res)
	switch {
	case unsaid != nil && !render.IsBrokenPipe(unsaid):
		return faultf(exitPartial, "koffset undo lists what was done", "it was executed, and the rows could not be written: %w", unsaid)
	case code != exitDone:
		return quietly(code)
	// What follows in a script must not take offsets that were not watched for quiet ones.
	case res.SettleErr != nil && ctx.Err() != nil:
		return quietly(exitInterrupted)
	case res.SettleErr != nil:
		return quietly(exitPartial)
	}
	return nil
}

// outcome is the exit status of what was executed.
func (w *write) outcome(res *reset.Result) int {
	failed := append(append([]*reset.GroupError{}, w.built.Failed...), res.Failed...)
	good, bad := res.Count(reset.OutcomeChanged, reset.OutcomeUnchanged), res.Bad()
	switch {
	case bad == 0 && len(failed) == 0:
		return exitDone
	case res.Count(reset.OutcomeUnknown, reset.OutcomeUnverified, reset.OutcomeDiffers, reset.OutcomeOverwritten) > 0:
		return exitPartial
	case good > 0 || bad == 0 && len(res.Rows) > 0:
		return exitPartial
	case len(failed) > 0 && bad == res.Count(reset.OutcomeRefused):
		return w.codeOf(failed)
	}
	return rowsCode(res)
}

// operation says who does it.
func (w *write) operation() checkpointfile.Operation {
	return checkpointfile.Operation{Command: w.app.commandLine(), User: w.app.userName(), Host: hostName(),
		Profile: w.s.settings.Profile, Brokers: w.s.settings.Brokers}
}

func (a *App) userName() string {
	for _, v := range []string{"USER", "LOGNAME", "USERNAME"} {
		if u := a.env(v); u != "" {
			return u
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
}

// commandLine is what was typed, for the journal and the audit log, without secrets.
func (a *App) commandLine() string {
	out := []string{"koffset"}
	setting := false // the argument is the value of a -X before it
	for _, arg := range a.args {
		arg, setting = maskArg(arg, setting)
		if strings.ContainsAny(arg, " \t\n\"'\\$`|&;<>()*?") || arg == "" {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		out = append(out, arg)
	}
	return strings.Join(out, " ")
}

// maskArg hides the secret in an argument: the value of a setting, and the password of a store's URL. next says that the
// argument after it is the value of a setting. Letters may stand before the X, as in -vX, and an = behind it.
func maskArg(arg string, setting bool) (masked string, next bool) {
	if setting {
		return maskSetting(arg), false
	}
	if after, ok := strings.CutPrefix(arg, "--set"); ok {
		if value, ok := strings.CutPrefix(after, "="); ok {
			return "--set=" + maskSetting(value), false
		}
		if after == "" {
			return arg, true
		}
	}
	if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
		if letters, value, ok := strings.Cut(arg, "X"); ok && !strings.Contains(letters, "=") {
			if value == "" {
				return arg, true
			}
			eq := ""
			if rest, ok := strings.CutPrefix(value, "="); ok {
				eq, value = "=", rest
			}
			return letters + "X" + eq + maskSetting(value), false
		}
	}
	// A URL may stand behind words of its own: store:postgres://…, --to=store:…, orders:0=….
	if at := strings.Index(arg, "://"); at >= 0 {
		scheme := strings.LastIndexFunc(arg[:at], func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+'
		}) + 1
		return arg[:scheme] + store.Mask(arg[scheme:]), false
	}
	return arg, false
}

// maskSetting hides the value of a setting whose name says that it is secret.
func maskSetting(setting string) string {
	key, _, has := strings.Cut(setting, "=")
	low := strings.ToLower(key)
	for _, word := range []string{"password", "secret", "token", "jaas", "key"} {
		if has && strings.Contains(low, word) {
			return key + "=***"
		}
	}
	return setting
}
