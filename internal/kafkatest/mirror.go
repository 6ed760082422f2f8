//go:build realkafka

package kafkatest

// MirrorMaker 2: what people move between clusters with, and so what a migration is compared with.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Mirror is a running MirrorMaker 2 that ends with the test.
type Mirror struct {
	proc *process
}

// MirrorProperties mirror all topics and groups from one cluster, called src, to another, called dst. Copied topics are called
// src.NAME there, unless extra sets another replication.policy.class. Everything that waits is set to a second, and each record's offset
// is translated exactly (offset.lag.max=0). Commits reach dst once its group is idle. It finds its plugins by their manifests: looking
// through all classes took 35 s of a start on a busy machine.
func MirrorProperties(src, dst *Kafka, extra map[string]string) map[string]string {
	props := map[string]string{
		"clusters":                              "src,dst",
		"src.bootstrap.servers":                 src.Bootstrap(),
		"dst.bootstrap.servers":                 dst.Bootstrap(),
		"src->dst.enabled":                      "true",
		"dst->src.enabled":                      "false",
		"dst->src.emit.heartbeats.enabled":      "false", // or MirrorMaker has a second worker for them
		"plugin.discovery":                      "SERVICE_LOAD",
		"dst.plugin.discovery":                  "SERVICE_LOAD",
		"topics":                                ".*",
		"groups":                                ".*",
		"replication.factor":                    "1",
		"heartbeats.topic.replication.factor":   "1",
		"checkpoints.topic.replication.factor":  "1",
		"offset-syncs.topic.replication.factor": "1",
		"offset.storage.replication.factor":     "1",
		"status.storage.replication.factor":     "1",
		"config.storage.replication.factor":     "1",
		"offset.storage.partitions":             "1",
		"status.storage.partitions":             "1",
		"refresh.topics.interval.seconds":       "1",
		"refresh.groups.interval.seconds":       "1",
		"sync.topic.configs.interval.seconds":   "1",
		"emit.checkpoints.interval.seconds":     "1",
		"emit.heartbeats.interval.seconds":      "1",
		"sync.group.offsets.enabled":            "true",
		"sync.group.offsets.interval.seconds":   "1",
		"offset.lag.max":                        "0",
		"offset.flush.interval.ms":              "1000",
		"dst.producer.linger.ms":                "0",
		"dst.scheduled.rebalance.max.delay.ms":  "0",
		"sync.topic.acls.enabled":               "false",
	}
	maps.Copy(props, extra)
	return props
}

// StartMirror starts MirrorMaker 2 with properties. It returns at once: what a test waits for is what MirrorMaker copies, and that
// takes about 15 s for the first record on two cores.
func StartMirror(t testing.TB, props map[string]string) *Mirror {
	t.Helper()
	jars, err := Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mm2.properties")
	if err := writeProperties(file, props); err != nil {
		t.Fatal(err)
	}
	cmd, err := java(jars, dir, []string{"-Xmx512m", "-Droot.level=INFO"}, "org.apache.kafka.connect.mirror.MirrorMaker", file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess("MirrorMaker", cmd, filepath.Join(dir, "mm2.log"), "")
	if err != nil {
		t.Fatal(err)
	}
	m := &Mirror{proc: p}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("MirrorMaker's log ends with:\n%s", tail(p.log))
		}
		m.Kill()
	})
	return m
}

// Log is what MirrorMaker has logged so far.
func (m *Mirror) Log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(m.proc.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Err is how MirrorMaker ended, or nil while it runs.
func (m *Mirror) Err() error {
	select {
	case <-m.proc.done:
		return fmt.Errorf("MirrorMaker ended: %v", m.proc.err)
	default:
		return nil
	}
}

// Stop ends MirrorMaker in good order: it flushes its own offsets.
func (m *Mirror) Stop() { m.proc.stop(syscall.SIGTERM, 30*time.Second) }

// Kill ends MirrorMaker at once.
func (m *Mirror) Kill() { m.proc.stop(syscall.SIGKILL, 10*time.Second) }
