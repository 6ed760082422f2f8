package carry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/inspect"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

// chosenGroups are the groups of a cluster that arguments and flags name, all of them. Without share, share groups are left out.
func chosenGroups(ctx context.Context, s *cli.Session, g *cli.GroupFlags, args []string, share bool) ([]inspect.Group, error) {
	groups, lost, err := knownGroups(ctx, s, g, args)
	if err == nil && !share {
		groups, err = withoutShare(s, groups, len(g.Match) == 0 && !g.All)
	}
	if err == nil {
		err = errors.Join(lost...)
	}
	return groups, err
}

// knownGroups are those of the chosen groups that are known. lost says what is not: a broker that did not list its groups, where a
// pattern chooses, and named groups whose coordinator does not answer.
func knownGroups(ctx context.Context, s *cli.Session, g *cli.GroupFlags, args []string) (groups []inspect.Group, lost []error, err error) {
	names, m, err := g.Resolve(args)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 && len(g.Match) == 0 && !g.All {
		return nil, nil, cli.Usagef("name groups, or use --group-match REGEX or --all-groups", "which groups? none was given")
	}
	listed, missing, err := s.Cluster.ListGroups(ctx, s.Client)
	if err != nil {
		return nil, nil, cli.Cause(ctx, err)
	}
	if len(missing) > 0 && (g.All || len(g.Match) > 0) {
		lost = append(lost, fmt.Errorf("the list of groups is not complete: %w", errors.Join(missing...)))
	}
	var out []inspect.Group
	have := map[string]bool{}
	var known []string
	for _, x := range listed {
		known = append(known, x.Name)
		have[x.Name] = true
		if m.Match(x.Name) {
			out = append(out, x)
		}
	}
	unlisted, failed, err := unlistedGroups(ctx, s, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return have[n] }), known, len(missing) > 0)
	if err != nil {
		return nil, nil, err
	}
	lost = append(lost, failed...)
	out = append(out, unlisted...)
	if len(out) == 0 && len(lost) > 0 {
		return nil, nil, errors.Join(lost...)
	}
	if len(out) == 0 {
		return nil, nil, cli.NoGroupMatches(len(listed))
	}
	return out, lost, nil
}

// withoutShare leaves share groups out, which cannot be kept in step: where only the start offset tells what somebody else has read
// meanwhile, it tells too little. Where groups are named, one of them is an error.
func withoutShare(s *cli.Session, groups []inspect.Group, named bool) ([]inspect.Group, error) {
	var out []inspect.Group
	var share []string
	for _, g := range groups {
		if g.Type == inspect.TypeShare {
			share = append(share, offset.NameText(g.Name))
			continue
		}
		out = append(out, g)
	}
	if len(share) > 0 && (named || len(out) == 0) {
		return nil, cli.Faultf(offset.KindRefused, "koffset migrate export and import carry its start offsets, once", "%s is a share group, which cannot be kept in step", share[0])
	}
	if len(share) > 0 {
		s.App.Streams.Note("%s left out, since they cannot be kept in step: %s", text.Plural(len(share), "share group"), strings.Join(share, ", "))
	}
	return out, nil
}

// unlistedGroups asks for named groups that the list lacks: it lacks those of a coordinator that is away, and those that may
// not be described. What cannot be answered is not the same as a group that is not there. incomplete says that a broker did
// not list its groups.
func unlistedGroups(ctx context.Context, s *cli.Session, names, known []string, incomplete bool) (out []inspect.Group, failed []error, err error) {
	var ask []inspect.Group
	for _, n := range names {
		ask = append(ask, inspect.Group{Name: n})
	}
	described := inspect.Describe(ctx, s.Client, ask)
	for _, g := range ask {
		d := described[g.Name]
		switch {
		case d.Err != nil:
			failed = append(failed, fmt.Errorf("group %q: %w", g.Name, d.Err))
		case d.NotFound && incomplete:
			failed = append(failed, fmt.Errorf("group %q: whether it exists is not known: not every broker listed its groups", g.Name))
		case d.NotFound:
			return nil, nil, cli.Faultf(offset.KindNotFound, s.GroupHint(ctx, "", g.Name, known), "group %q does not exist", g.Name)
		default:
			g = d.Group
			out = append(out, g)
		}
	}
	return out, failed, nil
}

// migrateFault gives errors of package migrate their exit status and next step.
func migrateFault(err error) error {
	var live *migrate.LiveError
	var hidden *migrate.HiddenError
	var conflict *migrate.ConflictError
	switch {
	case errors.As(err, &live):
		return &cli.Fault{Kind: offset.KindRefused, Err: err, Hint: "stop them, or leave out --require-idle; nothing was exported"}
	case errors.As(err, &hidden):
		return &cli.Fault{Kind: offset.KindNotFound, Err: err, Hint: "the user needs DESCRIBE on the topic to see commits on it; nothing was exported"}
	case errors.As(err, &conflict):
		return &cli.Fault{Kind: offset.KindUsage, Err: err, Hint: "change --map or --map-group"}
	}
	return err
}

// partly says that an error is only an exit status: the file is whole.
func partly(err error) bool {
	var f *cli.Fault
	return errors.As(err, &f) && f.Quiet
}
