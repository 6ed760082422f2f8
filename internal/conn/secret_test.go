package conn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/koffset/koffset/internal/config"
)

func TestSecrets(t *testing.T) {
	file := write(t, "pass", []byte("from file\n\n"))
	count := filepath.Join(t.TempDir(), "count")
	for _, c := range []struct{ name, x, want string }{
		{"written", "sasl.password=a b\n", "a b\n"},
		{"file loses one newline", "sasl.password_file=" + file, "from file\n"},
		{"command loses one newline", `sasl.password_command=printf 'a\r\n'`, "a"},
		{"command through the shell", "sasl.password_command=echo $KOFFSET_TEST_WORD | tr a-z A-Z", "ABC"},
		{"command that is chatty on stderr", "sasl.password_command=echo note >&2; echo x", "x"},
		{"none", "tz=UTC", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Load(Inputs{X: []string{c.x}, Environ: []string{"KOFFSET_TEST_WORD=abc", "PATH=" + os.Getenv("PATH")}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.secret(t.Context(), "sasl.password")
			if err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
	t.Run("a command runs once", func(t *testing.T) {
		s := load(t, "sasl.password_command=echo x >>"+count+"; echo p")
		for range 3 {
			if got, err := s.secret(t.Context(), "sasl.password"); err != nil || got != "p" {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if b, _ := os.ReadFile(count); string(b) != "x\n" {
			t.Errorf("ran %d times", strings.Count(string(b), "x"))
		}
	})
}

func TestSecretErrors(t *testing.T) {
	empty := write(t, "empty", nil)
	for _, c := range []struct{ name, x, want string }{
		{"no such file", "sasl.password_file=/no/such/file", "/no/such/file"},
		{"empty file", "sasl.password_file=" + empty, "the file is empty"},
		{"failing", "sasl.password_command=echo hunter2; echo the vault is sealed >&2; exit 3", "exit status 3: the vault is sealed"},
		{"failing silently", "sasl.password_command=: hunter2; exit 4", "exit status 4"},
		{"printing nothing", "sasl.password_command=: hunter2", "printed nothing"},
		{"printing for ever", "sasl.password_command=yes hunter2", "more than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := load(t, c.x)
			_, err := s.secret(t.Context(), "sasl.password")
			e, ok := errors.AsType[*config.Error](err)
			if !ok || !strings.Contains(e.Error(), c.want) || !strings.Contains(e.Error(), "-X sasl.password_") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			// The command is a secret itself often enough.
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the command is in %q", err)
			}
		})
	}
	t.Run("hanging", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		// The sleep is a child of the shell and keeps its pipe open.
		_, err := load(t, "sasl.password_command=sleep 5; echo x").secret(ctx, "sasl.password")
		if err == nil || !strings.Contains(err.Error(), "did not end in time") || time.Since(start) > 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestCredentialErrors(t *testing.T) {
	for _, c := range []struct {
		x    []string
		want string
	}{
		{[]string{"sasl.user=u"}, "sasl.user is set, but no sasl.mechanism"},
		{[]string{"sasl.mechanism=PLAIN"}, "SASL PLAIN needs sasl.user"},
		{[]string{"sasl.mechanism=SCRAM-SHA-256", "sasl.user=u"}, "needs a password for u"},
		{[]string{"sasl.mechanism=OAUTHBEARER"}, "needs a token"},
		{[]string{"sasl.mechanism=OAUTHBEARER", "sasl.token_file=/no/such/token"}, "/no/such/token"},
		{[]string{"sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url=https://h/t"}, "needs sasl.oauth.client_id"},
		{[]string{"sasl.mechanism=OAUTHBEARER", "sasl.oauth.token_url=https://h/t", "sasl.oauth.client_id=c"}, "needs a client secret for c"},
		{[]string{"sasl.mechanism=OAUTHBEARER", "sasl.token=t", "sasl.oauth.extensions=novalue"}, "not name=value"},
		{[]string{"sasl.mechanism=AWS_MSK_IAM"}, "AWS keys"},
		{[]string{"sasl.mechanism=AWS_MSK_IAM", "sasl.aws.access_key=k"}, "needs sasl.aws.secret_key"},
		{[]string{"sasl.mechanism=GSSAPI", "sasl.kerberos.config=/no/krb5.conf"}, "/no/krb5.conf"},
	} {
		_, err := load(t, append(c.x, "brokers=h:1")...).Options(t.Context())
		if e, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.x, err, c.want)
		}
	}
	_, file := workspace(t, "profiles: {p: {tz: UTC}, q: {}}\n")
	_, err := load(t).Options(t.Context())
	if e, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(e.Hint, "{{brokers host:port}}") {
		t.Errorf("no brokers: %v", err)
	}
	s, err := Load(Inputs{Config: file, ConfigSet: true, Profile: "p", ProfileSet: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Options(t.Context()); err == nil || !strings.Contains(err.Error(), "profile p (config.yaml:1): the profile names no brokers") {
		t.Errorf("no brokers: %v", err)
	}
}
