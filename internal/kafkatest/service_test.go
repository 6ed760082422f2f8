//go:build realkafka

package kafkatest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// The servers' own clients ask, since the package depends on no driver.
func TestPostgres(t *testing.T) {
	d := StartPostgres(t)
	query := func(sql string) string {
		t.Helper()
		psql, err := find("psql", []string{"/usr/lib/postgresql/*/bin"})
		if err != nil {
			t.Fatal(err)
		}
		return output(t, d.Service, psql, "-qtA", "-d", d.URL, "-c", sql)
	}
	query("create table t (n bigint)")
	query("insert into t values (42)")
	checkRestart(t, d.Service)
	if got := query("select n from t"); got != "42" {
		t.Errorf("after a restart: %q, want 42", got)
	}
}

func TestMariaDB(t *testing.T) {
	d := StartMariaDB(t)
	query := func(sql string) string {
		t.Helper()
		return output(t, d.Service, "mariadb", "--no-defaults", "-h127.0.0.1", "-P"+itoa(d.Port), "-u"+DatabaseUser,
			"-p"+DatabasePassword, "-N", "-e", sql, DatabaseName)
	}
	query("create table t (n bigint)")
	query("insert into t values (42)")
	checkRestart(t, d.Service)
	if got := query("select n from t"); got != "42" {
		t.Errorf("after a restart: %q, want 42", got)
	}
}

func TestRedis(t *testing.T) {
	d := StartRedis(t)
	cli := func(args ...string) string {
		t.Helper()
		return output(t, d.Service, "redis-cli", append([]string{"-u", d.URL, "--no-auth-warning"}, args...)...)
	}
	cli("set", "n", "42")
	checkRestart(t, d.Service)
	if got := cli("get", "n"); got != "42" {
		t.Errorf("after a restart: %q, want 42", got)
	}
}

func checkRestart(t *testing.T, s *Service) {
	t.Helper()
	s.Stop()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		conn.Close()
		t.Errorf("%s still accepts after a stop", s.Addr)
	}
	s.Restart(t)
}

func output(t *testing.T, s *Service, path string, args ...string) string {
	t.Helper()
	cmd, err := s.Command(t.Context(), path, args...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestServiceThatIsNotInstalled(t *testing.T) {
	_, err := openService(t.Context(), ServiceOptions{Name: "none", Program: "no-such-server", Package: "no-such-package",
		Ready: func(context.Context, *Service) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "no-such-package") {
		t.Errorf("error %v, want one that names the package", err)
	}
}

func TestMirrorMaker(t *testing.T) {
	src, dst := shared.Kafka(t), shared.Second(t)
	a, b := src.Client(t), dst.Client(t)
	CreateTopic(t, a, "mirrored", 2)
	Produce(t, a, append(Records("mirrored", 0, 10, F1Start, 100), Records("mirrored", 1, 3, F1Start, 100)...)...)
	Commit(t, a, "mirrored.g", At("mirrored", 0, 6))
	m := StartMirror(t, MirrorProperties(src, dst, map[string]string{"topics": "mirrored", "groups": "mirrored.g"}))
	const takes = 3 * time.Minute // on a busy machine; 15 s on one that is not
	UntilWithin(t, takes, "all records are copied", func() bool {
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		if _, ok := topicMetadata(t, b, "src.mirrored"); !ok {
			return false
		}
		got := Bounds(t, b, "src.mirrored")
		return len(got) == 2 && got[0].End == 10 && got[1].End == 3
	})
	UntilWithin(t, takes, "the group's commit is translated", func() bool {
		listed, err := kadm.NewClient(b).ListGroups(t.Context())
		return err == nil && listed["mirrored.g"].Group != "" && CommittedOffsets(t, b, "mirrored.g", "src.mirrored")[0] == 6
	})
	if !strings.Contains(m.Log(t), "MirrorSourceConnector") {
		t.Errorf("the log does not name the source connector:\n%s", m.Log(t))
	}
	m.Stop()
}

// A start that fails because the port is taken is told apart: it is the one that another try mends.
func TestServiceOnATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = openService(t.Context(), ServiceOptions{
		Name: "redis", Program: "redis-server", Package: "redis-server", User: "redis",
		Args:  func(*Service) []string { return []string{"--bind", "127.0.0.1", "--port", port} },
		Ready: func(context.Context, *Service) error { return errors.New("not yet") },
	})
	if !errors.Is(err, errPortTaken) {
		t.Errorf("error %v, want that the port is taken", err)
	}
}
