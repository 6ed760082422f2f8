package consumeconf

// Reading single values.

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/consume"
	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/text"
	"github.com/koffset/koffset/offset"
)

// reader reads values of a Resolved and keeps the first error.
type reader struct {
	r   *Resolved
	err error
}

func (x *reader) fail(v Value, hint, format string, args ...any) {
	x.failErr(v, hint, fmt.Errorf(format, args...))
}

// failErr fails with what somebody else says about the value.
func (x *reader) failErr(v Value, hint string, err error) {
	if x.err == nil {
		x.err = &config.Error{Where: v.Source.String(), Text: v.Key, Hint: hint, Err: err}
	}
}

func (x *reader) word(key string) string {
	v := x.r.Get(key)
	if v.Text == "" {
		return ""
	}
	words := Words(key)
	for _, w := range words {
		if strings.EqualFold(v.Text, w) || strings.EqualFold(strings.ReplaceAll(v.Text, "-", "_"), w) {
			return w
		}
	}
	hint := "use " + strings.Join(words, ", ")
	if n := text.Near(v.Text, words); len(n) > 0 {
		hint = "did you mean " + n[0] + "?"
	}
	x.fail(v, hint, "%q is not one of its values", v.Text)
	return ""
}

func (x *reader) flag(key string) bool {
	v := x.r.Get(key)
	switch strings.ToLower(v.Text) {
	case "", "false":
		return false
	case "true":
		return true
	}
	x.fail(v, "use true or false", "%q is neither true nor false", v.Text)
	return false
}

func (x *reader) number(key string) (n int64, set bool) {
	v := x.r.Get(key)
	if v.Text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if err != nil || n < 0 {
		x.fail(v, "use a whole number", "%q is not a number", v.Text)
	}
	return n, true
}

// count reads a number of which there is at least one. Where the engine takes 0 for its own choice (no limit, one checkpoint), a 0
// that somebody wrote would be another answer than theirs: a script that computed 0 records would get the whole topic.
func (x *reader) count(key string) int64 {
	n, set := x.number(key)
	x.notZero(key, set && n == 0, "1")
	return n
}

// notZero fails where a value that somebody wrote is 0, and the engine's 0 is its own choice.
func (x *reader) notZero(key string, zero bool, least string) {
	if !zero {
		return
	}
	hint := "leave it out for the default"
	if b := x.r.table.Key(key).Builtin; b != "" {
		hint += ", " + b
	}
	x.fail(x.r.Get(key), hint, "at least %s", least)
}

var flinkDuration = regexp.MustCompile(`^(\d+)\s*([a-zµ]*)$`)

// parseDuration reads Flink's lengths of time (10 min, 30s, 500 ms; a bare number is milliseconds) and koffset's (90m, 7d,
// PT1H).
func parseDuration(s string) (time.Duration, bool) {
	if m := flinkDuration.FindStringSubmatch(strings.ToLower(strings.TrimSpace(s))); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		per, ok := map[string]time.Duration{
			"": time.Millisecond, "ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
			"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
			"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
			"h": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
			"us": time.Microsecond, "µs": time.Microsecond, "micro": time.Microsecond, "micros": time.Microsecond, "microsecond": time.Microsecond, "microseconds": time.Microsecond,
			"ns": 1, "nano": 1, "nanos": 1, "nanosecond": 1, "nanoseconds": 1,
		}[m[2]]
		if err != nil || !ok || n > math.MaxInt64/int64(per) {
			return 0, false
		}
		return time.Duration(n) * per, true
	}
	d, err := offset.ParseDuration(strings.TrimSpace(s))
	return d, err == nil
}

// span reads a length of time that cannot be 0, as count reads a number.
func (x *reader) span(key string) time.Duration {
	d := x.duration(key)
	x.notZero(key, d == 0 && x.r.Get(key).Text != "", "1ms")
	return d
}

func (x *reader) duration(key string) time.Duration {
	v := x.r.Get(key)
	if v.Text == "" {
		return 0
	}
	d, ok := parseDuration(v.Text)
	if !ok {
		x.fail(v, "write 30s, 10 min, 1h, or milliseconds", "%q is not a length of time", v.Text)
	}
	// A flag's bare number is a usage error everywhere in koffset: peers read seconds as often as milliseconds. A client's own
	// key, as -X has it, ends with its unit.
	if (v.Source.Kind == config.FromFlag || v.Source.Kind == config.FromX) && !strings.HasSuffix(v.Source.Name, ".ms") && ok && d != 0 && strings.Trim(v.Text, "0123456789") == "" {
		x.fail(v, "write "+v.Text+"ms or "+v.Text+"s", "%q has no unit", v.Text)
	}
	return d
}

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)$`)

// parseSize reads a number of bytes: 10MiB, 64mb, 512k, 1048576. All units are powers of 1024, as in Flink and Kafka.
func parseSize(s string) (int64, bool) {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	per, ok := map[string]float64{"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40}[strings.ToLower(m[2])]
	if err != nil || !ok || f*per > 1<<62 {
		return 0, false
	}
	return int64(f * per), true
}

func (x *reader) size(key string) int64 {
	v := x.r.Get(key)
	if v.Text == "" {
		return 0
	}
	n, ok := parseSize(v.Text)
	if !ok {
		x.fail(v, "write 10MiB, 64mb or a number of bytes", "%q is not a size", v.Text)
	}
	x.notZero(key, n == 0, "1 byte")
	return n
}

// mostFetched is the most that one response may hold: the client reads none above 100 MiB.
const mostFetched = 90 << 20

// fetchSize reads a size of responses. A consumer's own file may have more than can be had.
func (x *reader) fetchSize(out *Run, key string) int32 {
	n := x.size(key)
	if n > mostFetched {
		out.note(x.r.Get(key), "", "%s=%s is more than one response can hold here: %s is used", key, x.r.Get(key).Text, text.Bytes(mostFetched))
	}
	return int32(min(n, mostFetched))
}

// ParseRate reads 50/s, 3000/m, 10MiB/s, or both with a comma between them.
func ParseRate(s string) (consume.Rate, bool) {
	var r consume.Rate
	for part := range strings.SplitSeq(s, ",") {
		amount, unit, ok := strings.Cut(strings.TrimSpace(part), "/")
		per := map[string]float64{"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}[unit]
		if !ok || per == 0 {
			return r, false
		}
		if n, err := strconv.ParseFloat(amount, 64); err == nil {
			if n <= 0 || r.Records != 0 || math.IsInf(n, 0) || math.IsNaN(n) {
				return r, false
			}
			r.Records = n / per
			continue
		}
		n, ok := parseSize(amount)
		if !ok || n <= 0 || r.Bytes != 0 {
			return r, false
		}
		r.Bytes = float64(n) / per
	}
	return r, true
}

func (x *reader) rate() consume.Rate {
	v := x.r.Get(Rate)
	if v.Text == "" {
		return consume.Rate{}
	}
	r, ok := ParseRate(v.Text)
	if !ok {
		x.fail(v, "write 50/s, 3000/m or 10MiB/s", "%q is not a rate", v.Text)
	}
	r.Ramp = x.duration(Ramp)
	return r
}

func (x *reader) position(key string, role offset.Role, clock offset.Clock) *offset.Position {
	v := x.r.Get(key)
	if v.Text == "" {
		return nil
	}
	p, err := offset.ParsePosition(v.Text, role, clock)
	if err != nil {
		hint := ""
		if s, ok := err.(*offset.SyntaxError); ok {
			hint = s.Hint
		}
		x.failErr(v, hint, err)
		return nil
	}
	return &p
}

// list splits at commas and semicolons, which Flink uses.
func (x *reader) list(key string) []string {
	items := strings.FieldsFunc(x.r.Get(key).Text, func(r rune) bool { return r == ',' || r == ';' })
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return slices.DeleteFunc(items, func(s string) bool { return s == "" })
}
