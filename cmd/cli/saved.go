package cli

// Offsets that lie somewhere else, as positions name them: another group, a file, a checkpoint, a store. What they are and
// where they come from is read here; whether they may be used is the rule of offset.Origin, which the domain packages apply.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// OriginFlag is --allow-origin.
type OriginFlag struct {
	word  string
	Allow offset.AllowOrigin
}

// Add adds the flag and its completion.
func (o *OriginFlag) Add(c *cobra.Command, f *pflag.FlagSet) {
	f.StringVar(&o.word, "allow-origin", "", "take offsets as they are although their `ORIGIN` is refused: other-cluster, other-topic, provisional; several with commas")
	_ = c.RegisterFlagCompletionFunc("allow-origin", cobra.FixedCompletions(offset.Allowable(), cobra.ShellCompDirectiveNoFileComp))
}

// Parse reads the flag.
func (o *OriginFlag) Parse() (err error) {
	if o.Allow, err = offset.ParseAllowOrigin(o.word); err != nil {
		return FlagFault("--allow-origin", err)
	}
	return nil
}

// SayOrigin says what is not known about where offsets come from, or was allowed.
func (a *App) SayOrigin(said []offset.Finding) {
	for _, f := range said {
		a.Streams.Warn("%s", f.Text)
	}
}

// originHint is the next step after offsets were refused.
func originHint(e *offset.OriginError) string {
	switch {
	case e.Has(offset.OtherCluster):
		return "koffset migrate export there and koffset migrate import here find the same records; --allow-origin other-cluster takes the numbers as they are; nothing was changed"
	case e.Has(offset.OtherTopic):
		return "choose a time or a word, such as @-2h or earliest; --allow-origin other-topic takes the numbers as they are; nothing was changed"
	default:
		return "wait until the transaction ends; --allow-origin provisional takes what was committed before it; nothing was changed"
	}
}

// LoadSaved reads what a position names; nil where it names nothing. flags choose the source of a checkpoint, and groups are
// those whose own past a position may name.
func (s *Session) LoadSaved(ctx context.Context, pos offset.Position, flags *SnapshotFlags, groups ...string) (*offset.SavedBy, error) {
	switch pos.Kind {
	case offset.CurrentAt:
		past, err := s.pastOf(ctx, pos, groups)
		return &offset.SavedBy{Groups: past}, err
	case offset.OfGroupAt:
		past, err := s.pastOf(ctx, pos, []string{pos.Ref})
		if err != nil {
			return nil, err
		}
		one := past[pos.Ref]
		return &offset.SavedBy{Any: &one}, nil
	case offset.OfGroup:
		return s.savedOfGroup(ctx, pos)
	case offset.OfFile:
		return s.App.SavedInFile(pos.Ref)
	case offset.OfCheckpoint:
		found, err := s.App.PositionsOf(pos.Ref, flags)
		if err != nil {
			return nil, err
		}
		return &offset.SavedBy{Any: &found}, nil
	case offset.OfStore:
		return s.App.SavedInStore(ctx, pos.Ref, nil)
	case offset.ByPartition:
		for p, one := range pos.Map {
			if one.Needs().Foreign {
				return nil, Usagef("give "+one.String()+" for all partitions, with --topic for some", "%s=%s: a map takes offsets, words and times", p, one)
			}
		}
	}
	return nil, nil
}

func (s *Session) savedOfGroup(ctx context.Context, pos offset.Position) (*offset.SavedBy, error) {
	c, err := inspect.ReadCommitsOf(ctx, s.Client, pos.Ref)
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", pos.Ref, err)
	}
	saved := c.Saved(s.Cluster.ID, s.App.Now())
	if len(saved.Offsets) == 0 {
		return nil, Faultf(offset.KindNotFound, "koffset inspect "+pos.Ref, "group %q has no commits to take", pos.Ref)
	}
	return &offset.SavedBy{Any: &saved}, nil
}

// SavedInFile reads Kafka's CSV, rpk's text, kcl's JSON, an export of koffset's, or a plan: the offsets that it would store.
func (a *App) SavedInFile(name string) (*offset.SavedBy, error) {
	data, err := a.ReadFile(name)
	if err != nil {
		return nil, Usagef("", "%w", err)
	}
	by, incomplete, err := migrate.ReadSaved(name, "", data)
	if err != nil {
		return nil, FileFault(err)
	}
	if incomplete {
		a.Streams.Warn("%s is incomplete: something could not be read when it was exported", name)
	}
	return by, nil
}

// PickSaved chooses the offsets of one group: the named one's, those for any group, or those of the only group there is.
func (a *App) PickSaved(by *offset.SavedBy, pos offset.Position, group string, named bool) (*offset.Saved, error) {
	if by == nil {
		return nil, nil
	}
	if one, ok := by.For(group); ok && (named || by.Any != nil) {
		return &one, nil
	}
	names := by.Names()
	one, ok := by.One()
	if !ok {
		names = offset.NameTexts(names)
		if !named {
			return nil, Usagef("choose one with --group", "%s has offsets of %s: %s", pos, text.Plural(len(names), "group"), text.Some(names, 5))
		}
		return nil, Usagef("choose one with --group", "%s has offsets of %s, and none of them is %s: %s", pos, text.Plural(len(names), "group"), offset.NameText(group), text.Some(names, 5))
	}
	if named {
		a.Streams.Note("%s has offsets of group %s only: they are taken", pos, offset.NameText(names[0]))
	}
	return &one, nil
}
