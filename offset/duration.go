package offset

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	isoForm  = regexp.MustCompile(`^P(?:(\d+(?:[.,]\d+)?)W)?(?:(\d+(?:[.,]\d+)?)D)?(?:T(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)
	dayForm  = regexp.MustCompile(`^(?:(\d+)w)?(?:(\d+)d)?(.*)$`)
	bareForm = regexp.MustCompile(`^[0-9.]+$`)
)

const durationForms = "write 90m, 2h30m, 7d or P1DT2H"

// ParseDuration reads a length of time: Go's form (90m, 1h30m, 500ms), with days and weeks before it (7d, 1d12h, 2w), or
// ISO 8601 (P1DT2H, PT0.1S). A day is 24 hours. It is never negative; years and months have no fixed length and are
// refused; so is a bare number, which peers read as seconds or as milliseconds. The error is a *SyntaxError.
func ParseDuration(s string) (time.Duration, error) {
	bad := func(why string) error { return syntaxf(s, durationForms, "%q is not a length of time: %s", s, why) }
	switch {
	case s == "":
		return 0, bad("it is empty")
	case strings.HasPrefix(s, "-"):
		return 0, bad("it is negative")
	case s == "0":
		return 0, nil
	case bareForm.MatchString(s):
		return 0, bad("it has no unit")
	}
	if s[0] == 'P' || s[0] == 'p' {
		return parseISO(strings.ToUpper(s), bad)
	}
	m := dayForm.FindStringSubmatch(s)
	var total float64
	for i, per := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] != "" {
			n, _ := strconv.ParseFloat(m[i+1], 64)
			total += n * float64(per)
		}
	}
	if m[3] != "" {
		d, err := time.ParseDuration(m[3])
		if err != nil || d < 0 {
			return 0, bad("unknown unit or number")
		}
		total += float64(d)
		if m[1] == "" && m[2] == "" {
			return d, nil
		}
	}
	if total > math.MaxInt64/2 {
		return 0, bad("it is too long")
	}
	return time.Duration(total), nil
}

func parseISO(s string, bad func(string) error) (time.Duration, error) {
	m := isoForm.FindStringSubmatch(s)
	if m == nil || s == "P" || strings.HasSuffix(s, "T") {
		if strings.ContainsAny(strings.SplitN(s, "T", 2)[0], "YM") {
			return 0, bad("years and months have no fixed length")
		}
		return 0, bad("it is not ISO 8601")
	}
	var total float64
	for i, per := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(strings.Replace(m[i+1], ",", ".", 1), 64)
		if err != nil {
			return 0, bad("it is too long")
		}
		total += n * float64(per)
	}
	if total > math.MaxInt64/2 {
		return 0, bad("it is too long")
	}
	return time.Duration(math.Round(total)), nil
}

// FormatDuration is short and readable: 1d4h, 3h20m, 45s, 120ms. Only the two largest units are kept.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + FormatDuration(-d)
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	units := []struct {
		name string
		per  time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.per {
			continue
		}
		out := strconv.FormatInt(int64(d/u.per), 10) + u.name
		if rest := d % u.per; i+1 < len(units) && rest >= units[i+1].per {
			out += strconv.FormatInt(int64(rest/units[i+1].per), 10) + units[i+1].name
		}
		return out
	}
	return "0s"
}
