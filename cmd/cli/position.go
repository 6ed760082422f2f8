package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/offset"
)

// PositionFlags are the ways to say where: Kafka's long flags, and --to WORD for everything.
type PositionFlags struct {
	to         string
	earliest   bool
	latest     bool
	current    bool
	offset     string
	shift      string
	datetime   string
	duration   string
	fromFile   string
	toGroup    string
	outOfRange string
	ifNone     string
	ifExpired  string
	ifNoCommit string
	ifUnknown  string
	marker     string
}

// positionNames are the flags of which exactly one chooses the position.
func positionNames() []string {
	return []string{"to", "to-earliest", "to-latest", "to-current", "to-offset", "shift-by", "to-datetime", "by-duration", "from-file", "to-group"}
}

// Add adds Kafka's flags of positions, --to, and the policies.
func (p *PositionFlags) Add(f *pflag.FlagSet) {
	f.StringVar(&p.to, "to", "", "a position `WORD`: earliest, latest, current, 1234, start+N, end-N, current-N, @TIME, @-2h, @-1d/d, max-timestamp, current@TIME (what the group had committed then), group:G, group:G@TIME, file:F, checkpoint:DIR, store:URL, or orders:0=42,orders:1=@-2h")
	f.BoolVar(&p.earliest, "to-earliest", false, "the log start")
	f.BoolVar(&p.latest, "to-latest", false, "the log end")
	f.BoolVar(&p.current, "to-current", false, "the group's own commit")
	f.StringVar(&p.offset, "to-offset", "", "this `OFFSET`")
	f.StringVar(&p.shift, "shift-by", "", "the commit shifted by `N` offsets, either sign")
	f.StringVar(&p.datetime, "to-datetime", "", "the first record at or after a `TIME`: 2026-11-29T10:00:00Z, a date, or an epoch with its unit")
	f.StringVar(&p.duration, "by-duration", "", "the first record at or after a `DURATION` before now: 90m, 7d, P1DT2H")
	f.StringVar(&p.fromFile, "from-file", "", "the offsets in a `FILE`")
	f.StringVar(&p.toGroup, "to-group", "", "the commits of another `GROUP`")
	p.addPolicies(f)
}

// addPolicies adds what decides where a position has no plain answer.
func (p *PositionFlags) addPolicies(f *pflag.FlagSet) {
	f.StringVar(&p.outOfRange, "out-of-range", "fail", "an offset outside the log: `fail`, clamp or skip")
	f.StringVar(&p.ifNone, "if-none", "latest", "no record at or after a time: `latest`, earliest, skip or fail")
	f.StringVar(&p.ifExpired, "if-expired", "", "retention removed what was asked for: earliest or fail (default: earliest for a time, fail for a commit)")
	f.StringVar(&p.ifNoCommit, "if-no-commit", "fail", "no commit to start from: `fail`, skip, earliest or latest")
	f.StringVar(&p.ifUnknown, "if-unknown", "fail", "what a group had committed at a time is not known, as compaction removed it: `fail`, skip, oldest-commit, earliest or latest")
	f.StringVar(&p.marker, "marker", "fail", "a checkpoint that has a word instead of an offset, since the job had not read yet: `fail`, earliest, latest, committed or as-written")
}

// Completions completes the policies.
func (p *PositionFlags) Completions(cmd *cobra.Command) {
	for flag, words := range map[string][]string{
		"out-of-range": {"fail", "clamp", "skip"}, "if-none": {"latest", "earliest", "skip", "fail"},
		"if-expired": {"earliest", "fail"}, "if-no-commit": {"fail", "skip", "earliest", "latest"},
		"if-unknown": {"fail", "skip", "oldest-commit", "earliest", "latest"},
		"marker":     {"fail", "earliest", "latest", "committed", "as-written"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// Parse returns the position that the flags chose. chosen is false where none was given.
func (p *PositionFlags) Parse(cmd *cobra.Command, clock offset.Clock) (pos offset.Position, chosen bool, err error) {
	var given []string
	for _, n := range positionNames() {
		if f := cmd.Flags().Lookup(n); f != nil && f.Changed {
			given = append(given, "--"+n)
		}
	}
	switch len(given) {
	case 0:
		return pos, false, nil
	case 1:
	default:
		return pos, false, Usagef("give one of them", "%s choose the position more than once", strings.Join(given, " and "))
	}
	pos, err = p.position(given[0], clock)
	if err != nil {
		return pos, false, &Fault{Kind: offset.KindUsage, Err: fmt.Errorf("%s: %w", given[0], err), Hint: HintOf(err)}
	}
	return pos, true, nil
}

func (p *PositionFlags) position(flag string, clock offset.Clock) (offset.Position, error) {
	word := func(w string) (offset.Position, error) { return offset.ParsePosition(w, offset.RoleTarget, clock) }
	switch flag {
	case "--to":
		return word(p.to)
	case "--to-earliest":
		return word("earliest")
	case "--to-latest":
		return word("latest")
	case "--to-current":
		return word("current")
	case "--to-offset":
		return offset.ParseOffset(p.offset)
	case "--shift-by":
		return offset.ParseShift(p.shift)
	case "--to-datetime":
		at, err := offset.ParseTime(p.datetime, clock)
		if err != nil {
			if pos, e := word(p.datetime); e == nil && pos.Kind == offset.AtTime {
				err = &Fault{Kind: offset.KindUsage, Err: err, Hint: "write --to " + p.datetime}
			}
		}
		return offset.Position{Kind: offset.AtTime, At: at, Text: p.datetime}, err
	case "--by-duration":
		d, err := offset.ParseDuration(p.duration)
		if err != nil {
			return offset.Position{}, err
		}
		pos, err := word("@-" + d.String())
		pos.Text = p.duration + " ago"
		return pos, err
	case "--from-file":
		return offset.Position{Kind: offset.OfFile, Ref: p.fromFile, Text: p.fromFile}, nil
	}
	return offset.Position{Kind: offset.OfGroup, Ref: p.toGroup, Text: p.toGroup}, nil
}

// Rules reads the policy flags.
func (p *PositionFlags) Rules(iso offset.Isolation) (r offset.Rules, err error) {
	r.Isolation = iso
	if r.OutOfRange, err = offset.ParsePolicy("--out-of-range", p.outOfRange, offset.OutOfRangeFail, offset.OutOfRangeClamp, offset.OutOfRangeSkip); err != nil {
		return r, err
	}
	if r.IfNone, err = offset.ParsePolicy("--if-none", p.ifNone, offset.IfNoneLatest, offset.IfNoneEarliest, offset.IfNoneSkip, offset.IfNoneFail); err != nil {
		return r, err
	}
	if p.ifExpired != "" {
		if r.IfExpired, err = offset.ParsePolicy("--if-expired", p.ifExpired, offset.IfExpiredEarliest, offset.IfExpiredFail); err != nil {
			return r, err
		}
	}
	if r.IfUnknown, err = offset.ParsePolicy("--if-unknown", p.ifUnknown, offset.IfUnknownFail, offset.IfUnknownSkip, offset.IfUnknownOldest, offset.IfUnknownEarliest, offset.IfUnknownLatest); err != nil {
		return r, err
	}
	if r.Marked, err = offset.ParsePolicy("--marker", p.marker, offset.MarkedFail, offset.MarkedEarliest, offset.MarkedLatest, offset.MarkedCommitted, offset.MarkedAsWritten); err != nil {
		return r, err
	}
	r.IfNoCommit, err = offset.ParsePolicy("--if-no-commit", p.ifNoCommit, offset.IfNoCommitFail, offset.IfNoCommitSkip, offset.IfNoCommitEarliest, offset.IfNoCommitLatest)
	return r, err
}

// EchoInstants says which instants a position means, in UTC and in the zone of the output, before anything happens, and what looks
// odd about them.
func (a *App) EchoInstants(pos offset.Position) {
	said := map[string]bool{}
	say := func(p offset.Position) {
		if !p.HasInstant() || said[p.Text] {
			return
		}
		said[p.Text] = true
		line := fmt.Sprintf("%s is %s", p.Text, offset.FormatTime(p.At.Time))
		if p.Text == offset.FormatTime(p.At.Time) {
			line = "the time is " + p.Text
		}
		local := offset.FormatTimeIn(p.At.Time, a.Streams.Zone())
		if !p.At.ZoneAssumed && local != offset.FormatTime(p.At.Time) && !strings.Contains(p.Text, local) {
			line += " (" + local + ")"
		}
		if p.At.ZoneAssumed {
			line += " (no zone was given: " + p.At.Zone.String() + " is assumed, --tz changes it)"
		}
		a.Streams.Note("%s", line)
		if w := p.At.Warning(a.Now()); w != "" {
			a.Streams.Warn("%s", w)
		}
	}
	markers := func(p offset.Position) {
		if w := markerWarnings()[p.Text]; p.Kind == offset.FromCurrent && w != "" && !said[p.Text] {
			said[p.Text] = true
			a.Streams.Warn("%s", w)
		}
	}
	if pos.Kind == offset.ByPartition {
		for _, part := range slices.SortedFunc(maps.Keys(pos.Map), offset.Partition.Compare) {
			markers(pos.Map[part])
			say(pos.Map[part])
		}
		return
	}
	markers(pos)
	say(pos)
}

// markerWarnings are for numbers that other tools, and their maps of partitions, read as Kafka's markers.
func markerWarnings() map[string]string {
	return map[string]string{
		"-1": "-1 is one offset before each commit; for the log end, which other tools call -1, write latest",
		"-2": "-2 is two offsets before each commit; for the log start, which other tools call -2, write earliest",
	}
}
