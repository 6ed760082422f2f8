//go:build realkafka

package kafkatest

// Flink's own loader of metadata files, as a peer to measure against.

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

//go:embed FlinkLoad.java
var flinkLoad []byte

// FlinkLoaded is one reading of a metadata file by Flink's Checkpoints.loadCheckpointMetadata.
type FlinkLoaded struct {
	Took time.Duration
	// Kept is how many bytes of the heap the result holds, Peak how many more than before were in use at the most.
	Kept, Peak          int64
	Operators, Subtasks int
}

// LoadFlink reads a file a number of times in one JVM with one processor and Java's usual compilers; the first times are slow. Flink
// opens the file without a buffer; buffered puts one of 1 MiB before it.
func LoadFlink(ctx context.Context, v FlinkVersion, path string, runs int, buffered bool) ([]FlinkLoaded, error) {
	dirs, err := flinkClasses(ctx, v)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-Xmx4g", "-cp", dirs, "FlinkLoad",
		path, fmt.Sprint(runs), fmt.Sprint(buffered))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("flink %s reads %s: %w\n%s", v, path, err, stderr.String())
	}
	var all []FlinkLoaded
	for line := range strings.Lines(string(out)) {
		var l FlinkLoaded
		var ns int64
		if _, err := fmt.Sscan(line, &ns, &l.Kept, &l.Peak, &l.Operators, &l.Subtasks); err != nil {
			return nil, fmt.Errorf("flink %s: the line %q: %w", v, line, err)
		}
		l.Took = time.Duration(ns)
		all = append(all, l)
	}
	if len(all) != runs {
		return nil, fmt.Errorf("flink %s: %d of %d readings", v, len(all), runs)
	}
	return all, nil
}
