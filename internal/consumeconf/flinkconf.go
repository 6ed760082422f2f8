package consumeconf

// Flink's own configuration files: flink-conf.yaml, which is flat and no YAML, and config.yaml, which is.

import (
	"bytes"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FlinkConf reads a Flink configuration. A file that Flink itself reads line by line (flink-conf.yaml: KEY: VALUE, a #
// begins a comment) is read that way; another one as YAML. What is not koffset's is kept in Resolved.Unused.
func (s *Set) FlinkConf(file string, data []byte) error {
	if filepath.Base(file) == "flink-conf.yaml" {
		return s.flat(file, data)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return errorf(filepath.Base(file), "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil
	}
	values, err := flatten(doc.Content[0], file, "", FromFlinkConf)
	if err != nil {
		return err
	}
	return s.take(values)
}

func (s *Set) flat(file string, data []byte) error {
	var values []Value
	for i, line := range bytes.Split(data, []byte("\n")) {
		text, _, _ := strings.Cut(string(line), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		k, v, ok := strings.Cut(text, ": ")
		if !ok {
			if k, ok = strings.CutSuffix(text, ":"); !ok {
				s.warn(place(file, i+1), "write KEY: VALUE", "the line is no setting, Flink leaves it out too")
				continue
			}
		}
		values = append(values, Value{Key: strings.TrimSpace(k), Text: strings.Trim(strings.TrimSpace(v), `"'`), Source: Source{FromFlinkConf, place(file, i+1)}})
	}
	return s.take(values)
}

func (s *Set) take(values []Value) error {
	for _, v := range values {
		if v.Text == "" {
			continue
		}
		if err := s.raw(v.Key, v.Text, v.Source); err != nil {
			return err
		}
	}
	return nil
}
