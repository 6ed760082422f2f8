package store

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/koffset/koffset/offset"
)

// Scheme is a kind of store.
type Scheme string

// The kinds of store.
const (
	SchemeFile     Scheme = "file"
	SchemeSQLite   Scheme = "sqlite"
	SchemePostgres Scheme = "postgres"
	SchemeMySQL    Scheme = "mysql"
	SchemeRedis    Scheme = "redis"
)

// DefaultTable is the table of a database store; DefaultKey the key of a Redis store.
const (
	DefaultTable = "koffset_offsets"
	DefaultKey   = "koffset:{group}"
)

// Location is a store's URL, taken apart.
type Location struct {
	Scheme Scheme
	// Path is the file of a file or SQLite store.
	Path string
	// URL is what the driver of a server is given: koffset's own parameters are not in it.
	URL *url.URL
	// Table may be qualified by a schema. Key holds {group}.
	Table, Key string
	// Create makes the table where it does not exist.
	Create bool
	// Group is a group named in the URL (group=…), empty where none is.
	Group string
}

const locationForms = "write file:PATH, sqlite:PATH, postgres://USER@HOST/DB?table=offsets, mysql://USER@HOST/DB, or redis://HOST/0?key=koffset:{group}"

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// Parse reads a store's URL: file:PATH, sqlite:PATH, postgres:// (postgresql://), mysql:// (mariadb://), redis:// or
// rediss://. Parameters of koffset's own, at all of them: table (databases), key (Redis, with {group} in it), group,
// create=true. Everything else in the URL is the driver's. The error is an *offset.SyntaxError, without the password.
func Parse(s string) (Location, error) {
	bad := func(format string) (Location, error) {
		return Location{}, &offset.SyntaxError{Input: offset.Mask(s), Problem: "store " + offset.Mask(s) + ": " + format, Hint: locationForms}
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok {
		return bad("it has no scheme")
	}
	l := Location{Table: DefaultTable, Key: DefaultKey}
	switch scheme {
	case "file", "sqlite":
		l.Scheme = Scheme(scheme)
		path, query, _ := strings.Cut(rest, "?")
		if after, ok := strings.CutPrefix(path, "///"); ok {
			path = "/" + after
		}
		if path == "" || strings.HasPrefix(path, "//") {
			return bad("it names no file of this machine")
		}
		l.Path = path
		q, err := url.ParseQuery(query)
		if err != nil {
			return bad("its parameters cannot be read")
		}
		why := l.take(q)
		if why == "" && len(q) > 0 {
			why = "unknown parameter " + slices.Sorted(keys(q))[0]
		}
		if why != "" {
			return bad(why)
		}
		return l, nil
	case "postgres", "postgresql":
		l.Scheme = SchemePostgres
	case "mysql", "mariadb":
		l.Scheme = SchemeMySQL
	case "redis", "rediss":
		l.Scheme = SchemeRedis
	default:
		return bad("its scheme is not known")
	}
	// Braces are not allowed in a URL as they stand, and are what a key is written with.
	u, err := url.Parse(strings.NewReplacer("{", "%7B", "}", "%7D").Replace(s))
	if err != nil || u.Host == "" {
		return bad("it is not a URL with a host")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its parameters cannot be read")
	}
	if why := l.take(q); why != "" {
		return bad(why)
	}
	u.RawQuery = q.Encode()
	l.URL = u
	return l, nil
}

func keys(q url.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range q {
			if !yield(k) {
				return
			}
		}
	}
}

// take removes koffset's own parameters from the query.
func (l *Location) take(q url.Values) (why string) {
	if q.Has("table") {
		l.Table = q.Get("table")
		if !tableName.MatchString(l.Table) {
			return "its table is not a name of letters, digits and _"
		}
		q.Del("table")
	}
	if q.Has("key") {
		l.Key = q.Get("key")
		if strings.Count(l.Key, "{group}") != 1 {
			return "its key must hold {group} once, or groups would overwrite each other"
		}
		q.Del("key")
	}
	if q.Has("group") {
		l.Group = q.Get("group")
		q.Del("group")
	}
	if q.Has("create") {
		switch q.Get("create") {
		case "true", "1", "":
			l.Create = true
		case "false", "0":
		default:
			return "create is true or false"
		}
		q.Del("create")
	}
	return ""
}

// String is the location without its password.
func (l Location) String() string {
	switch {
	case l.URL == nil:
		return string(l.Scheme) + ":" + l.Path
	case l.Scheme == SchemeRedis:
		return offset.Mask(l.URL.String()) + " key " + l.Key
	}
	return offset.Mask(l.URL.String()) + " table " + l.Table
}

// secrets are the passwords in a location, as they stand in the URL and as they are meant.
func (l Location) secrets() []string {
	if l.URL == nil {
		return nil
	}
	var out []string
	if pw, ok := l.URL.User.Password(); ok {
		out = append(out, pw, url.QueryEscape(pw), url.PathEscape(pw))
		if _, raw, ok := strings.Cut(l.URL.User.String(), ":"); ok {
			out = append(out, raw)
		}
	}
	for k, vs := range l.URL.Query() {
		for _, v := range vs {
			if offset.Mask(k+"="+v) != k+"="+v {
				out = append(out, v, url.QueryEscape(v))
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// Hide takes the location's passwords out of the text of a driver's error. Drivers hide one at best, and quote the rest.
func (l Location) Hide(err error) error {
	if err == nil {
		return nil
	}
	text := offset.Mask(err.Error())
	for _, s := range l.secrets() {
		text = strings.ReplaceAll(text, s, offset.Stars)
	}
	if text == err.Error() {
		return err
	}
	return &hiddenError{text, err}
}

// hiddenError is an error with another text.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the driver's error, for errors.Is and errors.As.
func (e *hiddenError) Unwrap() error { return e.err }
