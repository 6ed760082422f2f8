//go:build realkafka

package cmd_test

// inspect and resolve as a user with few rights, over SASL_SSL with SCRAM and ACLs: what may be seen is shown complete, what
// may not is named, and one forbidden thing spoils nothing beside it.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/koffset/koffset/internal/kafkatest"
)

func TestRealRights(t *testing.T) {
	b := newLook(t, "acl")
	a, secret := b.topic("a", 1, 10), b.topic("b", 1, 10)
	seen, hidden := b.prefix+"seen", b.prefix+"hidden"
	for _, g := range []string{seen, hidden} {
		kafkatest.Commit(t, b.cl, g, kafkatest.At(a, 0, 4), kafkatest.At(secret, 0, 5))
	}
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, seen, kmsg.ACLOperationRead)
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, a, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	base := []string{"-b", b.kafka.Secure().SASLAddr, "--command-config", b.kafka.CommandConfig(t, kafkatest.LimitedUser)}
	as := func(code int, args ...string) lineEnd { t.Helper(); return runJSON(t, code, append(base, args...)...) }
	rows := func(r lineEnd) string {
		var out []string
		for _, p := range r.Partitions {
			out = append(out, fmt.Sprintf("%s %s:%d %s/%s lag %s %s%s", p.Group, p.Topic, p.Partition, dash(p.Committed), dash(p.End), dash(p.Lag), p.Status, p.Error))
		}
		return strings.ReplaceAll(strings.Join(out, "; "), b.prefix, "")
	}

	// The broker leaves out what may not be described, without a word; so koffset says that it may have.
	r := as(0, "inspect", seen)
	if got := rows(r); got != "seen a:0 4/10 lag 6 ok" {
		t.Errorf("rows %s", got)
	}
	if !strings.Contains(r.err, "may not describe") {
		t.Errorf("nothing says that rows may be missing: %s", r.err)
	}
	r = as(4, "inspect", seen, "--expect-topics", a+","+secret)
	if !strings.Contains(r.err, secret) || !r.Incomplete {
		t.Errorf("incomplete %t, %s", r.Incomplete, r.err)
	}
	// A topic that is asked for by name is named with the reason.
	r = as(4, "inspect", seen, "--topic", a, "--topic", secret)
	if got := rows(r); !strings.HasPrefix(got, "seen a:0 4/10 lag 6 ok") || !strings.Contains(r.err, "TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(r.err, secret) || !r.Incomplete {
		t.Errorf("rows %s\n%s", got, r.err)
	}

	// Groups.
	r = as(4, "inspect", seen, hidden)
	if got := rows(r); got != "seen a:0 4/10 lag 6 ok" || !strings.Contains(r.err, hidden) || !strings.Contains(r.err, "GROUP_AUTHORIZATION_FAILED") || !r.Incomplete {
		t.Errorf("rows %s\n%s", got, r.err)
	}
	r = as(7, "inspect", hidden)
	if !strings.Contains(r.err, "DESCRIBE on the group") {
		t.Errorf("%s", r.err)
	}
	r = as(0, "inspect")
	// Other tests let the same user see groups of theirs.
	var own []string
	for _, g := range r.Groups {
		if strings.HasPrefix(g.Group, b.prefix) {
			own = append(own, g.Group+" "+dash(g.Lag))
		}
	}
	if !slices.Equal(own, []string{seen + " 6"}) {
		t.Errorf("%q", own)
	}
	// Kafka's own record of the commits may not be read: what needs it says so, and nobody is taken for inactive.
	for _, line := range [][]string{{"history", seen}, {"inspect", seen, "--last-commit"}, {"delete", seen, "--inactive", "30d", "--execute"}} {
		if r := as(7, line...); !strings.Contains(r.err, "__consumer_offsets") || !strings.Contains(r.err, "--operation Read --topic __consumer_offsets") {
			t.Errorf("%v: %s", line, r.err)
		}
	}
	if r := as(0, "inspect", "--inactive", "30d"); !strings.Contains(r.err, "--inactive goes by how long the next record has waited") || len(r.Groups) > 0 {
		t.Errorf("%+v\n%s", r.Groups, r.err)
	}
	if got := kafkatest.Commits(t, b.cl, seen); len(got) != 2 {
		t.Errorf("deleted: %+v", got)
	}
	// A group that does not exist is not found, and not forbidden, where groups may be described.
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, b.prefix+"typo*", kmsg.ACLOperationDescribe)
	if r := as(5, "inspect", b.prefix+"typo-1"); !strings.Contains(r.err, "does not exist") {
		t.Errorf("%s", r.err)
	}

	// resolve.
	if got := rows(as(0, "resolve", a, "--to", "latest")); !strings.Contains(got, "a:0") {
		t.Errorf("rows %s", got)
	}
	r = as(4, "resolve", a, secret, "--to", "latest")
	if len(r.Partitions) != 1 || r.Partitions[0].Topic != a || !strings.Contains(r.err, "TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(r.err, "DESCRIBE on the topic") {
		t.Errorf("%+v\n%s", r.Partitions, r.err)
	}
	as(7, "resolve", secret, "--to", "latest")
	as(7, "resolve", a, "--to", "current", "-g", hidden)
	as(5, "resolve", a+":9")
	// Reading records needs READ, which is there for a alone.
	if r := as(0, "resolve", a, "--at-offset", "3"); dash(r.Partitions[0].TimestampMs) != fmt.Sprint(kafkatest.F1Start+300) {
		t.Errorf("%+v", r.Partitions)
	}
	rightsToFind(t, b, a, secret, as)
}

// rightsToFind is find by a user who may read a alone: what may not be read is named, and is never "nothing found".
func rightsToFind(t *testing.T, b *lookBed, a, secret string, as func(int, ...string) lineEnd) {
	t.Helper()
	if r := as(0, "find", a, "--count"); !strings.Contains(r.out, `"record_count":10`) || r.err != "koffset: 10 records\n" {
		t.Errorf("%s\n%s", r.out, r.err)
	}
	if r := as(7, "find", a, secret, "--count"); !strings.Contains(r.err, secret) || !strings.Contains(r.err, "TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("a topic that may not even be described: %s", r.err)
	}
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, secret, kmsg.ACLOperationDescribe)
	r := as(4, "find", a, secret, "--match", ".", "-o", "json")
	if !r.Incomplete || !strings.Contains(r.out, `"match_count":10`) || strings.Contains(r.out, `"topic":"`+secret) || !strings.Contains(r.err, secret+":0") || !strings.Contains(r.err, "needs READ on the topic") {
		t.Errorf("%s\n%s", r.out, r.err)
	}
	if r := as(7, "find", secret, "--match", "."); !strings.Contains(r.err, "needs READ on the topic") || strings.Contains(r.err, "nothing was found") {
		t.Errorf("%s", r.err)
	}
	// Where a match may be on what may not be read, there are no positions.
	file := filepath.Join(t.TempDir(), "positions")
	as(4, "find", a, secret, "--match", ".", "--out", file)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("positions were written: %v", err)
	}
}

// Every way to log in on the secured listeners sees the same; every wrong one has its own words, soon.
func TestRealLogins(t *testing.T) {
	b := newLook(t, "login")
	topic := b.topic("t", 1, 3)
	kafkatest.Commit(t, b.cl, b.prefix+"g", kafkatest.At(topic, 0, 1))
	s := b.kafka.Secure()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password, wrong := file("password", kafkatest.Password+"\n"), file("wrong", "nonsense")
	token, expired := file("token", kafkatest.Token(kafkatest.AdminUser, time.Hour)), file("expired", kafkatest.Token(kafkatest.AdminUser, -time.Hour))
	tls := []string{"-b", s.SASLAddr, "-X", "tls.enabled=true", "-X", "tls.ca=" + s.CAFile}
	sasl := func(mechanism, file string) []string {
		return append(tls[:len(tls):len(tls)], "-X", "sasl.mechanism="+mechanism, "-X", "sasl.user="+kafkatest.AdminUser, "-X", "sasl.password_file="+file)
	}
	for name, args := range map[string][]string{
		"PLAIN": sasl("PLAIN", password), "SCRAM-SHA-256": sasl("SCRAM-SHA-256", password), "SCRAM-SHA-512": sasl("SCRAM-SHA-512", password),
		"OAUTHBEARER": append(tls[:len(tls):len(tls)], "-X", "sasl.mechanism=OAUTHBEARER", "-X", "sasl.token_file="+token),
		"java file":   {"-b", s.SASLAddr, "--command-config", b.kafka.CommandConfig(t, kafkatest.AdminUser)},
	} {
		r := runJSON(t, 0, append(args, "inspect", b.prefix+"g")...)
		if len(r.Partitions) != 1 || dash(r.Partitions[0].Lag) != "2" {
			t.Errorf("%s: %+v", name, r.Partitions)
		}
		if strings.Contains(r.out+r.err, "pa$") {
			t.Errorf("%s: the password is shown", name)
		}
	}
	for name, args := range map[string][]string{
		"wrong PLAIN password": sasl("PLAIN", wrong), "wrong SCRAM password": sasl("SCRAM-SHA-512", wrong),
		"expired token": append(tls[:len(tls):len(tls)], "-X", "sasl.mechanism=OAUTHBEARER", "-X", "sasl.token_file="+expired),
		"no login":      tls, "no authority": {"-b", s.SASLAddr, "-X", "tls.enabled=true"},
		"no certificate of ours": {"-b", s.MutualAddr, "-X", "tls.enabled=true", "-X", "tls.ca=" + s.CAFile},
	} {
		r := runLine(t, append(args, "--timeout", "10s", "inspect")...)
		if r.code != 7 || r.out != "" || !strings.Contains(r.err, "hint: ") || strings.Contains(r.err, "nonsense") || r.took > 10*time.Second {
			t.Errorf("%s: exit status %d after %s\n%s%s", name, r.code, r.took, r.out, r.err)
		}
		t.Logf("%s (%s): %s", name, r.took.Round(time.Millisecond), r.err)
	}
	plain := runLine(t, "-b", s.SASLAddr, "--timeout", "10s", "inspect")
	if plain.code != 6 || !strings.Contains(plain.err, "speaks TLS") {
		t.Errorf("plain text to TLS: exit status %d\n%s", plain.code, plain.err)
	}
	reverse := runLine(t, "-b", b.kafka.Bootstrap(), "-X", "tls.enabled=true", "-X", "tls.ca="+s.CAFile, "--timeout", "10s", "inspect")
	if reverse.code != 6 || !strings.Contains(reverse.err, "tls.enabled: false") {
		t.Errorf("TLS to plain text: exit status %d\n%s", reverse.code, reverse.err)
	}
}

// What a user may do, command by command, as the broker says it.
func TestRealProfileCheckRights(t *testing.T) {
	b := newLook(t, "rights")
	a, secret := b.topic("a", 1, 1), b.topic("b", 1, 1)
	seen, hidden := b.prefix+"seen", b.prefix+"hidden"
	// The first commit of a cluster makes its offsets topic; before it, no group has a coordinator to ask.
	kafkatest.Commit(t, b.cl, seen, kafkatest.At(a, 0, 1))
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeGroup, seen, kmsg.ACLOperationRead)
	b.kafka.Allow(t, kafkatest.LimitedUser, kmsg.ACLResourceTypeTopic, a, kmsg.ACLOperationRead)
	rights := func(user string, args ...string) string {
		t.Helper()
		r := runLine(t, append([]string{"-b", b.kafka.Secure().SASLAddr, "--command-config", b.kafka.CommandConfig(t, user), "profile", "check", "-o", "json"}, args...)...)
		var doc struct {
			Rights []struct{ Result string }
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil || r.code != 0 {
			t.Fatalf("status %d, %v\n%s%s", r.code, err, r.out, r.err)
		}
		var out []string
		for _, x := range doc.Rights {
			out = append(out, x.Result)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		user string
		args []string
		want string
	}{ // inspect, lists, records, retention, moves, deletes
		{kafkatest.AdminUser, []string{"--group", seen, "--topic", a}, "yes yes yes yes yes yes"},
		{kafkatest.LimitedUser, []string{"--group", seen, "--topic", a}, "yes no yes no yes no"},
		{kafkatest.LimitedUser, []string{"--group", hidden, "--topic", a}, "no no yes no no no"},
		{kafkatest.LimitedUser, []string{"--group", seen, "--topic", a + "," + secret}, "partly no partly no partly no"},
	} {
		if got := rights(c.user, c.args...); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.user, c.args, got, c.want)
		}
	}
}
