package inspect

import (
	"fmt"
	"math"
	"time"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Why is the leading verdict in one short sentence with its numbers, and the names of the others; empty for ok.
func (d Diagnosis) Why() string {
	why := d.why(d.Health)
	for h := range d.Verdicts.All() {
		switch {
		case h == d.Health || h == HealthOK:
		case h == HealthAboutToExpire: // a deadline changes what to do first
			why += "; " + d.why(h)
		default:
			why += "; " + string(h)
		}
	}
	for _, more := range []string{d.unstable(), d.held()} {
		switch {
		case why == "":
			why = more
		case more != "":
			why += "; " + more
		}
	}
	return why
}

// unstable says that the commit that all else rests on may be another one soon.
func (d Diagnosis) unstable() string {
	switch {
	case !d.Unstable:
		return ""
	case d.pending:
		return "an open transaction holds its first commit"
	}
	return "an open transaction holds a newer commit"
}

// held says what an open transaction holds back, where that is in no lag or explains why nothing moves.
func (d Diagnosis) held() string {
	switch {
	case d.inNoLag:
		return heldText(d.Held)
	case d.waits && (d.Verdicts.Has(HealthStalled) || d.Verdicts.Has(HealthNeverLive)):
		return "an open transaction is next: a read_committed reader waits for its end"
	}
	return ""
}

func heldText(n int64) string {
	return text.More(n, "offset") + " held back by an open transaction"
}

func (d Diagnosis) why(h Health) string {
	dur := offset.FormatDuration
	switch h {
	case HealthCatchingUp:
		if d.HasETA {
			return fmt.Sprintf("%s behind, %s/s in, %s/s out: at the end in %s", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out), dur(d.ETA))
		}
		return fmt.Sprintf("%s behind, %s/s in, %s/s out", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out))
	case HealthFallingBehind:
		return fmt.Sprintf("%s behind, %s/s in, only %s/s out", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out))
	case HealthBehind:
		return d.behind()
	case HealthStalled:
		return fmt.Sprintf("no commit for %s (%s is allowed), offset %d is next, %s", dur(d.Still), dur(d.Threshold), d.at, d.behind())
	case HealthNeverLive:
		return fmt.Sprintf("no commit for %s, %s; the group commits without members, so whether its reader runs cannot be seen", dur(d.Still), d.behind())
	case HealthStopped:
		return d.stopped()
	case HealthNeverCommitted:
		if d.share {
			return fmt.Sprintf("a member holds it and has not finished a record yet: where it began is not known, up to %s records wait", text.Count(d.distance))
		}
		if d.Readers == ReadersSome {
			return fmt.Sprintf("a member holds it and has not committed yet, up to %s records from offset %d on", text.Count(d.distance), d.at)
		}
		return fmt.Sprintf("the group commits to the topic, but not here: up to %s records from offset %d on", text.Count(d.distance), d.at)
	case HealthRewound:
		return fmt.Sprintf("the commit went back, and is %s below where it was", text.Count(d.back))
	case HealthTwoCommitters:
		return fmt.Sprintf("the commit went back and forth %d times: two readers commit for this group", d.drops)
	case HealthAboutToExpire:
		return d.expires() + ", " + text.Count(d.Lag) + " behind"
	case HealthIdle:
		return "the group has no members, and nothing waits"
	case HealthIdleLong:
		return fmt.Sprintf("no commit for %s and no members: Kafka will drop the group's offsets", dur(d.idle))
	case HealthBelowLogStart:
		return fmt.Sprintf("the log starts %s after the commit", text.Count(d.distance))
	case HealthPastLogEnd:
		return fmt.Sprintf("the commit is %s past the log end", text.Count(d.distance))
	case HealthNoCommit:
		return "nothing is committed"
	case HealthInvalidCommit:
		return "a negative number is committed"
	case HealthUnknown:
		if d.pending {
			return "what is committed is not known"
		}
		return "it could not be read"
	}
	return ""
}

// expires says when retention reaches the commit, at the earliest. Once it may, only the broker's next look decides when.
func (d Diagnosis) expires() string {
	if d.Expires < time.Millisecond {
		return "the next record can expire at any moment"
	}
	return "retention reaches the commit in " + offset.FormatDuration(d.Expires)
}

// stopped says that nobody reads, and for how long, as far as that was seen.
func (d Diagnosis) stopped() string {
	text := "no member reads it, " + d.behind()
	if d.Still >= time.Second {
		text += "; no commit for at least " + offset.FormatDuration(d.Still)
	}
	return text
}

// behind is the lag with the age of the next record.
func (d Diagnosis) behind() string {
	text := text.Count(d.Lag) + " behind"
	switch t := d.LagTime; {
	case !t.Known:
		return text + ", age unknown"
	case t.D == 0:
		return text
	case t.Basis == LagAtLeast:
		return text + ", next record at least " + offset.FormatDuration(t.D) + " old"
	default:
		return text + ", next record " + offset.FormatDuration(t.D) + " old"
	}
}

// FormatRate is a rate in records a second with two or three digits: 0.4, 12, 3400.
func FormatRate(r float64) string {
	switch a := math.Abs(r); {
	case a == 0:
		return "0"
	case a < 0.05:
		return "<0.1"
	case a < 10:
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.0f", r)
}
