//go:build realkafka

package cmd_test

// serve scraped by a real Prometheus, the rules read by promtool (Debian's package prometheus), the sick commits of a real
// broker in check and serve, and the exact lag in time against records whose times are known.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/koffset/koffset/internal/kafkatest"
)

// debian finds a program of Debian's package prometheus.
func debian(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: install Debian's package prometheus", err)
	}
	return path
}

// background starts a program and waits until its stderr matches; the first group of the match is returned.
func inBackground(t *testing.T, pattern, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	found := make(chan string, 1)
	go func() {
		re, sc := regexp.MustCompile(pattern), bufio.NewScanner(stderr)
		var all strings.Builder
		for sc.Scan() {
			fmt.Fprintln(&all, sc.Text())
			if m := re.FindStringSubmatch(sc.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		select {
		case found <- "":
			t.Logf("%s ended:\n%s", program, all.String())
		default:
		}
	}()
	select {
	case m := <-found:
		if m == "" {
			t.Fatalf("%s ended before its stderr matched %s", program, pattern)
		}
		return m
	case <-time.After(kafkatest.Deadline):
		t.Fatalf("%s: its stderr does not match %s", program, pattern)
		return ""
	}
}

// prometheus starts one that scrapes an address every second, with koffset's alert rules, and returns its own address.
func prometheus(t *testing.T, target string) string {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs(filepath.Join("..", "docs", "prometheus", "koffset.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n  - job_name: koffset\n    static_configs: [{targets: [%q]}]\n", rules, target)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return inBackground(t, `msg="Listening on" address=(\S+)`, debian(t, "prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
}

// query asks Prometheus for an instant vector: the value by the labels' text; nothing while it starts.
func query(t *testing.T, prometheus, expr string) map[string]string {
	t.Helper()
	body := fetch(t, "http://"+prometheus+"/api/v1/query?query="+url.QueryEscape(expr))
	var r struct {
		Status string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil
	}
	if r.Status != "success" {
		t.Fatalf("%s: %s", expr, body)
	}
	out := map[string]string{}
	for _, x := range r.Data.Result {
		delete(x.Metric, "instance")
		delete(x.Metric, "job")
		delete(x.Metric, "__name__")
		out[strings.TrimPrefix(fmt.Sprint(x.Metric), "map")] = fmt.Sprint(x.Value[1])
	}
	return out
}

func fetch(t *testing.T, address string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPromtoolReadsTheRules(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "koffset.rules.yml"}, {"test", "rules", "koffset.rules.test.yml"}} {
		c := exec.CommandContext(t.Context(), debian(t, "promtool"), args...)
		c.Dir = filepath.Join("..", "docs", "prometheus")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// A Prometheus sees what is true: of a live group of each protocol, of one that falls behind, of a sick one; and
// kafka_exporter's names show the numbers that Kafka's own arithmetic gives.
func TestServeScrapedByPrometheus(t *testing.T) {
	b := newLook(t, "prom")
	topic := b.topic("orders", 2, 10)
	classic := b.join("classic", kafkatest.MemberOptions{Group: b.prefix + "classic", Topics: []string{topic}, AutoCommit: true})
	b.join("consumer", kafkatest.MemberOptions{Group: b.prefix + "848", Topics: []string{topic}, AutoCommit: true})
	kafkatest.Commit(t, b.cl, b.prefix+"hangs", kafkatest.At(topic, 0, 4), kafkatest.At(topic, 1, 10))
	kafkatest.Commit(t, b.cl, b.prefix+"past", kafkatest.At(topic, 0, 99))

	address := inBackground(t, `serving http://(\S+)/metrics`, "koffset", "-b", b.kafka.Bootstrap(), "serve", "--listen", "127.0.0.1:0", "--interval", "1s",
		"--stall-after", "3s", "--group-match", b.prefix+".*", "--compat", "kafka_exporter")
	prom := prometheus(t, address)
	is := func(expr, labels, value string) {
		t.Helper()
		t.Logf("%s%s", expr, labels)
		kafkatest.Until(t, fmt.Sprintf("%s%s is %s", expr, labels, value), func() bool { return query(t, prom, expr)[labels] == value })
	}
	group := func(name string) string { return fmt.Sprintf("[group:%s%s]", b.prefix, name) }
	is("koffset_up", "[]", "1")
	is("koffset_group_members", group("classic"), "1")
	is("koffset_group_members", group("848"), "1")
	is("koffset_group_lag", group("classic"), "0")
	is("koffset_group_lag", group("848"), "0")
	is("koffset_group_lag", group("hangs"), "6")
	is(`koffset_group_verdict{group="`+b.prefix+`past"}`, fmt.Sprintf("[group:%spast verdict:past-log-end]", b.prefix), "1")
	is("kafka_consumergroup_lag", fmt.Sprintf("[consumergroup:%spast partition:0 topic:%s]", b.prefix, topic), "-89")
	is("kafka_consumergroup_lag_sum", fmt.Sprintf("[consumergroup:%shangs topic:%s]", b.prefix, topic), "6")
	is("kafka_consumergroup_current_offset", fmt.Sprintf("[consumergroup:%shangs partition:0 topic:%s]", b.prefix, topic), "4")
	is("kafka_topic_partition_current_offset", fmt.Sprintf("[partition:1 topic:%s]", topic), "10")
	is("kafka_consumergroup_members", fmt.Sprintf("[consumergroup:%s848]", b.prefix), "1")

	// Nothing reads on for hangs; records arrive; it stalls, and the alert is on its way.
	kafkatest.Produce(t, b.cl, kafkatest.Records(topic, 0, 5, time.Now().UnixMilli(), 0)...)
	is(`koffset_group_verdict{group="`+b.prefix+`hangs"}`, fmt.Sprintf("[group:%shangs verdict:no-members-never-live]", b.prefix), "1")
	is(`ALERTS{alertname="KoffsetStandsStill"}`, fmt.Sprintf("[alertname:KoffsetStandsStill alertstate:pending group:%shangs severity:warning verdict:no-members-never-live]", b.prefix), "1")
	is("koffset_group_lag", group("848"), "0")

	// The readers that are alive do not.
	for _, name := range []string{"classic", "848"} {
		is(`koffset_group_verdict{group="`+b.prefix+name+`"}`, fmt.Sprintf("[group:%s%s verdict:ok]", b.prefix, name), "1")
	}
	classic.Close()
	is("koffset_group_members", group("classic"), "0")

	// What was scraped is what promtool takes for well formed.
	lint := exec.CommandContext(t.Context(), debian(t, "promtool"), "check", "metrics")
	lint.Stdin = bytes.NewReader(fetch(t, "http://"+address+"/metrics"))
	out, err := lint.CombinedOutput()
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		// kafka_exporter's own names are what they are.
		if strings.HasPrefix(line, "koffset_") {
			t.Errorf("promtool: %s", line)
		}
	}
	if err != nil && !strings.Contains(string(out), "kafka_") {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// The faults of a real broker, as check sees them: past the end, expired, no commit, markers, a deleted topic, KIP-848.
func TestCheckOnARealBroker(t *testing.T) {
	b := newLook(t, "check")
	topic := b.topic("orders", 3, 10)
	kafkatest.DeleteRecords(t, b.cl, topic, 0, 4)
	g := func(name string) string { return b.prefix + name }
	kafkatest.Commit(t, b.cl, g("past"), kafkatest.At(topic, 1, 99))
	kafkatest.Commit(t, b.cl, g("below"), kafkatest.At(topic, 0, 1))
	kafkatest.Commit(t, b.cl, g("negative"), kafkatest.At(topic, 0, -5))
	kafkatest.Commit(t, b.cl, g("some"), kafkatest.At(topic, 0, 6), kafkatest.At(topic, 1, 7))
	tx := kafkatest.OpenF3(t, b.cl, b.prefix)
	kafkatest.Commit(t, b.cl, g("markers"), kafkatest.At(tx.Topic, 0, 3))
	check := func(code int, want string, args ...string) {
		t.Helper()
		r := runLine(t, append([]string{"-b", b.kafka.Bootstrap(), "check"}, args...)...)
		if r.code != code || !regexp.MustCompile(want).MatchString(r.out+r.err) {
			t.Errorf("check %s: exit status %d, want %d and %q\n%s%s", strings.Join(args, " "), r.code, code, want, r.out, r.err)
		}
	}
	check(8, `past-log-end: the commit is 89 past the log end`, g("past"), "--max-lag", "1000000")
	check(8, `below-log-start: the log starts 3 after the commit`, g("below"))
	check(8, `invalid-commit`, g("negative"))
	check(0, `lag 7, .*1 partition uncommitted`, g("some"), "--max-lag", "7", "--max-uncommitted", "1")
	check(8, `lag 7 is above the limit of 6`, g("some"), "--max-lag", "6", "--max-uncommitted", "1")
	check(8, `max-uncommitted +no commit on 1 partition with records`, g("some"))
	// Committed 3, the marker at 3, aborted 4..5, marker 6, open from 7 on: a read_committed reader has nothing to read, and is
	// not stopped; an uncommitted one has.
	check(0, `lag 4`, g("markers"), "--no-stall", "--for", "2s", "--isolation", "read_committed")
	check(8, `no-members-never-live: no commit for`, g("markers"), "--no-stall", "--for", "2s")
	check(5, `no such group`, g("nobody"))

	m := b.join("consumer", kafkatest.MemberOptions{Group: g("848"), Topics: []string{topic}, AutoCommit: true})
	kafkatest.Until(t, "the KIP-848 reader has committed", func() bool { return kafkatest.CommittedOffsets(t, b.cl, g("848"), topic)[2] == 10 })
	check(0, `group `+g("848")+`: ok, lag 0`, g("848"), "--max-lag", "0", "--no-stall", "--for", "5s")
	m.Close()
	kafkatest.Produce(t, b.cl, kafkatest.Records(topic, 2, 3, time.Now().UnixMilli(), 0)...)
	check(8, `stopped: no member reads it, 3 behind`, g("848"), "--no-stall", "--for", "1s")
	check(0, `oldest waiting record`, g("848"), "--max-lag-time", "10m")

	gone := b.topic("gone", 1, 5)
	b.join("classic", kafkatest.MemberOptions{Group: g("live"), Topics: []string{gone, topic}, AutoCommit: true})
	kafkatest.Until(t, "the classic reader has committed", func() bool { return kafkatest.CommittedOffsets(t, b.cl, g("live"), gone)[0] == 5 })
	if _, err := kadm.NewClient(b.cl).DeleteTopic(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	r := runLine(t, "-b", b.kafka.Bootstrap(), "check", g("live"), "--max-lag", "100")
	if r.took > 5*time.Second || r.code != 0 && r.code != 8 && r.code != 4 {
		t.Errorf("after a topic was deleted: exit status %d after %s\n%s%s", r.code, r.took, r.out, r.err)
	}
}

// The exact lag in time on a real broker: compressed batches, a large one, transactions, an expired commit.
func TestRealLagTime(t *testing.T) {
	b := newLook(t, "lagtime")
	topic := b.topic("old", 2, 0)
	kafkatest.Produce(t, b.cl, kafkatest.Records(topic, 0, 50, kafkatest.F1Start, 1000)...)
	var big []string
	for i := range 40 {
		big = append(big, fmt.Sprint(i, strings.Repeat("x", 2000)))
	}
	rs := kafkatest.Records(topic, 1, len(big), kafkatest.F1Start, 1000)
	for i := range rs {
		rs[i].Value = []byte(big[i])
	}
	kafkatest.Produce(t, b.cl, rs...)
	kafkatest.DeleteRecords(t, b.cl, topic, 0, 10)
	kafkatest.Commit(t, b.cl, b.prefix+"g", kafkatest.At(topic, 0, 3), kafkatest.At(topic, 1, 31))
	type row struct {
		Next    *int64   `json:"next_offset"`
		Time    string   `json:"next_timestamp"`
		ToHead  *float64 `json:"lag_to_head_seconds"`
		Seconds *float64 `json:"lag_seconds"`
		Error   *string  `json:"lag_time_error"`
	}
	var got struct{ Partitions []row }
	r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", b.prefix+"g", "--lag-time", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 || len(got.Partitions) != 2 {
		t.Fatalf("exit status %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
	for i, want := range []struct {
		next   int64
		time   string
		toHead float64
	}{{10, "2024-03-10T12:00:10.000Z", 39}, {31, "2024-03-10T12:00:31.000Z", 8}} {
		p := got.Partitions[i]
		if p.Error != nil || p.Next == nil || *p.Next != want.next || p.Time != want.time || p.ToHead == nil || *p.ToHead != want.toHead || p.Seconds == nil {
			t.Errorf("partition %d: %+v, want %+v", i, p, want)
		}
	}
	tx := kafkatest.OpenF3(t, b.cl, b.prefix)
	kafkatest.Commit(t, b.cl, b.prefix+"tx", kafkatest.At(tx.Topic, 0, 3))
	r = runLine(t, "-b", b.kafka.Bootstrap(), "inspect", b.prefix+"tx", "--lag-time", "--isolation", "read_committed", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Partitions[0].Next != nil || got.Partitions[0].Seconds == nil || *got.Partitions[0].Seconds != 0 {
		t.Errorf("behind markers and aborted records: %s%s", r.out, r.err)
	}
	r = runLine(t, "-b", b.kafka.Bootstrap(), "inspect", b.prefix+"tx", "--lag-time", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Partitions[0].Next == nil || *got.Partitions[0].Next != 4 {
		t.Errorf("read_uncommitted: %s%s", r.out, r.err)
	}
}

// An age rests on a record that is there: what retention removes takes its age along, markers at the end are nothing to read
// however long they stand there, and a record that is stamped ahead of now makes no age and no distance.
func TestAgesOnARealLog(t *testing.T) {
	b := newLook(t, "ages")
	now := time.Now()
	topic := b.topic("ages", 1, 0)
	kafkatest.Produce(t, b.cl,
		kafkatest.Record(topic, 0, now.Add(-3*time.Hour).UnixMilli(), "old"), kafkatest.Record(topic, 0, now.Add(-time.Hour).UnixMilli(), "young"),
		kafkatest.Record(topic, 0, now.Add(50*time.Minute).UnixMilli(), "ahead"))
	kafkatest.Commit(t, b.cl, b.prefix+"g", kafkatest.At(topic, 0, 0))
	kafkatest.Commit(t, b.cl, b.prefix+"ahead", kafkatest.At(topic, 0, 2))
	tx := kafkatest.OpenF3(t, b.cl, b.prefix)
	kafkatest.Commit(t, b.cl, b.prefix+"markers", kafkatest.At(tx.Topic, 0, 3))

	address := inBackground(t, `serving http://(\S+)/metrics`, "koffset", "-b", b.kafka.Bootstrap(), "serve", "--listen", "127.0.0.1:0", "--interval", "500ms",
		"--isolation", "read_committed", "--group-match", b.prefix+".*")
	age := func(group string) (seconds float64, ok bool) {
		resp, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return 0, false
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		m := regexp.MustCompile(`(?m)^koffset_group_lag_seconds\{group="` + b.prefix + group + `"\} (\S+)$`).FindSubmatch(text)
		if m == nil {
			return 0, false
		}
		seconds, err = strconv.ParseFloat(string(m[1]), 64)
		return seconds, err == nil
	}
	about := func(group string, want time.Duration) {
		t.Helper()
		kafkatest.Until(t, fmt.Sprintf("the age of %s is about %s", group, want), func() bool {
			got, ok := age(group)
			return ok && got >= want.Seconds() && got < want.Seconds()+120
		})
	}
	about("g", 3*time.Hour)
	about("markers", 0)
	kafkatest.DeleteRecords(t, b.cl, topic, 0, 1)
	about("g", time.Hour)
	r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", b.prefix+"ahead", "--lag-time", "-o", "json")
	if r.code != 0 || !strings.Contains(r.out, `"lag_seconds":null,"lag_to_head_seconds":null,"lag_time_basis":null,"lag_time_unknown":"future-timestamp"`) {
		t.Errorf("a record that is stamped ahead of now: exit status %d\n%s%s", r.code, r.out, r.err)
	}
	if r := runLine(t, "-b", b.kafka.Bootstrap(), "check", b.prefix+"ahead", "--max-lag-time", "5m"); r.code != 4 || !strings.Contains(r.err, "its time is in the future") {
		t.Errorf("check of an age that is unknown: exit status %d\n%s%s", r.code, r.out, r.err)
	}
	recordsWithoutATime(t, b)
}

// recordsWithoutATime are stored with -1, as producers before Kafka 0.10 and some bridges leave them: no age, and no 1969.
func recordsWithoutATime(t *testing.T, b *lookBed) {
	t.Helper()
	topic := b.topic("timeless", 1, 0)
	for range 3 {
		kafkatest.Produce(t, b.cl, kafkatest.Record(topic, 0, -1, "timeless"))
	}
	g := b.prefix + "timeless"
	kafkatest.Commit(t, b.cl, g, kafkatest.At(topic, 0, 0))
	r := runLine(t, "-b", b.kafka.Bootstrap(), "inspect", g, "--lag-time", "-o", "json")
	if r.code != 0 || !strings.Contains(r.out, `"lag_seconds":null`) || !strings.Contains(r.out, `"lag_time_unknown":"no-timestamp"`) || strings.Contains(r.out, "1969") {
		t.Errorf("records without a time: exit status %d\n%s%s", r.code, r.out, r.err)
	}
	if r := runLine(t, "-b", b.kafka.Bootstrap(), "check", g, "--max-lag-time", "5m"); r.code != 4 {
		t.Errorf("check of records without a time: exit status %d\n%s%s", r.code, r.out, r.err)
	}
}
