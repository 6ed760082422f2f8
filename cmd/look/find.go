package look

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/find"
	"github.com/koffset/koffset/internal/render"
	"github.com/koffset/koffset/offset"
)

type findOptions struct {
	app     *cli.App
	out     cli.OutputFlag
	between cli.BetweenFlags
	ask     findWhere

	first, last, all, count bool
	max                     int64
	by                      string
	partitioner             string
	file                    string
	after                   bool
	align                   string

	format render.Format
	specs  []offset.TopicSpec
	where  find.Where
	key    []byte // of --partitioner

	schemas *cli.Schemas
	moved   func() // says that something was answered
	chosen  find.Partitioner
}

// NewFind is the command find.
func NewFind(a *cli.App) *cobra.Command {
	o := &findOptions{app: a}
	c := &cobra.Command{
		Use: "find TOPIC[:PARTITIONS]…", GroupID: "look",
		Short: "The offset of a record by its key, header or value, and how many there really are",
		Long: `Reads the records between --from and --until and prints those that match: where they are, when they were written, and which
condition they matched. Conditions are joined by and. It commits nothing and joins no group.

--key and --key-prefix compare bytes; --key-encoding says how they are written. --match is a regular expression on the key or
the value, --jq an expression on a value that is JSON: a record matches where a result is neither false nor null.
--time-between T1,T2 is the records' own time, from T1 up to but not including T2. What a condition could not be asked of (a
value that is not JSON, a record without a time) is counted and said.

--schema-registry decodes values that name a schema: --match and --jq are then asked about them as JSON, and rows show that beside the
bytes. --key and --value-contains still compare bytes. A value that --match or --jq needs and that could not be decoded makes the
status 4. Without a registry SCHEMA-ID says which schema a value would name, with a question mark.

--first ends the scan at the first match that comes; on several partitions that need not be the earliest. --last keeps the last
match of each partition. --count prints how many there are of each partition, --by hour or day how many at which time. An
offset is not a count: these read. With --key, --partitioner murmur2 (Java), crc32 (librdkafka) or fnv1a (sarama) reads only the
partition on which such a producer puts the key.

--out FILE writes positions: of each partition its first match (with --last the last one), or with --after the offset behind it.
reset --from-file FILE and consume --from file:FILE read it. --align time adds the other partitions: their first record at or
after the time of the earliest match. -o positions prints the positions instead of the records.

Records of aborted transactions are not found, unless --isolation read_uncommitted says so. In json a key or value that is not
text is in key_base64 or value_base64, whole. jsonl, csv and tsv print matches as they come, in order on each partition.` + cli.ExitStatus(
			"  3  refused: an offset is outside the log, or a policy says fail",
			"  4  partly known: a partition could not be read to its end, or a value not be decoded",
			"  5  nothing was found, or no such topic, partition or group",
			"  7  the user may not read the topic"),
		Example: `  koffset find orders --key 4711
  koffset find orders --key 4711 --partitioner murmur2 --first
  koffset find orders --jq '.customer.id == 17' --from @-2h -o jsonl
  koffset find orders --jq '.customer.id == 17' --schema-registry http://localhost:8081
  koffset find orders --header trace=7f3a --value-contains refund --max 20
  koffset find orders --key 4711 --first --align time --out before-4711
  koffset reset billing --topic orders --from-file before-4711
  koffset find orders --count --from @-1h/h --until @-0h/h
  koffset find orders --by hour --from @-1d`,
		ValidArgsFunction: a.Completer().Topics(),
		RunE:              a.Timed(o.parse, o.run),
	}
	o.flags(c)
	return c
}

func (o *findOptions) flags(c *cobra.Command) {
	f := c.Flags()
	o.out.Add(c, render.Positions)
	o.ask.add(c)
	o.between.Add(o.app, c, "where to begin", "where to end", offset.ReadCommitted)
	o.app.AddRegistryFlag(c)
	f.BoolVar(&o.first, "first", false, "end at the first match that comes")
	f.BoolVar(&o.last, "last", false, "the last match of each partition")
	f.BoolVar(&o.all, "all", false, "every match, which is the default")
	f.Int64Var(&o.max, "max", 0, "end after `N` matches")
	f.BoolVar(&o.count, "count", false, "how many records match on each partition, and no records; without a condition how many there are")
	f.StringVar(&o.by, "by", "", "how many records match in each `hour` or day, and no records")
	f.StringVar(&o.partitioner, "partitioner", "", "read only the partition on which a producer with this partitioner puts --key: `murmur2`, crc32 or fnv1a")
	f.StringVar(&o.file, "out", "", "write the positions of the matches into a `FILE` for reset --from-file and consume --from file:FILE")
	f.BoolVar(&o.after, "after", false, "positions behind the matches: who starts there skips them")
	f.StringVar(&o.align, "align", "", "positions for the other partitions too: `time`, their first record at or after the time of the earliest match")
	for flag, words := range map[string][]string{"by": {"hour", "day"}, "partitioner": find.Partitioners(), "align": {"time"}} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

func (o *findOptions) parse(c *cobra.Command, args []string, clock offset.Clock) (err error) {
	if o.format, err = o.out.Format(); err != nil {
		return err
	}
	if len(args) == 0 {
		return cli.Usagef("koffset find TOPIC --key KEY", "name a topic")
	}
	for _, arg := range args {
		specs, err := offset.ParseTopicSpecs(arg)
		if err != nil {
			return cli.PatternFault(arg, err)
		}
		o.specs = append(o.specs, specs...)
	}
	o.ask.decode = o.decode
	if o.where, err = o.ask.parse(c, clock); err != nil {
		return err
	}
	if err = o.parseWhat(c); err != nil {
		return err
	}
	if err = o.parsePositions(); err != nil {
		return err
	}
	if o.partitioner != "" {
		if o.chosen, err = find.ParsePartitioner(o.partitioner); err != nil {
			return cli.Usagef("use "+strings.Join(find.Partitioners(), ", "), "--partitioner: %w", err)
		}
		if o.ask.key == "" {
			return cli.Usagef("add --key KEY", "--partitioner needs a key to know the partition of")
		}
		o.key = o.ask.keyBytes
	}
	return o.between.Parse(clock)
}

// parseWhat reads what is to be printed of the matches.
func (o *findOptions) parseWhat(c *cobra.Command) error {
	var given []string
	for _, name := range []string{"first", "last", "all", "count", "by"} {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	switch {
	case len(given) > 1:
		return cli.Usagef("give one of them", "%s exclude each other", strings.Join(given, " and "))
	case c.Flags().Changed("max") && o.max < 1:
		return cli.Usagef("", "--max must be at least 1, not %d", o.max)
	case o.max > 0 && len(given) > 0 && !o.all:
		return cli.Usagef("leave one of them out", "--max and %s exclude each other", given[0])
	case o.by != "" && !slices.Contains([]string{"hour", "day"}, o.by):
		return cli.Usagef("use hour or day", "--by %q is not one of its values", o.by)
	case !o.where.Any() && !o.counts():
		return cli.Usagef("add --key KEY, --value-contains TEXT or another; koffset consume prints all records, --count counts them", "which records? no condition was given")
	}
	if o.first {
		o.max = 1
	}
	return nil
}

// counts says that numbers are asked for, and not records.
func (o *findOptions) counts() bool { return o.count || o.by != "" }

func (o *findOptions) parsePositions() error {
	switch {
	case o.align != "" && o.align != "time":
		return cli.Usagef("write --align time", "--align %q is not one of its values", o.align)
	case cli.IsStdout(o.file):
		return cli.Usagef("write -o positions", "--out %s: the records are on standard output already", o.file)
	case o.file != "" && o.format == render.Positions:
		return cli.Usagef("leave one of them out", "--out and -o positions both write the positions")
	case o.positions() && o.counts():
		return cli.Usagef("leave one of them out", "numbers have no positions: --count and --by print no records")
	case !o.positions() && (o.after || o.align != ""):
		return cli.Usagef("add --out FILE, or -o positions", "--after and --align are about positions, and none are written")
	}
	return nil
}

// positions says that the positions of the matches are written.
func (o *findOptions) positions() bool { return o.file != "" || o.format == render.Positions }

// instant reads a word that means a time.
func instant(flag, word string, clock offset.Clock) (offset.Position, error) {
	p, err := offset.ParsePosition(word, offset.RoleTarget, clock)
	if err == nil && p.Kind == offset.AtTime {
		return p, nil
	}
	at, terr := offset.ParseTime(word, clock)
	if terr != nil {
		return p, cli.Usagef("write @-2h, or 2026-11-29T10:00:00Z", "%s: %q is not a time", flag, word)
	}
	return offset.Position{Kind: offset.AtTime, At: at, Text: word}, nil
}

// decode is what --match and --jq are asked about, where there is a registry. One that is slow is no broker that is silent.
func (o *findOptions) decode(ctx context.Context, b []byte) ([]byte, error) {
	if !o.schemas.On() {
		return nil, nil
	}
	begun := time.Now()
	v := o.schemas.Decode(ctx, b)
	o.waited(begun)
	return v.JSON, v.Err
}

// waited says that the scan goes on, where it was the registry that took long.
func (o *findOptions) waited(begun time.Time) {
	if time.Since(begun) > 100*time.Millisecond {
		o.moved()
	}
}

func (o *findOptions) run(ctx context.Context, s *cli.Session) (err error) {
	if o.schemas, err = o.app.Schemas(ctx, s.Settings); err != nil {
		return err
	}
	for _, p := range append([]offset.Position{o.between.Start, o.between.End}, o.ask.times...) {
		o.app.EchoInstants(p)
	}
	if err := o.between.ReadPast(ctx, s); err != nil {
		return err
	}
	pctx, cancel := s.Phase(ctx, "read the topics")
	defer cancel()
	all, err := o.between.Resolve(pctx, s, o.specs)
	if err != nil {
		return cli.Cause(pctx, err)
	}
	cancel()
	f := &finding{findOptions: o, s: s, all: all, flush: func() {}}
	return f.run(ctx)
}
