//go:build realkafka

package kafkatest

// Kafka's own command line tools, run inside one JVM.

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Main classes of Kafka's tools, for [Tools.Run].
const (
	ConsumerGroups  = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
	ShareGroups     = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
	StreamsGroups   = "org.apache.kafka.tools.streams.StreamsGroupCommand"
	Groups          = "org.apache.kafka.tools.GroupsCommand"
	GetOffsets      = "org.apache.kafka.tools.GetOffsetShell"
	DeleteRecordsCL = "org.apache.kafka.tools.DeleteRecordsCommand"
	Topics          = "org.apache.kafka.tools.TopicCommand"
	Configs         = "kafka.admin.ConfigCommand"
	ACLs            = "org.apache.kafka.tools.AclCommand"
	ConsoleProducer = "org.apache.kafka.tools.ConsoleProducer"
	ConsoleConsumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
)

// callTimeout bounds one call of a tool, whose own time-out is usually 30 s.
const callTimeout = 2 * time.Minute

// Result is what one call of a tool left. Kafka's tools exit 0 after many failures, so tests look at the text as well.
type Result struct {
	Stdout, Stderr string
	Status         int
	Took           time.Duration
}

// Tools is a JVM that runs tools one at a time. The first call of a class costs about a second, later ones some tens of
// milliseconds plus what the tool waits for.
type Tools struct {
	mu    sync.Mutex
	jars  string
	class string // folder of the compiled loop
	dir   string
	proc  *process
	in    io.Writer
	out   *bufio.Reader
}

//go:embed ToolLoop.java
var toolLoop []byte

// NewTools prepares the runner; the JVM starts with the first call. [Tools.Close] ends it.
func NewTools(ctx context.Context) (*Tools, error) {
	jars, err := Jars(ctx)
	if err != nil {
		return nil, err
	}
	class, err := compileLoop(ctx, jars)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "koffset-tools-")
	if err != nil {
		return nil, err
	}
	return &Tools{jars: jars, class: class, dir: dir}, nil
}

// compileLoop compiles the loop once for each version of it and of the jars: Java's source-launch mode would compile it at every start.
func compileLoop(ctx context.Context, jars string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(append([]byte{}, toolLoop...), pom...))
	dir := filepath.Join(cache, fmt.Sprintf("tools-%x", sum)[:18])
	done := filepath.Join(dir, ".done")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	return dir, locked(cache, filepath.Base(dir), func() error {
		if _, err := os.Stat(done); err == nil {
			return nil
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		source := filepath.Join(dir, "ToolLoop.java")
		if err := os.WriteFile(source, toolLoop, 0o644); err != nil {
			return err
		}
		if err := run(ctx, "javac", "-d", dir, "-cp", filepath.Join(jars, "*"), source); err != nil {
			return err
		}
		return os.WriteFile(done, nil, 0o644)
	})
}

// Run runs a tool's main method with args.
func (x *Tools) Run(t testing.TB, class string, args ...string) Result {
	t.Helper()
	return x.RunInput(t, "", class, args...)
}

// RunInput is [Tools.Run] with text on the tool's standard input.
func (x *Tools) RunInput(t testing.TB, stdin, class string, args ...string) Result {
	t.Helper()
	r, err := x.Call(t.Context(), stdin, class, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Call is [Tools.RunInput] for programs that are no tests.
func (x *Tools) Call(ctx context.Context, stdin, class string, args ...string) (Result, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.start(); err != nil {
		return Result{}, err
	}
	begin := time.Now()
	type answer struct {
		r   Result
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		r, err := x.call(stdin, append([]string{class}, args...))
		answers <- answer{r, err}
	}()
	over := time.NewTimer(callTimeout)
	defer over.Stop()
	var err error
	select {
	case a := <-answers:
		if a.r.Took = time.Since(begin); a.err == nil {
			return a.r, nil
		}
		err = a.err
	case <-over.C:
		err = fmt.Errorf("no answer after %s", callTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	// The JVM is in the middle of something: the next call gets a new one.
	x.stop()
	return Result{}, fmt.Errorf("%s %s: %w; the JVM's log ends with:\n%s", class, strings.Join(args, " "), err, tail(x.log()))
}

func (x *Tools) log() string { return filepath.Join(x.dir, "tools.log") }

func (x *Tools) start() error {
	if x.proc != nil {
		return nil
	}
	jvm := []string{"-Xmx512m"}
	cmd, err := java(x.jars, x.dir, jvm, "ToolLoop")
	if err != nil {
		return err
	}
	for i, a := range cmd.Args {
		if a == "-cp" {
			cmd.Args[i+1] = x.class + string(os.PathListSeparator) + cmd.Args[i+1]
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if x.proc, err = startProcess("the JVM of Kafka's tools", cmd, x.log(), x.dir); err != nil {
		return err
	}
	x.in, x.out = in, bufio.NewReader(out)
	return nil
}

func (x *Tools) call(stdin string, words []string) (Result, error) {
	msg := binary.BigEndian.AppendUint32(nil, uint32(len(words)))
	for _, w := range append(words, stdin) {
		msg = binary.BigEndian.AppendUint32(msg, uint32(len(w)))
		msg = append(msg, w...)
	}
	if _, err := x.in.Write(msg); err != nil {
		return Result{}, err
	}
	status, err := x.readInt()
	if err != nil {
		return Result{}, err
	}
	stdout, err1 := x.readString()
	stderr, err2 := x.readString()
	return Result{Stdout: stdout, Stderr: stderr, Status: int(int32(status))}, errors.Join(err1, err2)
}

func (x *Tools) readInt() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(x.out, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

func (x *Tools) readString() (string, error) {
	n, err := x.readInt()
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(x.out, b)
	return string(b), err
}

func (x *Tools) stop() {
	if x.proc != nil {
		x.proc.stop(syscall.SIGKILL, 10*time.Second)
		x.proc = nil
	}
}

// Close ends the JVM.
func (x *Tools) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stop()
	_ = os.RemoveAll(x.dir)
}
