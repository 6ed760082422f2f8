package conn

// The profiles of a configuration file: listing them, and choosing the current
// one.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

// ProfileInfo is one line of `profile list`.
type ProfileInfo struct {
	Name    string
	Current bool
	// Line is where it stands in the configuration file.
	Line      int
	Brokers   []string
	ClusterID string
	ReadOnly  bool
}

// profiles are the profiles of the configuration file, in its order. Current is
// the one that would be used without --profile.
func (s *Settings) profiles() []ProfileInfo {
	out := make([]ProfileInfo, 0, len(s.file.order))
	for _, name := range s.file.order {
		l := s.file.profiles[name]
		ro, _ := parseBool("read_only", l["read_only"])
		out = append(out, ProfileInfo{Name: name, Current: name == s.CurrentProfile, Line: s.file.lines[name],
			Brokers: l["brokers"].List, ClusterID: l["cluster_id"].Text, ReadOnly: ro})
	}
	return out
}

// ProfilesOf reads the profiles that Inputs lead to, and nothing else: it works
// where Load would not, as with a current profile that does not exist, so that
// `profile list` and `profile use` can mend that. Errors are *config.Error.
func ProfilesOf(in Inputs) (path string, profiles []ProfileInfo, err error) {
	r := newReader(nil)
	env := config.Environ(in.Environ)
	path, named, from, err := configPath(in, env, newPaths(in, env))
	if err != nil {
		return "", nil, err
	}
	f, err := r.readConfig(path, named, from)
	if err != nil {
		return path, nil, err
	}
	s := &Settings{file: f, CurrentProfile: cmp.Or(env[envProfile], f.current)}
	return path, s.profiles(), nil
}

// Use makes a profile the current one: it rewrites current_profile in the
// configuration file that Inputs lead to, whole or not at all, and leaves every
// other byte of it as it is, comments and blank lines included. The file keeps
// its mode. It returns the file. Errors are *config.Error.
func Use(in Inputs, name string) (path string, err error) {
	r := newReader(nil)
	env := config.Environ(in.Environ)
	path, _, from, err := configPath(in, env, newPaths(in, env))
	if err != nil {
		return "", err
	}
	if path == "" {
		return "", &config.Error{Text: "no configuration file is known", Hint: "set {{config FILE}}"}
	}
	f, err := r.readConfig(path, false, from)
	if err != nil {
		return path, err
	}
	if _, ok := f.profiles[name]; !ok {
		return path, f.unknownProfile(name, "")
	}
	// A configuration file is often a link into a folder of dotfiles: the link
	// stays, its target is replaced.
	old, err := wholefile.Read(path, maxSettings)
	if err != nil {
		return path, &config.Error{Where: path, Text: "cannot be read", Err: err}
	}
	text, err := withCurrent(old, name)
	if err != nil {
		return path, &config.Error{Where: path, Text: "cannot be changed", Err: err}
	}
	if bytes.Equal(text, old) {
		return path, nil
	}
	if err := wholefile.Write(path, text); err != nil {
		return path, &config.Error{Where: path, Text: "cannot be written", Err: err}
	}
	return path, nil
}

// withCurrent returns the file's text with current_profile set to name. The
// value alone is replaced, at the place where the parser found it: encoding the
// parsed nodes again would keep comments but lose blank lines and alignment.
// The result is parsed again, and the nodes encoded where it does not say what
// it should (a value that is quoted over several lines, say).
func withCurrent(data []byte, name string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping of keys and values")
	}
	root := doc.Content[0]
	quoted, err := yaml.Marshal(name)
	if err != nil {
		return nil, err
	}
	word := strings.TrimSpace(string(quoted))
	var value *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "current_profile" {
			value = root.Content[i+1]
		}
	}
	var out []byte
	if value == nil {
		out = insertLine(data, root.Content[0].Line, "current_profile: "+word)
	} else {
		if value.Kind == yaml.ScalarNode && value.Value == name {
			return data, nil
		}
		out = replaceScalar(data, value, word)
	}
	if out != nil && currentOf(out) == name {
		return out, nil
	}
	if value == nil {
		root.Content = append([]*yaml.Node{{Kind: yaml.ScalarNode, Value: "current_profile"}, {Kind: yaml.ScalarNode, Value: name}}, root.Content...)
	} else {
		*value = yaml.Node{Kind: yaml.ScalarNode, Value: name, HeadComment: value.HeadComment, LineComment: value.LineComment, FootComment: value.FootComment}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	if got := currentOf(b.Bytes()); got != name {
		return nil, fmt.Errorf("current_profile would be %q", got)
	}
	return b.Bytes(), nil
}

func currentOf(data []byte) string {
	var f struct {
		Current string `yaml:"current_profile"`
	}
	if yaml.Unmarshal(data, &f) != nil {
		return ""
	}
	return f.Current
}

// insertLine puts a line before line number n (from 1), above the comment that
// belongs to it, with the file's line ends.
func insertLine(data []byte, n int, line string) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	eol := "\n"
	if len(lines) > 0 && bytes.HasSuffix(lines[0], []byte("\r\n")) {
		eol = "\r\n"
	}
	at := n - 1
	if at < 0 || at > len(lines) {
		return nil
	}
	for at > 0 && bytes.HasPrefix(bytes.TrimSpace(lines[at-1]), []byte("#")) {
		at--
	}
	var out []byte
	for i, l := range lines {
		if i == at {
			out = append(out, line+eol...)
		}
		out = append(out, l...)
	}
	return out
}

// replaceScalar replaces a plain or quoted scalar that ends on its own line;
// nil where it cannot tell where the scalar ends.
func replaceScalar(data []byte, n *yaml.Node, word string) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if n.Kind != yaml.ScalarNode || n.Line < 1 || n.Line > len(lines) {
		return nil
	}
	line := string(lines[n.Line-1])
	// The column counts characters.
	runes := []rune(line)
	if n.Column < 1 || n.Column > len(runes) {
		return nil
	}
	before, rest := string(runes[:n.Column-1]), string(runes[n.Column-1:])
	written := n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return nil
		}
		written = rest[:end+2]
	}
	if !strings.HasPrefix(rest, written) {
		return nil
	}
	lines[n.Line-1] = []byte(before + word + rest[len(written):])
	return bytes.Join(lines, nil)
}
