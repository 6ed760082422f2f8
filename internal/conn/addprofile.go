package conn

// A new profile in the configuration file. The text that is there stays as it is, to the byte: the profile is put in below the
// line that begins the profiles, and what comes out is read again before it is kept.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/internal/wholefile"
)

// NewSetting is a setting of a new profile.
type NewSetting struct {
	Key, Value string
	List       []string // instead of Value
}

// IsSecret says that a setting is a secret itself, which belongs in a file of its own or behind a command.
func IsSecret(key string) bool {
	return slices.ContainsFunc(allKeys(), func(k config.Key) bool { return k.Secret && (k.Name == key || slices.Contains(k.Old, key)) })
}

// SecretFile is where the secret of a profile is kept: beside the configuration file, with mode 0600.
func SecretFile(in Inputs, profile, key string) (string, error) {
	path, err := configFileOf(in)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(path), "secrets", strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == 0 {
			return '_'
		}
		return r
	}, profile+"."+key)), nil
}

// WriteSecret writes a secret, whole or not at all, into a file that nobody else can read, in a folder that nobody else can
// enter.
func WriteSecret(path, secret string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &config.Error{Where: path, Text: "cannot be written", Err: err}
	}
	// One that others may read would keep its mode.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &config.Error{Where: path, Text: "cannot be replaced", Err: err}
	}
	if err := wholefile.Write(path, []byte(secret+"\n")); err != nil {
		return &config.Error{Where: path, Text: "cannot be written", Err: err}
	}
	return nil
}

func configFileOf(in Inputs) (string, error) {
	env := config.Environ(in.Environ)
	path, _, _, err := configPath(in, env, newPaths(in, env))
	if err == nil && path == "" {
		err = &config.Error{Text: "no configuration file is known", Hint: "set {{config FILE}}"}
	}
	return path, err
}

// HasProfile says that the configuration file has a profile of that name already.
func HasProfile(in Inputs, name string) (path string, has bool, err error) {
	if path, err = configFileOf(in); err != nil {
		return path, false, err
	}
	f, err := readIfThere(path)
	if err != nil || f == nil {
		return path, false, err
	}
	_, has = f.profiles[name]
	return path, has, nil
}

func readIfThere(path string) (*configFile, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return newReader(nil).readConfig(path, true, "")
}

// AddProfile writes a new profile into the configuration file that Inputs lead to, whole or not at all. A new file has mode
// 0600, one that is there keeps its own. The first profile of a file becomes the current one, which is reported.
func AddProfile(in Inputs, name string, settings []NewSetting) (path string, current bool, err error) {
	if path, err = configFileOf(in); err != nil {
		return "", false, err
	}
	for _, x := range settings {
		if IsSecret(x.Key) {
			return path, false, &config.Error{Where: x.Key, Text: "a secret is not written into the configuration file", Hint: "use " + x.Key + "_file or " + x.Key + "_command"}
		}
	}
	f, err := readIfThere(path)
	if err != nil {
		return path, false, err
	}
	var old []byte
	if f != nil {
		if _, has := f.profiles[name]; has {
			return path, false, &config.Error{Where: path, Text: fmt.Sprintf("there is a profile %s already", name), Hint: "choose another name, or edit the file"}
		}
		if old, err = wholefile.Read(path, maxSettings); err != nil {
			return path, false, &config.Error{Where: path, Text: "cannot be read", Err: err}
		}
	}
	current = f == nil || len(f.order) == 0 && f.current == ""
	text, err := withProfile(old, name, settings)
	if err == nil && current {
		text, err = withCurrent(text, name)
	}
	if err != nil {
		return path, false, &config.Error{Where: path, Text: "cannot be changed", Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return path, false, &config.Error{Where: path, Text: "cannot be written", Err: err}
	}
	if err := wholefile.Write(path, text); err != nil {
		return path, false, &config.Error{Where: path, Text: "cannot be written", Err: err}
	}
	return path, current, nil
}

// withProfile returns the file's text with the profile in it.
func withProfile(data []byte, name string, settings []NewSetting) ([]byte, error) {
	var body bytes.Buffer
	enc := yaml.NewEncoder(&body)
	enc.SetIndent(2)
	if err := enc.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(name), profileNode(settings)}}); err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	line, indent, err := profilesAt(&doc)
	if err != nil {
		return nil, err
	}
	if line == 0 { // a file without profiles, or none yet
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(slices.Clone(data), '\n')
		}
		out := slices.Concat(data, []byte("profiles:\n"), indented(body.Bytes(), indent))
		return out, reads(out, data, name)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	head, tail := bytes.Join(lines[:line], nil), bytes.Join(lines[line:], nil)
	if head[len(head)-1] != '\n' {
		head = append(head, '\n')
	}
	out := slices.Concat(head, indented(body.Bytes(), indent), tail)
	return out, reads(out, data, name)
}

// profilesAt is the line of the key profiles, 0 where there is none, and how far the profiles below it stand in.
func profilesAt(doc *yaml.Node) (line, indent int, err error) {
	indent = 2
	if len(doc.Content) == 0 {
		return 0, indent, nil
	}
	root := doc.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value != "profiles" {
			continue
		}
		if value.Style&yaml.FlowStyle != 0 || value.Kind == yaml.ScalarNode && value.Value != "" {
			return 0, 0, errors.New("its profiles are written in braces: put each on lines of its own")
		}
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			indent = value.Content[0].Column - 1
		}
		return key.Line, indent, nil
	}
	return 0, indent, nil
}

// reads checks that the new text is the old one with one profile more.
func reads(text, old []byte, name string) error {
	type file struct {
		Profiles map[string]yaml.Node `yaml:"profiles"`
	}
	var before, after file
	if err := yaml.Unmarshal(old, &before); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, &after); err != nil {
		return err
	}
	if _, ok := after.Profiles[name]; !ok || len(after.Profiles) != len(before.Profiles)+1 {
		return errors.New("the profile cannot be put in: edit the file")
	}
	return nil
}

func indented(body []byte, n int) []byte {
	var out []byte
	for line := range bytes.Lines(body) {
		out = append(append(out, strings.Repeat(" ", n)...), line...)
	}
	return out
}

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// profileNode nests the settings by the dots of their names, in their order.
func profileNode(settings []NewSetting) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, x := range settings {
		at := root
		words := strings.Split(x.Key, ".")
		for _, w := range words[:len(words)-1] {
			at = child(at, w)
		}
		value := scalar(x.Value)
		if x.List != nil {
			value = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, item := range x.List {
				value.Content = append(value.Content, scalar(item))
			}
		}
		at.Content = append(at.Content, scalar(words[len(words)-1]), value)
	}
	return root
}

func child(at *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == name && at.Content[i+1].Kind == yaml.MappingNode {
			return at.Content[i+1]
		}
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	at.Content = append(at.Content, scalar(name), n)
	return n
}
