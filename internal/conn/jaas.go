package conn

// sasl.jaas.config, the one setting of Kafka's Java client with a grammar of
// its own:
//
//	org.apache.kafka.common.security.scram.ScramLoginModule required
//	    username="alice" password="it's \"quoted\"";
//
// Java reads it with its StreamTokenizer: values are words or quoted with ' or
// ", backslash escapes work inside quotes (the C ones and octal), // and /* */
// are comments. A # is no comment there.

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type jaasEntry struct {
	module  string // the class name of the login module
	options map[string]string
	order   []string
}

// simpleName is the class without its package: ScramLoginModule.
func (e jaasEntry) simpleName() string {
	return e.module[strings.LastIndexByte(e.module, '.')+1:]
}

// parseJAAS reads one entry. Its errors name options and positions, never a
// value, for most values are passwords.
func parseJAAS(s string) (jaasEntry, error) {
	p := jaasParser{in: s}
	e := jaasEntry{options: map[string]string{}}
	tok, err := p.next()
	if err != nil {
		return e, err
	}
	if tok.kind != jaasWord {
		return e, fmt.Errorf("it does not begin with the class of a login module")
	}
	e.module = tok.text
	if tok, err = p.next(); err != nil {
		return e, err
	}
	switch strings.ToLower(tok.text) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return e, fmt.Errorf("missing control flag after the login module (required)")
	}
	for {
		if tok, err = p.next(); err != nil {
			return e, err
		}
		switch {
		case tok.kind == jaasPunct && tok.text == ";":
			if tok, err = p.next(); err != nil {
				return e, err
			}
			if tok.kind != jaasEnd {
				return e, fmt.Errorf("something follows the semicolon; one login module is all it may hold")
			}
			return e, nil
		case tok.kind == jaasEnd:
			return e, fmt.Errorf("the semicolon at the end is missing")
		case tok.kind != jaasWord:
			return e, fmt.Errorf("at character %d: an option name was expected", tok.at+1)
		}
		name := tok.text
		if tok, err = p.next(); err != nil {
			return e, err
		}
		if tok.kind != jaasPunct || tok.text != "=" {
			return e, fmt.Errorf("option %s is not followed by =", name)
		}
		if tok, err = p.next(); err != nil {
			return e, err
		}
		if tok.kind != jaasWord && tok.kind != jaasQuoted {
			return e, fmt.Errorf("option %s has no value; put it into double quotes", name)
		}
		if _, dup := e.options[name]; dup {
			return e, fmt.Errorf("option %s is given twice", name)
		}
		e.options[name] = tok.text
		e.order = append(e.order, name)
	}
}

type jaasKind uint8

const (
	jaasEnd jaasKind = iota
	jaasWord
	jaasQuoted
	jaasPunct
)

type jaasToken struct {
	kind jaasKind
	text string
	at   int
}

type jaasParser struct {
	in  string
	pos int
}

func (p *jaasParser) skip() error {
	for p.pos < len(p.in) {
		rest := p.in[p.pos:]
		switch {
		case p.in[p.pos] <= ' ':
			p.pos++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return fmt.Errorf("at character %d: a comment has no end", p.pos+1)
			}
			p.pos += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *jaasParser) next() (jaasToken, error) {
	if err := p.skip(); err != nil {
		return jaasToken{}, err
	}
	if p.pos >= len(p.in) {
		return jaasToken{kind: jaasEnd, at: p.pos}, nil
	}
	at := p.pos
	switch c := p.in[p.pos]; {
	case c == '"' || c == '\'':
		text, err := p.quoted(c)
		return jaasToken{kind: jaasQuoted, text: text, at: at}, err
	case isJAASWord(c):
		for p.pos < len(p.in) && isJAASWord(p.in[p.pos]) {
			p.pos++
		}
		return jaasToken{kind: jaasWord, text: p.in[at:p.pos], at: at}, nil
	default:
		_, size := utf8.DecodeRuneInString(p.in[p.pos:])
		p.pos += size
		return jaasToken{kind: jaasPunct, text: p.in[at:p.pos], at: at}, nil
	}
}

// isJAASWord: letters, digits, and the signs that Kafka and Java take as part
// of a word. Bytes of UTF-8 sequences count as letters.
func isJAASWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '_' || c == '-' || c == '$' || c == '.' || c >= 0x80
}

func (p *jaasParser) quoted(quote byte) (string, error) {
	open := p.pos
	p.pos++
	var b strings.Builder
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		p.pos++
		switch c {
		case quote:
			return b.String(), nil
		case '\n', '\r':
			return "", fmt.Errorf("at character %d: a quoted value goes over the end of the line", open+1)
		case '\\':
			if p.pos >= len(p.in) {
				return "", fmt.Errorf("at character %d: a quoted value has no closing quote", open+1)
			}
			p.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("at character %d: a quoted value has no closing quote", open+1)
}

// escape reads what follows a backslash. An escape that means nothing is the
// character itself.
func (p *jaasParser) escape(b *strings.Builder) {
	c := p.in[p.pos]
	p.pos++
	switch c {
	case 'a':
		b.WriteByte(0x7)
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte(0xC)
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'v':
		b.WriteByte(0xB)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		// Up to three octal digits, and up to 377.
		n, most := int(c-'0'), 2
		if c > '3' {
			most = 1
		}
		for i := 0; i < most && p.pos < len(p.in) && p.in[p.pos] >= '0' && p.in[p.pos] <= '7'; i++ {
			n = n*8 + int(p.in[p.pos]-'0')
			p.pos++
		}
		b.WriteRune(rune(n))
	default:
		b.WriteByte(c)
	}
}
