package sandbox

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Snapshots that real Flink jobs wrote, of jobs that read the topic orders: flink by Flink 2.2 with KafkaSource,
// flink-old by Flink 1.20 with FlinkKafkaConsumer. They are those of checkpointfile/flink's tests.
//
//go:embed all:snapshots
var snapshots embed.FS

// WriteSnapshots writes the sample Flink snapshots into a folder, which is made where it does not exist, and returns the folders of
// the jobs. A file that exists is an error, and stays as it is.
func WriteSnapshots(dir string, now time.Time) ([]string, error) {
	jobs, err := fs.ReadDir(snapshots, "snapshots")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, job := range jobs {
		to := filepath.Join(dir, job.Name())
		files, err := fs.Sub(snapshots, "snapshots/"+job.Name())
		if err != nil {
			return out, err
		}
		if err := os.CopyFS(to, files); err != nil {
			return out, fmt.Errorf("write the sample snapshots: %w", err)
		}
		out = append(out, to)
		// What is embedded has no time of its own.
		err = filepath.WalkDir(to, func(p string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chtimes(p, now, now)
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
