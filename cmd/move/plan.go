package move

// How a command makes a plan of groups and carries it out.

import (
	"context"

	"github.com/koffset/koffset/cmd/act"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/reset"
)

// carriedOut is the run of a command whose plan is made by prepare.
func carriedOut(f *act.Flags, scope *scopeFlags, verb string, prepare func(context.Context, *cli.Session) (*act.Run, error)) func(context.Context, *cli.Session) error {
	return func(ctx context.Context, s *cli.Session) error {
		w, err := prepare(ctx, s)
		if err != nil {
			return f.NotPlanned(s.App, s, verb, scope.names, err)
		}
		return w.Do(ctx)
	}
}

// chooseFor chooses the groups of a request. known are the names of those that there are.
func (f *scopeFlags) chooseFor(ctx context.Context, s *cli.Session, req *reset.Request) (known []string, err error) {
	ctx, cancel := s.Phase(ctx, "read the groups")
	defer cancel()
	in, err := f.choose(ctx, s)
	req.Groups, req.Patterned = in.chosen, in.patterned
	return in.known, cli.Cause(ctx, err)
}

func makePlan(ctx context.Context, s *cli.Session, req *reset.Request) (*reset.Built, error) {
	ctx, cancel := s.Phase(ctx, "make the plan")
	defer cancel()
	built, err := reset.Prepare(ctx, s.Client, req)
	return built, cli.Cause(ctx, err)
}
