package state

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/koffset/koffset/checkpointfile"
	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/migrate"
	"github.com/koffset/koffset/offset"
)

type checkpointExportOptions struct {
	from   offset.Origin // where the positions come from
	app    *cli.App
	snap   cli.SnapshotFlags
	as     string
	group  cli.NameFlag
	marker string
}

const (
	exportJSON     = "json"
	exportKafkaCSV = "kafka-csv"
	exportFlinkSQL = "flink-sql"
	exportJava     = "java"
)

func newCheckpointExport(a *cli.App) *cobra.Command {
	o := &checkpointExportOptions{app: a}
	c := &cobra.Command{
		Use: "export DIR", Short: "The positions of a checkpoint in a form that something else reads", Args: oneDir,
		Long: `Forms (--as):

  json       koffset's export, one JSON value a line: koffset migrate import and --from-file take it. Words stay words. Without
             --group here, import asks for one.
  kafka-csv  topic,partition,offset for kafka-consumer-groups --reset-offsets --from-file, and for koffset reset --from-file
  flink-sql  options of a Flink SQL table, one block a topic: 'scan.startup.mode' = 'specific-offsets', …
  java       a map for OffsetsInitializer.offsets(…)

kafka-csv and flink-sql take numbers alone: a partition that was not read yet (earliest, latest, committed) refuses the export,
or is left out with --marker skip and named. Flink takes the group's commit for a partition that is not listed, and the log
start where there is none.` + cli.ExitStatus(
			"  3  refused: the snapshot holds records in flight, or a word that the form cannot say",
			"  5  no such source, or no positions"),
		Example: `  koffset checkpoint export DIR --as flink-sql
  koffset checkpoint export DIR --as kafka-csv --operator-uid orders-source > offsets.csv
  koffset checkpoint export DIR --as json --group my-job > offsets.json`,
		ValidArgsFunction: cli.CheckpointCompletion,
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args[0]) },
	}
	f := c.Flags()
	o.snap.Add(f)
	o.snap.AddInFlight(f)
	f.StringVar(&o.as, "as", exportJSON, "`FORM`: json, kafka-csv, flink-sql or java")
	f.VarP(&o.group, "group", "g", "the `GROUP` that the offsets are for (json), or the group column (kafka-csv)")
	f.StringVar(&o.marker, "marker", "fail", "a partition that was not read yet, in a form that takes numbers alone: `fail` or skip")
	_ = c.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{exportJSON, exportKafkaCSV, exportFlinkSQL, exportJava}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("marker", cobra.FixedCompletions([]string{"fail", "skip"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o *checkpointExportOptions) run(ref string) error {
	forms := map[string]func(io.Writer, string, []exported) error{
		exportJSON: o.json, exportKafkaCSV: o.kafkaCSV, exportFlinkSQL: o.flinkSQL, exportJava: o.java,
	}
	write, ok := forms[o.as]
	if !ok {
		return cli.Usagef("use json, kafka-csv, flink-sql or java", "--as %q is not one of its forms", o.as)
	}
	if o.marker != "fail" && o.marker != "skip" {
		return cli.Usagef("use fail or skip", "--marker %q is not one of its values", o.marker)
	}
	found, err := o.app.PositionsOf(ref, &o.snap)
	if err != nil {
		return err
	}
	o.from = found.Origin
	var rows []exported
	for _, p := range slices.SortedFunc(maps.Keys(found.Offsets), offset.Partition.Compare) {
		rows = append(rows, exported{p, found.Offsets[p]})
	}
	if o.as == exportKafkaCSV || o.as == exportFlinkSQL {
		if rows, err = o.numbers(rows); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(o.app.Streams.Out)
	return errors.Join(write(out, ref, rows), out.Flush())
}

// exported is one position.
type exported struct {
	offset.Partition
	at offset.Foreign
}

// numbers leaves out the words, or refuses them, as --marker says.
func (o *checkpointExportOptions) numbers(rows []exported) (out []exported, err error) {
	var words []string
	for _, r := range rows {
		if r.at.Marker == "" {
			out = append(out, r)
			continue
		}
		words = append(words, fmt.Sprintf("%s (%s)", r.Partition, r.at.Marker))
	}
	if len(words) == 0 {
		return rows, nil
	}
	shown := strings.Join(words[:min(10, len(words))], ", ")
	if n := len(words) - 10; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	if o.marker == "fail" {
		return nil, cli.Faultf(offset.KindRefused, "add --marker skip to leave them out, or use --as json or --as java, which can say it",
			"%s takes offsets alone, and the job had not read from %s yet", o.as, shown)
	}
	o.app.Streams.Warn("left out, since the job had not read from them yet: %s", shown)
	if len(out) == 0 {
		return nil, cli.Faultf(offset.KindNotFound, "", "nothing is left to export")
	}
	return out, nil
}

func (o *checkpointExportOptions) json(w io.Writer, ref string, rows []exported) error {
	h := migrate.Header{CreatedAt: o.app.Now(), Version: o.app.Version, Source: "checkpoint:" + ref, ClusterID: o.from.ClusterID}
	for _, t := range slices.Sorted(maps.Keys(o.from.TopicIDs)) {
		h.Topics = append(h.Topics, migrate.Topic{Name: t, ID: o.from.TopicIDs[t]})
	}
	x, err := migrate.NewWriter(w, h)
	if err != nil {
		return err
	}
	g := migrate.Group{Name: o.group.Name, Any: !o.group.Given}
	for _, r := range rows {
		row := migrate.Row{Group: o.group.Name, Partition: r.Partition, Marker: r.at.Marker}
		if r.at.Marker == "" {
			c := r.at.Committed
			row.Committed = &c
		}
		g.Rows = append(g.Rows, row)
	}
	if err := x.Group(g); err != nil {
		return err
	}
	return x.Close(false)
}

func (o *checkpointExportOptions) kafkaCSV(w io.Writer, _ string, rows []exported) error {
	out := make([]checkpointfile.CSVRow, len(rows))
	for i, r := range rows {
		out[i] = checkpointfile.CSVRow{Group: o.group.Name, Partition: r.Partition, Offset: r.at.Offset}
	}
	return checkpointfile.WriteKafkaCSV(w, out, o.group.Given)
}

// flinkSQL writes the options of a table for each topic: Flink takes specific offsets for one topic alone.
func (o *checkpointExportOptions) flinkSQL(w io.Writer, _ string, rows []exported) error {
	for i, r := range rows {
		first := i == 0 || rows[i-1].Topic != r.Topic
		if first {
			if i > 0 {
				fmt.Fprint(w, "'\n\n")
			}
			fmt.Fprintf(w, "'topic' = '%s',\n'scan.startup.mode' = 'specific-offsets',\n'scan.startup.specific-offsets' = '", r.Topic)
		} else {
			fmt.Fprint(w, ";")
		}
		fmt.Fprintf(w, "partition:%d,offset:%d", r.Partition.Partition, r.at.Offset)
	}
	_, err := fmt.Fprint(w, "'\n")
	return err
}

// java writes a map for OffsetsInitializer.offsets. Its values may be the markers of KafkaPartitionSplit, by their names there.
func (o *checkpointExportOptions) java(w io.Writer, _ string, rows []exported) error {
	names := map[offset.Marker]string{offset.MarkerEarliest: "EARLIEST_OFFSET", offset.MarkerLatest: "LATEST_OFFSET", offset.MarkerCommitted: "COMMITTED_OFFSET"}
	fmt.Fprintln(w, "Map<TopicPartition, Long> offsets = new HashMap<>();")
	for _, r := range rows {
		value := strconv.FormatInt(r.at.Offset, 10) + "L"
		if r.at.Marker != "" {
			value = "KafkaPartitionSplit." + cmp.Or(names[r.at.Marker], string(r.at.Marker))
		}
		fmt.Fprintf(w, "offsets.put(new TopicPartition(%q, %d), %s);\n", r.Topic, r.Partition.Partition, value)
	}
	_, err := fmt.Fprintln(w, "// KafkaSource.builder()….setStartingOffsets(OffsetsInitializer.offsets(offsets, OffsetResetStrategy.NONE))")
	return err
}
