//go:build realkafka

package kafkatest

// A real Apache Flink: jobs in one JVM, each on a cluster inside it.

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

//go:embed flink-pom.xml
var flinkPom []byte

//go:embed FlinkLoop.java
var flinkLoop []byte

//go:embed FlinkLegacy.java
var flinkLegacy []byte

// FlinkVersion is a release of Flink, with the Kafka connector that goes with it.
type FlinkVersion string

// The releases that tests run: the last of Flink 1, which still has FlinkKafkaConsumer, and Flink 2.
const (
	Flink1 FlinkVersion = "1.20.4"
	Flink2 FlinkVersion = "2.2.1"
)

func (v FlinkVersion) connector() string {
	if v == Flink1 {
		return "3.4.0-1.20"
	}
	return "5.0.0-2.2"
}

// Flink is a JVM that runs jobs. Its start and its first job take about 6 s, a job after that about 2 s.
type Flink struct {
	Version FlinkVersion

	mu   sync.Mutex
	dir  string
	proc *process
	in   io.Writer
	out  *bufio.Reader
	jobs int
}

// newFlink copies the jars, compiles the jobs, and starts the JVM. [Flink.Close] ends it.
func newFlink(ctx context.Context, v FlinkVersion) (*Flink, error) {
	dirs, err := flinkClasses(ctx, v)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "koffset-flink-")
	if err != nil {
		return nil, err
	}
	f := &Flink{Version: v, dir: dir}
	if err := f.start(dirs); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// flinkClasses returns the class path: the compiled jobs, and Flink's jars.
func flinkClasses(ctx context.Context, v FlinkVersion) (string, error) {
	lib, err := jars(ctx, "flink", flinkPom, "-Dflink.version="+string(v), "-Dconnector.version="+v.connector())
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sources := map[string][]byte{"FlinkLoop.java": flinkLoop, "FlinkLoad.java": flinkLoad}
	if v == Flink1 {
		sources["FlinkLegacy.java"] = flinkLegacy
	}
	sum := sha256.Sum256(slices.Concat([]byte(v), flinkLoop, flinkLoad, flinkLegacy))
	dir := filepath.Join(cache, fmt.Sprintf("flinkjobs-%.6x", sum))
	classes, err := filled(cache, dir, func() error {
		args := []string{"-nowarn", "-d", dir, "-cp", filepath.Join(lib, "*")}
		for name, text := range sources {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
			args = append(args, file)
		}
		return run(ctx, "javac", args...)
	})
	return classes + string(os.PathListSeparator) + filepath.Join(lib, "*"), err
}

func (f *Flink) start(classPath string) error {
	args := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g"}
	for _, pkg := range []string{"java.util", "java.lang", "java.nio", "java.util.concurrent", "java.net"} {
		args = append(args, "--add-opens=java.base/"+pkg+"=ALL-UNNAMED") // Flink reads private fields of the JDK
	}
	cmd := exec.Command("java", append(args, "-cp", classPath, "FlinkLoop")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if f.proc, err = startProcess("the JVM of Flink", cmd, f.log(), f.dir); err != nil {
		return err
	}
	f.in, f.out = in, bufio.NewReader(out)
	return nil
}

func (f *Flink) log() string { return filepath.Join(f.dir, "flink.log") }

// Close ends the JVM, and every job with it.
func (f *Flink) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.proc != nil {
		f.proc.stop(syscall.SIGKILL, 10*time.Second)
		f.proc = nil
	}
	_ = os.RemoveAll(f.dir)
}

// call sends one request. The error is Flink's exception with its stack, or that the JVM is gone.
func (f *Flink) call(what string, args url.Values) (url.Values, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	args.Set("call", what)
	over := time.AfterFunc(callTimeout, func() { _ = f.proc.cmd.Process.Kill() })
	defer over.Stop()
	_, err := io.WriteString(f.in, args.Encode()+"\n")
	var line string
	if err == nil {
		line, err = f.out.ReadString('\n')
	}
	if err != nil {
		return nil, fmt.Errorf("flink %s: %s: %w; the JVM's log ends with:\n%s", f.Version, what, err, tail(f.log()))
	}
	answer, err := url.ParseQuery(strings.TrimSpace(line))
	if err == nil && answer.Has("error") {
		err = errors.New(answer.Get("error"))
	}
	return answer, err
}

// FlinkOptions say what a job is. It reads topics and counts the records of each key in keyed state.
type FlinkOptions struct {
	Bootstrap string
	Topics    []string
	Group     string
	UID       string // of the source
	// Legacy reads with FlinkKafkaConsumer; only Flink1 has it.
	Legacy bool
	// From is where a source without state starts: earliest (the default), latest, or committed, which fails without a commit.
	From        string
	Parallelism int // 0 is 1

	// Restore is the snapshot to go on from; AllowNonRestored lets it hold operators that the job does not have.
	Restore          string
	AllowNonRestored bool

	RocksDB  bool
	Compress bool // snappy for operator state
	InFiles  bool // no state inline in _metadata
	// Config is more of Flink's own configuration.
	Config map[string]string
}

func (o *FlinkOptions) config(dir string) map[string]string {
	c := map[string]string{
		"restart-strategy.type":           "none",
		"rest.port":                       "0",
		"taskmanager.memory.managed.size": "64m",
		"taskmanager.memory.network.min":  "16m",
		"taskmanager.memory.network.max":  "16m",
	}
	if o.Restore != "" {
		c["execution.savepoint.path"] = o.Restore
	}
	if o.AllowNonRestored {
		c["execution.savepoint.ignore-unclaimed-state"] = "true"
	}
	c["state.backend.type"] = "hashmap"
	if o.RocksDB {
		c["state.backend.type"] = "rocksdb"
	}
	if o.Compress {
		c["execution.checkpointing.snapshot-compression"] = "true"
	}
	if o.InFiles {
		// Without a directory checkpoints live in the job manager's memory, and savepoints inline all state then.
		c["execution.checkpointing.storage"] = "filesystem"
		c["execution.checkpointing.dir"] = "file:" + filepath.Join(dir, "checkpoints")
		c["execution.checkpointing.data-inline-threshold"] = "0"
	}
	for k, v := range o.Config {
		c[k] = v
	}
	return c
}

// FlinkRecord is a record that a job has read, and how many with its key the job had counted then.
type FlinkRecord struct {
	Topic     string
	Partition int32
	Offset    int64
	Key       string
	Count     int64
}

// FlinkJob is a job that was started.
type FlinkJob struct {
	flink *Flink
	id    string
	file  string
}

// Run starts a job, which is cancelled with the test if nothing ended it before.
func (f *Flink) Run(t testing.TB, o FlinkOptions) *FlinkJob {
	t.Helper()
	f.mu.Lock()
	f.jobs++
	j := &FlinkJob{flink: f, id: strconv.Itoa(f.jobs)}
	f.mu.Unlock()
	j.file = filepath.Join(f.dir, "job-"+j.id+".tsv")
	if o.From == "" {
		o.From = "earliest"
	}
	args := url.Values{"id": {j.id}, "bootstrap": {o.Bootstrap}, "topics": {strings.Join(o.Topics, ",")}, "from": {o.From},
		"parallelism": {strconv.Itoa(max(1, o.Parallelism))}, "file": {j.file}}
	if o.Group != "" {
		args.Set("group", o.Group)
	}
	if o.UID != "" {
		args.Set("uid", o.UID)
	}
	if o.Legacy {
		args.Set("legacy", "true")
	}
	for k, v := range o.config(f.dir) {
		args.Set("conf."+k, v)
	}
	if _, err := f.call("start", args); err != nil {
		t.Fatalf("start a Flink job: %v", err)
	}
	t.Cleanup(func() {
		if j.id != "" {
			_, _ = f.call("cancel", url.Values{"id": {j.id}}) // the JVM's end ends it as well
		}
	})
	return j
}

// Savepoint takes a savepoint below dir and returns its folder. The job goes on.
func (j *FlinkJob) Savepoint(t testing.TB, dir, format string) string {
	t.Helper()
	return j.snapshot(t, "savepoint", dir, format)
}

// Stop takes a savepoint below dir, stops the job, and returns the savepoint's folder. What the job had read by then is all
// in [FlinkJob.Records].
func (j *FlinkJob) Stop(t testing.TB, dir, format string) string {
	t.Helper()
	path := j.snapshot(t, "stop", dir, format)
	j.id = ""
	return path
}

// snapshot: format is canonical or native.
func (j *FlinkJob) snapshot(t testing.TB, call, dir, format string) string {
	t.Helper()
	answer, err := j.flink.call(call, url.Values{"id": {j.id}, "dir": {dir}, "format": {format}})
	if err != nil {
		t.Fatalf("%s of a Flink job: %v", call, err)
	}
	return strings.TrimPrefix(answer.Get("path"), "file:")
}

// Cancel ends the job without a savepoint.
func (j *FlinkJob) Cancel(t testing.TB) {
	t.Helper()
	if _, err := j.flink.call("cancel", url.Values{"id": {j.id}}); err != nil {
		t.Fatalf("cancel a Flink job: %v", err)
	}
	j.id = ""
}

// failure waits until the job has failed, and returns the exception with its causes.
func (j *FlinkJob) failure(t testing.TB) string {
	t.Helper()
	var err error
	Until(t, "the Flink job fails", func() bool {
		_, err = j.flink.call("status", url.Values{"id": {j.id}})
		return err != nil
	})
	return err.Error()
}

// Wait waits until the job has read at least n records, and returns them in the order in which they were processed. A job
// that failed fails the test with its exception.
func (j *FlinkJob) Wait(t testing.TB, n int) []FlinkRecord {
	t.Helper()
	var got []FlinkRecord
	looked := time.Now()
	Until(t, fmt.Sprintf("the Flink job has read %d records", n), func() bool {
		got = j.Records(t)
		if len(got) < n && time.Since(looked) > time.Second {
			looked = time.Now()
			if _, err := j.flink.call("status", url.Values{"id": {j.id}}); err != nil {
				t.Fatalf("the Flink job failed after %d of %d records: %v", len(got), n, err)
			}
		}
		return len(got) >= n
	})
	return got
}

// Records are the records that the job has read so far, in the order in which they were processed.
func (j *FlinkJob) Records(t testing.TB) []FlinkRecord {
	t.Helper()
	data, err := os.ReadFile(j.file)
	if err != nil {
		t.Fatal(err)
	}
	var out []FlinkRecord
	lines := strings.SplitAfter(string(data), "\n")
	for _, line := range lines[:len(lines)-1] { // what is after the last line feed is not whole yet
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			t.Fatalf("%s: the line %q has %d fields, not 5", j.file, line, len(f))
		}
		part, err1 := strconv.ParseInt(f[1], 10, 32)
		off, err2 := strconv.ParseInt(f[2], 10, 64)
		count, err3 := strconv.ParseInt(f[4], 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatalf("%s: %v", j.file, err)
		}
		out = append(out, FlinkRecord{Topic: f[0], Partition: int32(part), Offset: off, Key: f[3], Count: count})
	}
	return out
}
