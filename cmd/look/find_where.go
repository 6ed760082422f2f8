package look

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/find"
	"github.com/koffset/koffset/offset"
)

// findWhere are the flags of the conditions.
type findWhere struct {
	key, prefix, encoding string
	headers               []string
	contains, match, jq   []string
	null, empty           string
	between               string

	keyBytes []byte
	times    []offset.Position // of --time-between
	decode   find.Decode       // of --match and --jq
}

func keyEncodings() []string { return []string{"text", "hex", "base64", "int32", "int64"} }

func (w *findWhere) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.key, "key", "", "records with this `KEY`")
	f.StringVar(&w.prefix, "key-prefix", "", "records whose key begins with `TEXT`")
	f.StringVar(&w.encoding, "key-encoding", "text", "how --key and --key-prefix are written: `text`, hex, base64, or the number of a Java Integer (int32) or Long (int64)")
	f.StringArrayVar(&w.headers, "header", nil, "records with this header, `NAME=VALUE`; repeatable")
	f.StringArrayVar(&w.contains, "value-contains", nil, "records whose value contains `TEXT`; repeatable")
	f.StringArrayVar(&w.match, "match", nil, "records whose key or value matches the `REGEX`; repeatable")
	f.StringArrayVar(&w.jq, "jq", nil, "records whose value is JSON of which the jq `EXPRESSION` says yes; repeatable")
	f.StringVar(&w.null, "null", "", "records without a value (tombstones), or with --null=key without a key")
	f.Lookup("null").NoOptDefVal = "value"
	f.StringVar(&w.empty, "empty", "", "records with an empty `key` or value, which is not null")
	f.StringVar(&w.between, "time-between", "", "records whose own time is in `T1,T2`, from T1 up to and without T2")
	for flag, words := range map[string][]string{"key-encoding": keyEncodings(), "null": {"value", "key"}, "empty": {"key", "value"}} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// parse makes the conditions, in the order of the help.
func (w *findWhere) parse(c *cobra.Command, clock offset.Clock) (find.Where, error) {
	var all []find.Condition
	for _, one := range []struct {
		flag, word string
		make       func([]byte) find.Condition
	}{{"--key", w.key, find.Key}, {"--key-prefix", w.prefix, find.KeyPrefix}} {
		if one.word == "" {
			continue
		}
		b, err := decodeKey(w.encoding, one.word)
		if err != nil {
			return find.Where{}, cli.Usagef("", "%s: %w", one.flag, err)
		}
		if one.flag == "--key" {
			w.keyBytes = b
		}
		all = append(all, one.make(b))
	}
	if c.Flags().Changed("key-encoding") && w.key == "" && w.prefix == "" {
		return find.Where{}, cli.Usagef("add --key KEY", "--key-encoding says how a key is written, and none was given")
	}
	for _, h := range w.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return find.Where{}, cli.Usagef("such as --header trace=7f3a", "--header %q is not NAME=VALUE", h)
		}
		all = append(all, find.Header(name, []byte(value)))
	}
	for _, text := range w.contains {
		all = append(all, find.ValueContains([]byte(text)))
	}
	for _, one := range []struct {
		flag  string
		words []string
		make  func(string) (find.Condition, error)
	}{{"--match", w.match, w.matches}, {"--jq", w.jq, w.asks}, {"--null", words(w.null), null}, {"--empty", words(w.empty), empty}} {
		for _, word := range one.words {
			cond, err := one.make(word)
			if err != nil {
				return find.Where{}, cli.Usagef("", "%s: %w", one.flag, err)
			}
			all = append(all, cond)
		}
	}
	if w.between != "" {
		cond, err := w.window(clock)
		if err != nil {
			return find.Where{}, err
		}
		all = append(all, cond)
	}
	return find.NewWhere(all...), nil
}

func (w *findWhere) matches(pattern string) (find.Condition, error) {
	return find.Match(pattern, w.decode)
}

func (w *findWhere) asks(expr string) (find.Condition, error) { return find.JQ(expr, w.decode) }

func words(one string) []string {
	if one == "" {
		return nil
	}
	return []string{one}
}

func null(what string) (find.Condition, error) {
	switch what {
	case "value":
		return find.NullValue(), nil
	case "key":
		return find.NullKey(), nil
	}
	return find.Condition{}, fmt.Errorf("%q is neither value nor key", what)
}

func empty(what string) (find.Condition, error) {
	switch what {
	case "value":
		return find.EmptyValue(), nil
	case "key":
		return find.EmptyKey(), nil
	}
	return find.Condition{}, fmt.Errorf("%q is neither key nor value", what)
}

// window reads --time-between.
func (w *findWhere) window(clock offset.Clock) (find.Condition, error) {
	from, until, ok := strings.Cut(w.between, ",")
	if !ok {
		return find.Condition{}, cli.Usagef("such as --time-between @-2h,@-1h", "--time-between %q is not two times with a comma between them", w.between)
	}
	for _, word := range []string{from, until} {
		p, err := instant("--time-between", strings.TrimSpace(word), clock)
		if err != nil {
			return find.Condition{}, err
		}
		w.times = append(w.times, p)
	}
	a, b := w.times[0].At.Time, w.times[1].At.Time
	if !a.Before(b) {
		return find.Condition{}, cli.Usagef("the earlier one comes first", "--time-between: %s is not before %s", offset.FormatTime(a), offset.FormatTime(b))
	}
	return find.Between(a, b), nil
}

// decodeKey reads a key as it was written.
func decodeKey(encoding, s string) ([]byte, error) {
	switch encoding {
	case "text":
		return []byte(s), nil
	case "hex":
		b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
		if err != nil {
			return nil, fmt.Errorf("%q is not hex: %w", s, err)
		}
		return b, nil
	case "base64":
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not base64: %w", s, err)
		}
		return b, nil
	case "int32":
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of 32 bits", s)
		}
		return binary.BigEndian.AppendUint32(nil, uint32(n)), nil
	case "int64":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number of 64 bits", s)
		}
		return binary.BigEndian.AppendUint64(nil, uint64(n)), nil
	}
	return nil, fmt.Errorf("--key-encoding %q is not one of %s", encoding, strings.Join(keyEncodings(), ", "))
}
