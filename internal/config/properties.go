package config

// .properties files, as Java reads them.

import (
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"
)

// Properties is a .properties file.
type Properties struct {
	File   string
	Keys   []string // in the file's order
	Values map[string]string
	lines  map[string]int
}

// ParseProperties reads a .properties file. Java reads these files as ISO 8859-1, but people write UTF-8, and where the two
// differ nothing but a password is at stake: what is valid UTF-8 is taken as such. Without DisableExpansion a ${x} inside a
// password would vanish (measured: pa${x}ss becomes pass).
func ParseProperties(file string, data []byte) (*Properties, error) {
	enc := properties.UTF8
	if !utf8.Valid(data) {
		enc = properties.ISO_8859_1
	}
	loader := &properties.Loader{Encoding: enc, DisableExpansion: true}
	props, err := loader.LoadBytes(data)
	if err != nil {
		// The library's message can quote the file.
		return nil, Errorf(Place(file, 0), "", "not a Java .properties file")
	}
	return &Properties{File: file, Keys: props.Keys(), Values: props.Map(), lines: propertyLines(data)}, nil
}

// Source is where a key is.
func (p *Properties) Source(name string) Source {
	return Source{Kind: FromProperties, Name: name, File: p.File, Line: p.lines[name]}
}

// propertyLines finds the line at which each key begins: the library does not keep it, and a message without a line sends
// people searching. It follows the format's rules for comments, continued lines and the end of a key.
func propertyLines(data []byte) map[string]int {
	lines := map[string]int{}
	raw := strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n"), "\n")
	for i := 0; i < len(raw); i++ {
		start := i
		line := strings.TrimLeft(raw[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for oddBackslashes(raw[i]) && i+1 < len(raw) {
			line = line[:len(line)-1]
			i++
			line += strings.TrimLeft(raw[i], " \t\f")
		}
		lines[propertyKey(line)] = start + 1
	}
	return lines
}

func oddBackslashes(s string) bool {
	n := len(s) - len(strings.TrimRight(s, `\`))
	return n%2 == 1
}

func propertyKey(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\\':
			if i+1 < len(line) {
				i++
				b.WriteByte(line[i])
			}
		case '=', ':', ' ', '\t', '\f':
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
