package consumeconf

// Flink's own configuration files: flink-conf.yaml, which is flat and no YAML, and config.yaml, which is.

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koffset/koffset/internal/config"
)

// FlinkConf reads a Flink configuration. A file that Flink itself reads line by line (flink-conf.yaml: KEY: VALUE, a #
// begins a comment) is read that way; another one as YAML. What is not koffset's is kept in Resolved.Unused.
func (s *Set) FlinkConf(file string, data []byte) error {
	if filepath.Base(file) == "flink-conf.yaml" {
		return s.flat(file, data)
	}
	root, err := config.Document(file, data)
	if root == nil {
		return err
	}
	values, err := config.Flatten(root, file, config.FromFlinkConf)
	if err != nil {
		return err
	}
	return s.takeSet(values)
}

func (s *Set) flat(file string, data []byte) error {
	var values []config.Value
	for i, line := range bytes.Split(data, []byte("\n")) {
		text, _, _ := strings.Cut(string(line), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		k, v, ok := strings.Cut(text, ": ")
		if !ok {
			if k, ok = strings.CutSuffix(text, ":"); !ok {
				s.warn(config.Place(file, i+1), "write KEY: VALUE", "the line is not a setting, Flink ignores it too")
				continue
			}
		}
		values = append(values, config.Value{As: strings.TrimSpace(k), Text: strings.Trim(strings.TrimSpace(v), `"'`),
			Source: config.Source{Kind: config.FromFlinkConf, File: file, Line: i + 1}})
	}
	return s.takeSet(values)
}

// takeSet leaves out what is empty, as Flink does.
func (s *Set) takeSet(values []config.Value) error {
	return s.take(slices.DeleteFunc(values, func(v config.Value) bool { return v.Text == "" }))
}
