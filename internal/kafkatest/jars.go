//go:build realkafka

package kafkatest

// Jars: copied once from Maven Central into the user's cache.

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed pom.xml
var pom []byte

//go:embed log4j2.xml
var log4j []byte

// Jars returns the folder with Kafka's jars, filling it first if need be (94 files; 8 s measured over a fast network).
func Jars(ctx context.Context) (string, error) { return jars(ctx, "kafka", pom) }

// jars returns the folder with the jars that a pom names, filling it first if need be. The folder's name carries a digest of the
// pom and of Maven's extra arguments, so another version never meets an old cache.
func jars(ctx context.Context, name string, pom []byte, args ...string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(pom)
	for _, a := range args {
		sum.Write([]byte(a))
	}
	dir := filepath.Join(cache, fmt.Sprintf("%s-%.6x", name, sum.Sum(nil)))
	return filled(cache, dir, func() error {
		file := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(file, pom, 0o644); err != nil {
			return err
		}
		args = append([]string{"-q", "-B", "-f", file, "dependency:copy-dependencies", "-DoutputDirectory=" + dir}, args...)
		if err := run(ctx, "mvn", args...); err != nil {
			return fmt.Errorf("copy the jars of %s to %s: %w", name, dir, err)
		}
		return nil
	})
}

// filled makes a folder of the cache and fills it once, whatever other packages do at the same time. A folder whose filling
// failed is filled again by the next call.
func filled(cache, dir string, fill func() error) (string, error) {
	done := filepath.Join(dir, ".done")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	return dir, locked(cache, filepath.Base(dir), func() error {
		if _, err := os.Stat(done); err == nil { // another package was faster
			return nil
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := fill(); err != nil {
			return err
		}
		return os.WriteFile(done, nil, 0o644)
	})
}

// java is a command that runs a main class with Kafka's jars. work holds the log configuration. Serial collector and first-tier
// compiler only: a test's JVM lives for seconds, and several share two cores.
func java(jars, work string, jvm []string, class string, args ...string) (*exec.Cmd, error) {
	config := filepath.Join(work, "log4j2.xml")
	if err := os.WriteFile(config, log4j, 0o644); err != nil {
		return nil, err
	}
	all := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dlog4j2.configurationFile=" + config}
	all = append(all, jvm...)
	all = append(all, "-cp", filepath.Join(jars, "*"), class)
	return exec.Command("java", append(all, args...)...), nil
}
