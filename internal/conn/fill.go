package conn

// From merged text to typed settings.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koffset/koffset/internal/config"
	"github.com/koffset/koffset/offset"
)

// builtin gives a setting its default when nothing sets it.
func (s *Settings) builtin(name, value string, src config.Source) {
	if _, ok := s.values[name]; !ok && value != "" {
		s.values[name] = config.Value{Text: value, Source: src}
	}
}

func (s *Settings) fill(r *reader, env map[string]string) error {
	s.builtins(env)
	if err := s.fillBrokers(r); err != nil {
		return err
	}
	s.ClusterID = s.text("cluster_id")
	s.ClientID = s.text("client_id")
	var err error
	if s.Timeout, err = parseDuration("timeout", s.values["timeout"]); err != nil {
		return err
	}
	if s.RequestTimeout, err = parseDuration("request_timeout", s.values["request_timeout"]); err != nil {
		return err
	}
	if v, ok := s.values["state_dir"]; ok && v.Text != "" {
		s.StateDir = s.paths.of(v)
	}
	tz := s.values["tz"]
	s.TZ = tz.Text
	if s.Location, err = time.LoadLocation(tz.Text); err != nil || tz.Text == "" {
		return &config.Error{Where: tz.Source.String(), Text: fmt.Sprintf("there is no time zone %q", tz.Text),
			Hint: "use a name such as Europe/Berlin or UTC"}
	}
	for _, k := range s.table.Keys {
		if v, ok := s.values[k.Name]; ok && k.Kind == config.Bool {
			if _, err := parseBool(k.Name, v); err != nil {
				return err
			}
		}
	}
	if err := s.checkRegistry(); err != nil {
		return err
	}
	return s.checkLogin()
}

// builtins are the defaults, of which one is of the environment.
func (s *Settings) builtins(env map[string]string) {
	def := config.Source{Kind: config.FromBuiltin}
	s.builtin("client_id", "koffset/"+cmp.Or(s.version, "unknown"), def)
	s.builtin("timeout", "30s", def)
	s.builtin("request_timeout", "10s", def)
	s.builtin("tz", "UTC", def)
	if dir := env["XDG_STATE_HOME"]; xdg(dir, "") != "" {
		s.builtin("state_dir", filepath.Join(xdg(dir, ""), "koffset"), config.Source{Kind: config.FromEnvironment, Name: "XDG_STATE_HOME"})
	} else if dir := xdg("", s.paths.home, ".local", "state"); dir != "" {
		s.builtin("state_dir", filepath.Join(dir, "koffset"), def)
	}
}

func (s *Settings) fillBrokers(r *reader) error {
	v, ok := s.values["brokers"]
	if !ok {
		return nil
	}
	brokers, notes, err := parseBrokers(v.List)
	if err != nil {
		err.Where = v.Source.String()
		return err
	}
	for _, n := range notes {
		r.Warn(v.Source.String(), n, "")
	}
	s.Brokers = brokers
	return nil
}

// checkLogin checks what of a login can be checked without one: the mechanism, which is spelled in capitals from here on, and
// where tokens come from.
func (s *Settings) checkLogin() error {
	if m, ok := s.values["sasl.mechanism"]; ok && m.Text != "" {
		name := strings.ToUpper(m.Text)
		if !slices.Contains(mechanisms(), name) {
			return &config.Error{Where: m.Source.String(), Text: fmt.Sprintf("unknown SASL mechanism %q", m.Text),
				Hint: cmp.Or(config.Near(name, mechanisms()), "koffset knows "+strings.Join(mechanisms(), ", "))}
		}
		m.Text = name
		s.values["sasl.mechanism"] = m
	}
	if v, ok := s.values["sasl.oauth.token_url"]; ok && v.Text != "" {
		u, err := url.Parse(v.Text)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			// The URL can hold a password: it is not repeated.
			return &config.Error{Where: v.Source.String(), Text: "sasl.oauth.token_url is not an http(s) URL"}
		}
	}
	return nil
}

func parseBool(name string, v config.Value) (bool, error) {
	switch strings.ToLower(v.Text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0", "":
		return false, nil
	}
	return false, &config.Error{Where: v.Source.String(), Text: fmt.Sprintf("%s is %q, neither true nor false", name, v.Text)}
}

// flag is a boolean that fill has checked.
func (s *Settings) flag(name string) bool {
	b, _ := parseBool(name, s.values[name])
	return b
}

func parseDuration(name string, v config.Value) (time.Duration, error) {
	d, err := offset.ParseDuration(v.Text)
	if err != nil {
		e := &config.Error{Where: v.Source.String(), Text: name, Err: err}
		if syn, ok := errors.AsType[*offset.SyntaxError](err); ok {
			e.Hint = syn.Hint
		}
		if _, numErr := strconv.ParseInt(v.Text, 10, 64); numErr == nil {
			e.Hint = fmt.Sprintf("a bare number has no unit: write %ss for seconds or %sms for milliseconds", v.Text, v.Text)
		}
		return 0, e
	}
	if d <= 0 {
		return 0, &config.Error{Where: v.Source.String(), Text: fmt.Sprintf("%s must be more than zero", name)}
	}
	return d, nil
}

func parseCount(name string, v config.Value) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(v.Text, "_", ""), 10, 64)
	if err != nil || n < 0 || n == math.MaxInt64 {
		return 0, &config.Error{Where: v.Source.String(), Text: fmt.Sprintf("%s is %q, not a number of records", name, v.Text)}
	}
	return n, nil
}

// defaultPort is where a broker is looked for when its address names no port.
const defaultPort = 9092

// parseBrokers checks addresses, gives them a port and drops repeats (shells
// and completion repeat flags). notes say which port was assumed.
func parseBrokers(items []string) (brokers, notes []string, _ *config.Error) {
	for _, item := range items {
		item = strings.TrimSpace(item)
		b, note, err := parseBroker(item)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(brokers, b) {
			continue
		}
		brokers = append(brokers, b)
		if note != "" {
			notes = append(notes, note)
		}
	}
	if len(brokers) == 0 {
		return nil, nil, &config.Error{Text: "the list of brokers is empty", Hint: "write host:port, such as localhost:9092"}
	}
	return brokers, notes, nil
}

func badBroker(hint, format string, args ...any) *config.Error {
	return &config.Error{Text: fmt.Sprintf(format, args...), Hint: cmp.Or(hint, "write host:port, such as localhost:9092")}
}

func parseBroker(item string) (addr, note string, _ *config.Error) {
	if item == "" {
		return "", "", badBroker("", "a broker's address is empty")
	}
	// An @ would be a user and a password, which belong elsewhere and must not
	// be repeated.
	if strings.Contains(item, "@") {
		return "", "", badBroker("write only host:port; user and password are sasl.user and sasl.password", "a broker's address contains an @")
	}
	if scheme, rest, ok := strings.Cut(item, "://"); ok {
		hint := "write " + strings.TrimRight(rest, "/")
		if s := strings.ToUpper(scheme); strings.Contains(s, "SSL") || strings.Contains(s, "TLS") || s == "HTTPS" {
			hint += ", with -X tls.enabled=true"
		}
		return "", "", badBroker(hint, "the address %q has a scheme", item)
	}
	host, port, err := splitBroker(item)
	if err != nil {
		return "", "", err
	}
	if host == "" {
		return "", "", badBroker("", "the address %q has no host", item)
	}
	if strings.ContainsAny(host, " /\\\"'\t\n") {
		return "", "", badBroker("", "%q is not an address", item)
	}
	if port == "" {
		port = strconv.Itoa(defaultPort)
		note = fmt.Sprintf("no port in %q: %d is used", item, defaultPort)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", badBroker("", "the port of %q is not between 1 and 65535", item)
	}
	return net.JoinHostPort(host, port), note, nil
}

// splitBroker takes an address apart at its port, which may be missing; the brackets of an IPv6 address go.
func splitBroker(item string) (host, port string, _ *config.Error) {
	rest := ""
	switch {
	case strings.HasPrefix(item, "["):
		end := strings.IndexByte(item, ']')
		if end < 0 {
			return "", "", badBroker("", "the address %q has no closing bracket", item)
		}
		host, rest = item[1:end], item[end+1:]
		if rest != "" && rest[0] != ':' {
			return "", "", badBroker("", "%q is not an address", item)
		}
	case strings.Count(item, ":") > 1:
		return "", "", badBroker("write an IPv6 address in brackets: ["+item+"]:9092", "%q is not an address", item)
	default:
		host, _, _ = strings.Cut(item, ":")
		rest = item[len(host):]
	}
	if rest == ":" {
		return "", "", badBroker("", "the address %q has no port after the colon", item)
	}
	return host, strings.TrimPrefix(rest, ":"), nil
}
