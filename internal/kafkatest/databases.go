//go:build realkafka

package kafkatest

// The servers that can hold offsets outside Kafka.

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// DatabaseUser, DatabasePassword and DatabaseName are the login and the database of [StartPostgres] and [StartMariaDB]; [StartRedis] has
// the password for its user "default".
const (
	DatabaseUser     = "koffset"
	DatabasePassword = "koffset-secret"
	DatabaseName     = "koffset"
)

// Database is a running server and how to reach it.
type Database struct {
	*Service
	URL string // with user and password
}

// StartPostgres starts PostgreSQL. The user owns the database and logs in by SCRAM.
func StartPostgres(t testing.TB) *Database {
	t.Helper()
	places := []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"}
	s := startService(t, ServiceOptions{
		Name: "postgres", Program: "postgres", Places: places, Package: "postgresql", User: "postgres",
		Prepare: func(ctx context.Context, s *Service) error {
			initdb, err := find("initdb", append([]string{filepath.Dir(s.path)}, places...))
			if err != nil {
				return err
			}
			password, err := s.writeFile("password", DatabasePassword+"\n")
			if err != nil {
				return err
			}
			return s.Run(ctx, initdb, "-D", filepath.Join(s.Dir, "data"), "-U", DatabaseUser, "-A", "scram-sha-256",
				"--pwfile", password, "-E", "UTF8", "--locale", "C", "--no-sync")
		},
		Args: func(s *Service) []string {
			return []string{"-D", filepath.Join(s.Dir, "data"), "-h", "127.0.0.1", "-p", itoa(s.Port), "-k", s.Dir,
				// Nothing here survives the machine anyway, and files in the data folder go away with it.
				"-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap"}
		},
		Ready: func(ctx context.Context, s *Service) error {
			ready, err := find("pg_isready", append([]string{filepath.Dir(s.path)}, places...))
			if err != nil {
				return err
			}
			return s.Run(ctx, ready, "-q", "-h", "127.0.0.1", "-p", itoa(s.Port))
		},
		StopSignal: syscall.SIGINT, // its fast shutdown; SIGTERM waits for every client to go
	})
	d := &Database{Service: s}
	d.URL = fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", DatabaseUser, DatabasePassword, s.Addr, DatabaseName)
	psql, err := find("psql", append([]string{filepath.Dir(s.path)}, places...))
	if err == nil { // initdb makes no database of our name
		admin := strings.Replace(d.URL, "/"+DatabaseName+"?", "/postgres?", 1)
		err = s.Run(t.Context(), psql, "-q", "-d", admin, "-c", "create database "+DatabaseName)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// StartMariaDB starts MariaDB. The URL is the address form of most tools: mysql://user:password@host:port/database.
func StartMariaDB(t testing.TB) *Database {
	t.Helper()
	s := startService(t, ServiceOptions{
		Name: "mariadb", Program: "mariadbd", Places: []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"}, Package: "mariadb-server",
		User: "mysql",
		Prepare: func(ctx context.Context, s *Service) error {
			install, err := find("mariadb-install-db", []string{"/usr/bin", "/usr/local/bin"})
			if err != nil {
				return err
			}
			return s.Run(ctx, install, "--no-defaults", "--datadir="+filepath.Join(s.Dir, "data"), "--skip-test-db",
				"--auth-root-authentication-method=normal", "--innodb-flush-method=nosync")
		},
		Args: func(s *Service) []string {
			// It runs at every start, so it must bear a second one.
			setup := fmt.Sprintf("create database if not exists %[1]s;\n"+
				"create user if not exists '%[2]s'@'%%' identified by '%[3]s';\n"+
				"grant all on %[1]s.* to '%[2]s'@'%%';\n", DatabaseName, DatabaseUser, DatabasePassword)
			file, err := s.writeFile("setup.sql", setup)
			if err != nil {
				t.Fatal(err)
			}
			return []string{"--no-defaults", "--datadir=" + filepath.Join(s.Dir, "data"), "--bind-address=127.0.0.1",
				"--port=" + itoa(s.Port), "--socket=" + filepath.Join(s.Dir, "s"), "--pid-file=" + filepath.Join(s.Dir, "pid"),
				"--skip-name-resolve", "--init-file=" + file, "--innodb-flush-log-at-trx-commit=0"}
		},
		Ready: func(ctx context.Context, s *Service) error {
			client, err := find("mariadb", []string{"/usr/bin", "/usr/local/bin"})
			if err != nil {
				return err
			}
			return s.Run(ctx, client, "--no-defaults", "-h127.0.0.1", "-P"+itoa(s.Port), "-u"+DatabaseUser, "-p"+DatabasePassword,
				"-e", "select 1", DatabaseName)
		},
	})
	return &Database{s, fmt.Sprintf("mysql://%s:%s@%s/%s", DatabaseUser, DatabasePassword, s.Addr, DatabaseName)}
}

// StartRedis starts Redis with a password for the default user, and an append-only file, so that a restart keeps what was written.
func StartRedis(t testing.TB) *Database {
	t.Helper()
	s := startService(t, ServiceOptions{
		Name: "redis", Program: "redis-server", Places: []string{"/usr/bin", "/usr/local/bin"}, Package: "redis-server", User: "redis",
		Args: func(s *Service) []string {
			return []string{"--port", itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "",
				"--appendonly", "yes", "--appendfsync", "no", "--requirepass", DatabasePassword, "--daemonize", "no"}
		},
		Ready: func(ctx context.Context, s *Service) error {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", s.Addr)
			if err != nil {
				return err
			}
			defer conn.Close()
			if deadline, ok := ctx.Deadline(); ok {
				_ = conn.SetDeadline(deadline)
			}
			if _, err := fmt.Fprintf(conn, "AUTH %s\r\nPING\r\n", DatabasePassword); err != nil {
				return err
			}
			r := bufio.NewReader(conn)
			for _, want := range []string{"+OK", "+PONG"} {
				line, err := r.ReadString('\n')
				if err != nil {
					return err
				}
				if strings.TrimSpace(line) != want {
					return fmt.Errorf("redis answers %q", line)
				}
			}
			return nil
		},
	})
	// The default user by its name: redis-cli takes an empty name in a URL literally.
	return &Database{s, fmt.Sprintf("redis://default:%s@%s/0", DatabasePassword, s.Addr)}
}
