package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/consume/sink"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/conn"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/migrate/store"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// Every kind has its status, and no two have the same.
func TestStatusOfEveryKind(t *testing.T) {
	seen := map[int]offset.ErrorKind{}
	for _, k := range offset.ErrorKinds() {
		code, ok := statuses()[k]
		if !ok {
			t.Errorf("kind %d has no exit status", k)
		}
		if other, twice := seen[code]; twice {
			t.Errorf("kinds %d and %d both exit with %d", k, other, code)
		}
		seen[code] = k
	}
}

// What a command returns becomes its status, however deep the error of a package lies in it.
func TestStatusOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("something"), 1},
		{&offset.SyntaxError{Problem: "p"}, 2},
		{&config.Error{Text: "t", Err: &offset.Refusal{}}, 2},
		{&render.FormatError{}, 2},
		{&migrate.ConflictError{}, 2},
		{cli.Usagef("", "no group"), 2},
		{&offset.Refusal{}, 3},
		{&offset.OriginError{}, 3},
		{&reset.DriftError{}, 3},
		{&reset.JournalError{Err: errors.New("full")}, 3},
		{reset.ErrBecameActive, 3},
		{&sink.DirError{}, 3},
		{&migrate.LiveError{}, 3},
		{&store.ClusterError{}, 3},
		{&consume.Error{Kind: consume.Refused}, 3},
		{cli.Quietly(offset.KindPartial), 4},
		{&reset.NotFoundError{What: "group", Name: "g"}, 5},
		{&reset.GroupError{Group: "g", Err: reset.ErrNothingInScope}, 5},
		{&migrate.HiddenError{}, 5},
		{&store.MissingError{What: "file x"}, 5},
		{&conn.Error{Kind: conn.Timeout, Err: context.DeadlineExceeded}, 6},
		{context.DeadlineExceeded, 6},
		{fmt.Errorf("orders:1: %w", kerr.LeaderNotAvailable), 6},
		{&reset.GroupError{Group: "g", Err: kerr.CoordinatorNotAvailable}, 6},
		{&conn.Error{Kind: conn.Authentication, Err: errors.New("no")}, 7},
		{kerr.GroupAuthorizationFailed, 7},
		{&offset.Refusal{Err: kerr.TopicAuthorizationFailed}, 7},
		{&consume.Error{Kind: consume.Failed, Err: &conn.Error{Kind: conn.Unreachable, Err: errors.New("gone")}}, 6},
		{&checkpointfile.FileError{Problem: "damaged"}, 1},
		{cli.Faultf(offset.KindCheck, "", "did not hold"), 8},
	} {
		for _, err := range []error{c.err, fmt.Errorf("inside: %w", c.err)} {
			if c.err == nil {
				err = nil
			}
			kind, _ := cli.Classify(err)
			if got := statuses()[kind]; got != c.want {
				t.Errorf("%T %v exits with %d, want %d", c.err, c.err, got, c.want)
			}
		}
	}
}

// Every setting that a package may name in a hint is spelled by a flag that some command has, or by a command.
func TestSpellingOfEverySetting(t *testing.T) {
	flags, commands := map[string]bool{}, map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		commands[c.CommandPath()] = true
		c.Flags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(cli.App{}))
	for _, s := range offset.Settings() {
		spelled := spellings()[s]
		command := strings.Join(strings.Fields(spelled + " ? ?")[:2], " ")
		if !flags[spelled] && !commands[command] {
			t.Errorf("setting %s is spelled %q, which is no flag and no command", s, spelled)
		}
	}
	if got := spellHint("add {{if-expired earliest}}, or {{move-group}}"); got != "add --if-expired earliest, or koffset reset GROUP --to POSITION" {
		t.Errorf("a hint is spelled %q", got)
	}
}
