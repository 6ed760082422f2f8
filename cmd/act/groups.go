package act

// Groups that are deleted as a whole: how they are shown, and what became of them.

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// removes says that groups are deleted as a whole.
func (w *Run) removes() bool {
	for _, g := range w.Built.Plan.Groups {
		if g.Delete {
			return true
		}
	}
	return false
}

// groupRows are the groups that the plan deletes: before it is executed as planned, then with what became of them.
func (w *Run) groupRows(res *reset.Result) []reset.GroupRow {
	if res != nil {
		return res.Groups
	}
	var out []reset.GroupRow
	for _, g := range w.Built.Plan.Groups {
		if g.Delete {
			out = append(out, reset.GroupRow{Name: g.Name, Outcome: reset.OutcomePlanned})
		}
	}
	return out
}

func groupCells(g reset.GroupRow) (result, failure render.Cell) {
	result, failure = render.String(string(g.Outcome)), render.None()
	if g.Bad() && g.Outcome != reset.OutcomePlanned {
		result = result.Styled(render.Bad)
	}
	if g.Err != nil {
		failure = render.String(groupText(g.Err))
	}
	return result, failure
}

// groupField is JSON's list of the groups that are deleted.
func (w *Run) groupField(res *reset.Result) render.Field {
	var out []render.Cell
	for _, g := range w.groupRows(res) {
		result, failure := groupCells(g)
		out = append(out, render.Object(render.F("group", render.String(g.Name)), render.F("action", render.String("delete")),
			render.F("result", result), render.F("error", failure)))
	}
	return render.F("groups", render.List(out...))
}

// groupTable shows in a table what its rows cannot: groups that store nothing, and with a result those that are not gone.
func (w *Run) groupTable(doc *render.Writer, res *reset.Result) {
	if !w.Flags.Format.IsTable() {
		return
	}
	stores := map[string]bool{}
	for _, c := range w.Built.Plan.Changes {
		stores[c.Group] = true
	}
	var show []reset.GroupRow
	for _, g := range w.groupRows(res) {
		if res == nil && !stores[g.Name] || res != nil && g.Bad() {
			show = append(show, g)
		}
	}
	if len(show) == 0 {
		return
	}
	sheet := render.Sheet{Name: "groups", Row: "group", Title: "Groups that are deleted and store nothing:", Columns: []render.Column{
		{Header: "GROUP", Key: "group"}, {Header: "ACTION", Key: "action"},
		{Header: "RESULT", Key: "result", NoTable: res == nil}, {Header: "ERROR", Key: "error", HideEmpty: true, NoTable: res == nil}}}
	if res != nil {
		sheet.Title = "Groups that are not deleted, or not known to be:"
	}
	doc.Begin(sheet)
	for _, g := range show {
		result, failure := groupCells(g)
		doc.Row(render.Name(g.Name), render.String("delete"), result, failure)
	}
}

// badGroups are the groups that were to be deleted and were not, or are not known to have been.
func badGroups(res *reset.Result) []reset.GroupRow {
	var out []reset.GroupRow
	for _, g := range res.Groups {
		if g.Bad() {
			out = append(out, g)
		}
	}
	return out
}

// failGroups says why groups were not deleted; the refused ones were named with the groups that did not fit.
func (w *Run) failGroups(res *reset.Result) {
	for _, g := range badGroups(res) {
		if g.Outcome == reset.OutcomeRefused {
			continue
		}
		w.App.Streams.Fail(render.Failure{Err: fmt.Errorf("%s %s: %s: %w", w.Built.Plan.Verb, g.Name, g.Outcome, g.Err),
			Kind: kindOf([]*reset.GroupError{{Group: g.Name, Err: g.Err}}), Hint: cli.HintOf(g.Err)})
	}
}

// deleted says which groups are gone and which are not.
func deleted(groups []reset.GroupRow) string {
	by := map[reset.Outcome][]string{}
	for _, g := range groups {
		by[g.Outcome] = append(by[g.Outcome], g.Name)
	}
	var parts []string
	for _, o := range []struct {
		outcome reset.Outcome
		text    string
	}{{reset.OutcomeDeleted, "deleted"}, {reset.OutcomeUnchanged, "not there any more"}, {reset.OutcomeLeft, "left"},
		{reset.OutcomeRefused, "not deleted (refused)"}, {reset.OutcomeFailed, "not deleted (failed)"},
		{reset.OutcomeDiffers, "still there"}, {reset.OutcomeUnverified, "deleted, and not read back"}, {reset.OutcomeUnknown, "not known to be deleted"}} {
		if names := by[o.outcome]; len(names) > 0 {
			parts = append(parts, o.text+": "+listed(names))
		}
	}
	return strings.Join(parts, "; ")
}

// listed names a few and counts the rest.
func listed(names []string) string { return text.Some(offset.NameTexts(names), 10) }

// asRows are group outcomes as rows, for what judges both alike.
func asRows(groups []reset.GroupRow) []reset.Row {
	out := make([]reset.Row, len(groups))
	for i, g := range groups {
		out[i] = reset.Row{Change: reset.Change{Group: g.Name}, Outcome: g.Outcome, Err: g.Err}
	}
	return out
}
