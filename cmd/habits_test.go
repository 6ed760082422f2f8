package cmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/cmd/cli"
	"github.com/koffset/koffset/internal/render"
)

// What people type out of habit from other tools, and the hint that they get. Nothing is asked of any cluster; what needs one is in
// testdata/script/habits.txt.
func TestHabitsOfOtherTools(t *testing.T) {
	for _, tt := range []struct{ typed, hint string }{
		// Verbs.
		{"top", "koffset watch"},
		{"tail", "koffset consume TOPIC --from end-10"},
		{"tail orders", "koffset consume orders --from end-10"},
		{"cat orders", "koffset consume orders --from earliest --until latest"},
		{"topics", "koffset resolve --all-topics"},
		{"grep", "koffset find TOPIC --value-contains TEXT"},
		{"count orders", "koffset find orders --count"},
		{"members", "koffset inspect GROUP --by member"},
		{"members billing", "koffset inspect billing --by member"},
		{"skip", "koffset reset GROUP --topic TOPIC:P --shift-by 1"},
		{"clone billing", "koffset reset NEW-GROUP --to-group billing --create"},
		{"copy", "koffset reset NEW-GROUP --to-group GROUP --create"},
		{"status", "koffset inspect"},
		{"lags", "koffset inspect"},
		{"lag billing", "koffset inspect billing"},
		{"list", "koffset inspect"},
		{"ls", "koffset inspect"},
		{"describe billing", "koffset inspect billing"},
		{"groups", "koffset inspect"},
		{"consumer-groups", "koffset inspect"},
		{"get-offsets orders", "koffset resolve orders"},
		{"reset-offsets", "koffset reset GROUP --topic TOPIC --to POSITION"},
		{"seek billing", "koffset reset billing --topic TOPIC --to POSITION"},
		{"rewind", "koffset reset GROUP --topic TOPIC --to POSITION"},
		{"delete-group billing", "koffset delete billing"},
		{"delete-offsets billing", "koffset delete billing --topic TOPIC"},
		{"rollback", "koffset undo"},
		{"export", "koffset migrate export"},
		{"exporter", "koffset serve"},
		{"inspct", "did you mean koffset inspect?"},
		{"frobnicate", "see koffset --help"},
		{"help nosuch", "see koffset --help"},
		{"help inspct", "did you mean koffset inspect?"},
		{"migrate exprot", "did you mean koffset migrate export?"},

		// Verbs with flags.
		{"rewind shipping --topic orders --to -2h", "koffset reset shipping --topic orders --to POSITION"},
		{"reset-offsets shipping --to-earliest --topic=orders --execute", "koffset reset shipping --topic orders --to POSITION"},
		{"tail -n 5 orders", "koffset consume TOPIC --from end-10"},
		{"get-offsets --topic orders", "koffset resolve orders"},
		{"export shipping --out x", "koffset migrate export"},
		{"exporter --listen :9308", "koffset serve"},
		{"top --interval 2s", "koffset watch"},
		{"list --all", "koffset inspect"},
		{"delete-group shipping --execute", "koffset delete shipping"},
		{"delete-offsets shipping --topic orders", "koffset delete shipping --topic orders"},
		{"delete-group shipping --topic orders", "koffset delete GROUP"},
		{"delete-offsets shipping --topic orders --partition 3", "koffset delete GROUP --topic TOPIC"},
		{"topic consume orders --compression gzip", "see koffset --help"},

		// kafka-consumer-groups, with and without its name.
		{"--group g --describe", "koffset inspect g"},
		{"--describe --group g --members --verbose", "koffset inspect g --by member -o wide"},
		{"--describe --all-groups", "koffset inspect --all-groups --by partition"},
		{"--list", "koffset inspect"},
		{"--list --state Empty", "koffset inspect --state Empty"},
		{"inspect --describe --group g", "koffset inspect g"},
		{"inspect --list", "koffset inspect"},
		{"--bootstrap-server k:9092 --describe --group g --state", "koffset inspect g --by group -b k:9092"},
		{"--reset-offsets --group g --topic t --to-earliest --execute", "koffset reset g --topic t --to-earliest --execute"},
		{"--reset-offsets --group g --topic t --to-earliest", "koffset reset g --topic t --to-earliest"},
		{"--reset-offsets --group g --all-topics --shift-by -10 --dry-run", "koffset reset g --all-topics --shift-by -10"},
		{"--reset-offsets --group g --topic t:0,1 --to-datetime 2026-11-29T20:00:00.000 --export", "koffset reset g --topic t:0,1 --to-datetime 2026-11-29T20:00:00.000 --export"},
		{"--reset-offsets --to-latest --execute", "koffset reset GROUP --topic TOPIC --to-latest"},
		{"inspect --reset-offsets", "koffset reset GROUP --topic TOPIC --to POSITION"},
		{"--delete --group g", "koffset delete g"},
		{"--delete-offsets --group g --topic t", "koffset delete g --topic t"},
		{"inspect --delete-offsets", "koffset delete GROUP --topic TOPIC"},
		{"kafka-consumer-groups.sh --bootstrap-server k:9092 --describe --group g", "koffset inspect g -b k:9092"},
		{"consumer-groups --describe --group g", "koffset inspect g"},

		// kafka-console-consumer and kafka-get-offsets.
		{"kafka-console-consumer.sh --bootstrap-server k:9092 --topic t --from-beginning --max-messages 5", "koffset consume t --from earliest --max-records 5 -b k:9092"},
		{"--topic t --from-beginning", "koffset consume t --from earliest"},
		{"kafka-console-consumer --topic t --group g --isolation-level read_committed", "koffset consume t -g g --isolation read_committed"},
		{"kafka-console-consumer --topic t --partition 2 --offset 100", "koffset consume t:2 --from 100"},
		{"kafka-get-offsets --topic orders --time -1", "koffset resolve orders --to latest"},
		{"kafka-get-offsets.sh --topic orders --partitions 0,1 --time 1710072000000", "koffset resolve orders:0,1 --to @1710072000000"},

		// kcat.
		{"kcat -b k:9092 -C -t orders -p 0 -o -10 -c 5 -e", "koffset consume orders:0 --from end-10 --until latest --max-records 5 -b k:9092"},
		{"kcat -C -t orders -o s@1710072000000 -o e@1710073000000", "koffset consume orders --from @1710072000000"},
		{"kcat -C -torders -o beginning", "koffset consume orders --from earliest"},
		{"kcat -Q -t orders:0:-1", "koffset resolve orders:0 --to latest"},
		{"kcat -b k:9092 -L", "koffset resolve --all-topics -b k:9092"},
		{"kcat -G g orders audit", "koffset consume orders audit -g g"},
		{"-C -t orders", "koffset consume orders --from earliest"},
		{"kcat -C -t orders -f '%k: %s\\n' -c 3", "koffset consume orders --from earliest --max-records 3 -f '%k: %s\\n'"},

		// rpk, kcl, kaf, kafkactl.
		{"rpk group list", "koffset inspect"},
		{"rpk group describe g", "koffset inspect g"},
		{"group describe g", "koffset inspect g"},
		{"rpk group seek g --to start --topics a", "koffset reset g --topic a --to earliest"},
		{"rpk group seek g --to 1710072000000", "koffset reset g --all-topics --to @1710072000000"}, // rpk's --to is a time
		{"rpk group seek g --to 1710072000 --topics a", "koffset reset g --topic a --to @1710072000s"},
		{"rpk group seek g --to 42", "see koffset --help"},
		{"kaf group commit g -t orders --offset 42", "koffset reset g --topic orders --to 42"},
		{"rpk group seek g --to-group h", "koffset reset g --to-group h"},
		{"rpk group delete g", "koffset delete g"},
		{"rpk group offset-delete g -t x:1", "koffset delete g --topic x:1"},
		{"rpk topic consume orders -o :end -n 3", "koffset consume orders --from earliest --until latest --max-records 3"},
		{"topic consume orders -o +5", "koffset consume orders --from start+5"},
		{"rpk topic consume orders -o @-1h", "koffset consume orders --from @-1h"},
		{"kcl group describe g", "koffset inspect g"},
		{"kcl consume orders -o -5 -n 5", "koffset consume orders --from end-5 --max-records 5"},
		{"kaf groups", "koffset inspect"},
		{"kaf group ls", "koffset inspect"},
		{"kaf consume orders --tail 5", "koffset consume orders --from end-5 --until latest"},
		{"kaf consume orders -f --offset newest", "koffset consume orders --from latest"},
		{"kaf group commit g -t orders --offset oldest", "koffset reset g --topic orders --to earliest"},
		{"kafkactl get consumer-groups", "koffset inspect"},
		{"get consumer-groups", "koffset inspect"},
		{"kafkactl get cgo g", "koffset inspect g"},
		{"kafkactl describe consumer-group g", "koffset inspect g"},
		{"kafkactl reset consumer-group-offset g --topic t --newest --execute", "koffset reset g --topic t --to-latest --execute"},
		{"kafkactl reset cgo g --topic t --offset 5", "koffset reset g --topic t --to-offset 5"},
		{"kafkactl clone consumer-group a b", "koffset reset b --to-group a --create"},
		{"kafkactl delete consumer-group g", "koffset delete g"},
		{"kafkactl consume orders --tail 5 --exit", "koffset consume orders --from end-5 --until latest"},

		// Flags of consume.
		{"consume -t orders", "koffset consume orders --from earliest"},
		{"consume orders -n 5", "koffset consume orders --from earliest --max-records 5"},
		{"consume orders -c 5", "koffset consume orders --from earliest --max-records 5"},
		{"consume orders -c5 -g billing", "koffset consume orders -g billing --max-records 5"},
		{"consume orders --limit 5", "koffset consume orders --from earliest --max-records 5"},
		{"consume orders --max-messages 5 --rate 5/s", "koffset consume orders --from earliest --max-records 5 --rate 5/s"},
		{"consume orders --tail 10", "koffset consume orders --from end-10"},
		{"consume orders --since 1h", "koffset consume orders --from @-1h"},
		{"consume orders --follow", "koffset consume orders --from latest"},
		{"consume orders -e", "koffset consume orders --from earliest --until latest"},
		{"consume orders --from @-2h -e", "koffset consume orders --until latest --from @-2h"},
		{"consume orders --from-beginning", "koffset consume orders --from earliest"},
		{"consume orders --max-record 5", "did you mean --max-records?"},
		{"consume orders --form earliest", "did you mean --from?"},
		{"consume orders --form=earliest", "did you mean --from?"},
		{"consume orders -n 5 --max-record 5", "write --max-records N"},
		{"consume -o end orders", "where to start is --from latest; -o is how records are written"},
		{"consume -o -10 orders", "where to start is --from end-10; -o is how records are written"},
		{"consume -o s@1710072000000 orders", "where to start is --from @1710072000000; -o is how records are written"},
		{"consume -o stored orders", "where to start is --from current; -o is how records are written"},
		{"consume orders -f", "-f is the format of a record, such as -f '%k %v\\n'; a run without --until never ends"},
		{"consume orders -f --from end-1", "-f is the format of a record, such as -f '%k %v\\n'; a run without --until never ends"},
		{"reset g --topic orders --to", "write --to WORD: a position WORD: earliest, latest, current, 1234, start+N, end-N, current-N, @TIME, @-2h, @-1d/d, max-timestamp, current@TIME (what the group had committed then), group:G, group:G@TIME, file:F, checkpoint:DIR, store:URL, or orders:0=42,orders:1=@-2h"},
		{"reset g --topic orders --to --execute", "write --to WORD: a position WORD: earliest, latest, current, 1234, start+N, end-N, current-N, @TIME, @-2h, @-1d/d, max-timestamp, current@TIME (what the group had committed then), group:G, group:G@TIME, file:F, checkpoint:DIR, store:URL, or orders:0=42,orders:1=@-2h"},
		{"inspect --group", "write --group GROUP: a GROUP, as the argument; repeatable"},
		{"consume -o xml orders", "use text, jsonl or raw"},
		{"kcat -C -t orders -o stored", "koffset consume orders --from current"},

		// Flags of the others.
		{"inspect --json", "write -o json"},
		{"inspect --watch", "koffset watch"},
		{"inspect -n 5", "write --top N"},
		{"inspect --members", "koffset inspect GROUP --by member"},
		{"inspect --bootstrap-servers x:1", "write -b HOST:PORT"},
		{"inspect --topicc orders", "did you mean --topic?"},
		{"resolve orders --time -1", "write --to @TIME"},
		{"reset g -e", "write --execute"},
		{"reset g --oldest", "write --to-earliest"},
		{"reset g --to-file x", "write --plan-out FILE saves a plan"},

		// Nothing is guessed where an option that is not known may have narrowed what is written, or no tool is recognized: a placeholder cannot be pasted by mistake.
		{"--reset-offsets --group g --topic t --to-earliest --only-partitions 3", "koffset reset GROUP --topic TOPIC --to POSITION"},
		{"--delete --group g --where x", "koffset delete GROUP"},
		// Nor where a word may be the value of one: it would be a topic or a group that nobody named.
		{"kafka-console-consumer --topic t --zookeeper z:2181", "see koffset --help"},
		{"kcat -C -t orders -k keys", "see koffset --help"},
		{"rpk topic consume orders --compression gzip", "see koffset --help"},
		{"rpk group describe g --print-commits", "koffset inspect g"},
		{"rpk group describe g --log-level debug", "see koffset --help"},
		{"inspect --xyzzy", "see koffset inspect --help"},
		{"delete --purge g", "see koffset delete --help"},

		// Positions and names that lack something.
		{"resolve orders --to 10:00", "write @2026-11-29T10:00:00Z, with the day"},
		{"resolve orders --to @10:00 --tz Europe/Berlin", "write 2026-11-29T10:00:00+01:00, with the day"},
		{"resolve orders --to-datetime 10:00", "write 2026-11-29T10:00:00Z, with the day"},
		{"resolve orders --to orders=-5", "write orders:0=-5, with the partition"},
		{"resolve orders --to 2h", "write @-2h for 2h ago"},
		{"resolve orders --to @2h", "write @-2h for 2h ago"},
		{"resolve orders --to 1710072000s", "write @1710072000s for that epoch"},
		{"resolve orders --to tail", "write end-1 for the last record of each partition, end-10 for the last ten, latest for the log end"},
		{"resolve orders --to-datetime -2h", "write --to -2h"},
		{"resolve 'ord*'", "write --topic-match 'ord.*'"},
		{"inspect --topic 'ord*'", "write --topic-match 'ord.*'"},
		{"inspect --state foo", "use Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, NotReady, Dead"},
	} {
		status, _, errs := habit(shellWords(tt.typed))
		_, hint, _ := strings.Cut(strings.TrimSpace(errs), "koffset: hint: ")
		if status != 2 || hint != tt.hint {
			t.Errorf("koffset %s\n  status %d, hint %q\n  want 2, %q\n%s", tt.typed, status, hint, tt.hint, errs)
		}
		if strings.Contains(hint, "--execute") && !strings.Contains(tt.typed, "--execute") && !strings.HasSuffix(tt.typed, " -e") {
			t.Errorf("koffset %s: the hint executes what was not asked to be: %s", tt.typed, hint)
		}
		if strings.HasPrefix(hint, "koffset ") {
			parseLines(t, tt.typed, hint)
		}
	}
}

func TestVersionFlag(t *testing.T) {
	status, out, _ := habit([]string{"--version"})
	if _, long, _ := habit([]string{"version"}); status != 0 || out != long || !strings.HasPrefix(out, "koffset v0.1.0 (go") {
		t.Errorf("status %d, %q; the command prints %q", status, out, long)
	}
}

// habit runs one line without a cluster.
func habit(words []string) (status int, out, errs string) {
	var o, e bytes.Buffer
	now := func() time.Time { return docsNow }
	app := cli.App{Streams: &render.Streams{In: strings.NewReader(""), Out: &o, Err: &e}, Now: now, Version: "v0.1.0"}
	status = Run(context.Background(), words, app)
	return status, o.String(), e.String()
}
