package inspect

import (
	"fmt"
	"math"

	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// Why is the verdict in one short sentence with its numbers; empty for ok.
func (d Diagnosis) Why() string {
	dur := offset.FormatDuration
	switch d.Health {
	case HealthCatchingUp:
		if d.HasETA {
			return fmt.Sprintf("%s behind, %s/s in, %s/s out: at the end in %s", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out), dur(d.ETA))
		}
		return fmt.Sprintf("%s behind, %s/s in, %s/s out", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out))
	case HealthFallingBehind:
		return fmt.Sprintf("%s behind, %s/s in, only %s/s out", text.Count(d.Lag), FormatRate(d.In), FormatRate(d.Out))
	case HealthStalled:
		return fmt.Sprintf("no commit for %s (%s is allowed) while records arrive, %s behind", dur(d.Still), dur(d.Threshold), text.Count(d.Lag))
	case HealthStopped:
		if d.readers == ReadersNone {
			return fmt.Sprintf("the group has no members, %s behind", text.Count(d.Lag))
		}
		return fmt.Sprintf("no commit for %s (%s is allowed), %s behind", dur(d.Still), dur(d.Threshold), text.Count(d.Lag))
	case HealthRewound:
		return fmt.Sprintf("the commit went back, and is %s below where it was", text.Count(d.back))
	case HealthTwoCommitters:
		return fmt.Sprintf("the commit went back and forth %d times: two readers commit for this group", d.drops)
	case HealthAboutToExpire:
		return fmt.Sprintf("retention reaches the commit in %s, %s behind", dur(d.Expires), text.Count(d.Lag))
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
		return "it could not be read"
	}
	return ""
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
