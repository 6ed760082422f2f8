package act

// A plan in one sentence.

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
	"github.com/koffset/koffset/reset"
)

// amount is a sum of the plan, none where a row of it could not be counted.
func amount(s reset.Summary, n int64) render.Cell {
	if s.Uncounted > 0 {
		return render.None()
	}
	return render.Int(n)
}

// summary says a plan in one sentence.
func (w *Run) summary(s reset.Summary) string {
	out := w.subject(s)
	if w.Effect == "" {
		out += without(s)
	}
	for _, rest := range []struct {
		n    int
		text string
	}{{s.Unchanged, "as requested already"}, {s.Left, "left alone"}, {s.Refused, "refused"}} {
		if rest.n > 0 {
			out += fmt.Sprintf("; %s %s", text.Count(rest.n), rest.text)
		}
	}
	return out
}

// question asks for the consent to execute the plan: which groups, where, and what it costs.
func (w *Run) question(s reset.Summary) string {
	groups := w.groupNames()
	who := text.Plural(len(groups), "group")
	if len(groups) == 1 {
		who = "group " + offset.NameText(groups[0])
	}
	var costs []string
	verb := "Move"
	switch {
	case w.keeps():
		verb = "Keep the offsets of"
		costs = append(costs, text.Plural(s.Changed, "commit"))
	case w.removes():
		verb = "Delete"
		costs = append(costs, "with "+text.Plural(s.Deleted, "commit"))
	case s.Deleted == s.Changed:
		verb = "Delete " + text.Plural(s.Deleted, "commit") + " of"
	default:
		costs = append(costs, text.Plural(s.Changed, "partition"))
		if s.Deleted > 0 {
			costs = append(costs, "deletes "+text.Plural(s.Deleted, "commit"))
		}
	}
	if w.Effect != "" {
		costs = append(costs, w.Effect)
	} else {
		if s.Rereads > 0 {
			costs = append(costs, "re-reads up to "+text.Plural(s.Rereads, "record"))
		}
		if s.Skips > 0 {
			costs = append(costs, "skips up to "+text.Plural(s.Skips, "record"))
		}
		if rest := strings.TrimPrefix(without(s), "; "); rest != "" {
			costs = append(costs, rest)
		}
	}
	if len(costs) == 0 {
		return fmt.Sprintf("%s %s on %s?", verb, who, w.S.Cluster.ID)
	}
	return fmt.Sprintf("%s %s on %s (%s)?", verb, who, w.S.Cluster.ID, strings.Join(costs, ", "))
}

// keeps says that the plan stores again what is there.
func (w *Run) keeps() bool { return w.Built.Plan.Verb == reset.VerbKeep }

// subject says what happens to which groups.
func (w *Run) subject(s reset.Summary) string {
	groups := len(w.Built.Plan.Groups)
	one, are := text.Plural(groups, "group"), "are"
	if groups == 1 {
		are = "is"
		one = "group " + offset.NameText(w.Built.Plan.Groups[0].Name)
		if w.Built.Plan.Groups[0].Create {
			one = "the new " + one
		}
	}
	switch {
	case w.removes() && w.Built.Plan.Groups[0].Hidden != "":
		return fmt.Sprintf("%s of %s %s deleted, and the group itself is left", text.Plural(s.Deleted, "commit"), one, map[bool]string{true: "is", false: "are"}[s.Deleted == 1])
	case w.removes():
		return fmt.Sprintf("%s %s deleted with %s", one, are, text.Plural(s.Deleted, "commit"))
	case s.Changed == 0:
		return fmt.Sprintf("no partition of %s changes", one)
	case s.Deleted == 1 && s.Changed == 1:
		return fmt.Sprintf("1 commit of %s is deleted", one)
	case s.Deleted == s.Changed:
		return fmt.Sprintf("%s of %s are deleted", text.Plural(s.Deleted, "commit"), one)
	}
	if w.keeps() {
		is, they := "are", "they are"
		if s.Changed == 1 {
			is, they = "is", "it is"
		}
		return fmt.Sprintf("%s of %s %s stored again as %s: %s", text.Plural(s.Changed, "commit"), one, is, they, w.Effect)
	}
	verb := "changes"
	if s.Changed != 1 {
		verb = "change"
	}
	out := fmt.Sprintf("%s of %s %s", text.Plural(s.Changed, "partition"), one, verb)
	if e := cmp.Or(w.Effect, effect(s)); e != "" {
		out += ": " + e
	}
	if s.Deleted > 0 {
		out += fmt.Sprintf("; %s deleted", text.Plural(s.Deleted, "commit"))
	}
	return out
}

// effect says what a reader of the group will notice, as far as its commits tell.
func effect(s reset.Summary) string {
	parts := amounts(s.Rereads, s.Skips)
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case s.NoCommit > 0:
		return "" // what is not known of those is no reason to say that nothing happens
	}
	return "no record is read again or skipped"
}

// amounts says how much is read again and skipped.
func amounts(rereads, skips int64) []string {
	var parts []string
	for _, e := range []struct {
		n    int64
		what string
	}{{rereads, "read again"}, {skips, "skipped"}} {
		switch {
		case e.n == 1:
			parts = append(parts, "at most 1 record is "+e.what)
		case e.n > 1:
			parts = append(parts, fmt.Sprintf("at most %s records are %s", text.Count(e.n), e.what))
		}
	}
	return parts
}

// without says what rows can come to that had no commit, or lose it: their reader's own auto.offset.reset decides.
func without(s reset.Summary) string {
	if s.NoCommit == 0 {
		return ""
	}
	who := ""
	if n := s.NoCommit - s.Deleted; n > 0 {
		who = text.Plural(n, "partition") + " had no commit: "
	}
	if s.Uncounted > 0 {
		return fmt.Sprintf("; %swhat is skipped or re-read on %s is unknown", who, text.Plural(s.Uncounted, "partition"))
	}
	parts := amounts(s.MaxRereads-s.Rereads, s.MaxSkips-s.Skips)
	if len(parts) == 0 {
		return "; " + who + "nothing is there to skip or to read again"
	}
	return fmt.Sprintf("; %sdepending on auto.offset.reset, %s", who, strings.Join(parts, " or "))
}
