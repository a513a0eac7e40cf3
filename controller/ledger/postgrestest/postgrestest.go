// Package postgrestest gives tests their own PostgreSQL.
//
// [URL] gives a test an empty database on a server that all tests of the binary share,
// and a [Template] gives it one with tables that were made once. [Start] gives it a
// server that it may stop and kill. Tests skip if PostgreSQL is not installed, or fail
// if the environment variable GAVEL_TEST_POSTGRES is set.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Required is the environment variable that makes a missing PostgreSQL a failure.
const Required = "GAVEL_TEST_POSTGRES"

// A Server is a PostgreSQL that listens on a Unix socket in a temporary folder. It and
// the folder are removed when the process ends, in any way.
type Server struct {
	bin, dir string

	mu   sync.Mutex
	made int       // databases, guarded by mu
	conn *pgx.Conn // makes and removes databases, guarded by mu; nil until it is needed

	// guard removes all when its standard input, which only this process holds,
	// is closed.
	guard io.Closer
}

// shared is made when the first test asks for it.
var shared = sync.OnceValues(func() (*Server, error) { return start("fsync = off", "full_page_writes = off") })

// URL returns the address of an empty database that is removed with the test.
func URL(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	require(tb, err)
	return s.URL(tb)
}

// Start starts a server for one test, with fsync on, and ends it with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s, err := Open()
	require(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// Open is [Start] for programs that are not tests. The caller calls Close. The error
// wraps [ErrMissing] if PostgreSQL is not installed.
func Open() (*Server, error) { return start() }

// StartLogged is [Start] with a server that logs its statements, see [Server.Statements].
func StartLogged(tb testing.TB) *Server {
	tb.Helper()
	s, err := start("log_statement = all", "log_line_prefix = '"+mark+"'")
	require(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// mark begins each message in the log of a server that is [StartLogged].
const mark = "@gavel@ "

// Statements returns the first lines of the statements that clients have executed so
// far, each once for every execution, including begin and commit. A statement that only
// waits for its execution, such as a prepared one, does not count.
func (s *Server) Statements(tb testing.TB) []string {
	tb.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	require(tb, err)
	var found []string
	for _, line := range strings.Split(string(log), "\n") {
		message, marked := strings.CutPrefix(line, mark+"LOG:  ")
		if text, simple := strings.CutPrefix(message, "statement: "); marked && simple {
			found = append(found, text)
		} else if _, text, named := strings.Cut(message, ": "); marked && named && strings.HasPrefix(message, "execute ") {
			found = append(found, text)
		}
	}
	return found
}

// Close ends the server and removes all its files.
func (s *Server) Close() error { return errors.Join(s.disconnect(), s.guard.Close()) }

// ErrMissing means that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: the folder with its initdb is not in PATH and not below /usr/lib/postgresql")

func require(tb testing.TB, err error) {
	tb.Helper()
	if errors.Is(err, ErrMissing) && os.Getenv(Required) == "" {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// URL returns the address of an empty database on the server. The database is
// removed with the test if the server runs then.
func (s *Server) URL(tb testing.TB) string {
	tb.Helper()
	return s.copyOf(tb, empty)
}

// copyOf returns the address of a database that begins as a copy of another one.
func (s *Server) copyOf(tb testing.TB, original string) string {
	tb.Helper()
	name, err := s.create(original)
	require(tb, err)
	tb.Cleanup(func() { _ = s.execute("DROP DATABASE " + name + " WITH (FORCE)") })
	return s.address(name)
}

// Database makes an empty database and returns its name and its address.
func (s *Server) Database() (name, address string, err error) {
	name, err = s.create(empty)
	return name, s.address(name), err
}

// empty is the database of PostgreSQL that never has a user's data.
const empty = "template0"

// create makes a copy of a database that nobody is connected to. It copies the files,
// which takes less time than the default way, by the log.
func (s *Server) create(original string) (name string, err error) {
	s.mu.Lock()
	s.made++
	name = fmt.Sprintf("test%d", s.made)
	s.mu.Unlock()
	return name, s.execute("CREATE DATABASE " + name + " TEMPLATE " + original + " STRATEGY file_copy")
}

// address returns the address of a database.
func (s *Server) address(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: "localhost", Path: name, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}

// execute makes the server execute a statement, on a connection that is kept.
func (s *Server) execute(statement string) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx := context.Background()
	if s.conn == nil {
		if s.conn, err = pgx.Connect(ctx, s.address("postgres")); err != nil {
			return err
		}
	}
	_, err = s.conn.Exec(ctx, statement)
	return err
}

// disconnect ends the connection that was kept.
func (s *Server) disconnect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.Close(context.Background())
}

// A Template is a database on the shared server that tests get copies of.
type Template struct{ name func() (string, error) }

// NewTemplate returns a template that fill makes from an empty database before the
// first copy. fill has to close its connections before it returns.
func NewTemplate(fill func(url string) error) *Template {
	return &Template{sync.OnceValues(func() (string, error) {
		s, err := shared()
		if err != nil {
			return "", err
		}
		name, address, err := s.Database()
		if err != nil {
			return "", err
		}
		return name, fill(address)
	})}
}

// URL returns the address of a copy of the template that is removed with the test.
func (t *Template) URL(tb testing.TB) string {
	tb.Helper()
	name, err := t.name()
	require(tb, err)
	s, err := shared()
	require(tb, err)
	return s.copyOf(tb, name)
}

// Socket is the path of the server's Unix socket, for a proxy.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Kill is Stop for tests.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	require(tb, s.Stop())
}

// Restart starts a server for a test that was killed.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	require(tb, s.Resume())
}

// Stop ends the server as kill -9 does: nothing is written any more, and the next
// start recovers from the log.
func (s *Server) Stop() error {
	return errors.Join(s.disconnect(), s.control("stop", "-m", "immediate"))
}

// Resume starts a server that was stopped.
func (s *Server) Resume() error { return s.control("start") }

func (s *Server) control(verb string, args ...string) error {
	return s.run("pg_ctl", append([]string{"-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-w", "-t", "60", "-s", verb}, args...)...)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// pristine is a server that is never started. The others begin with copies of its data, so that
// a process runs initdb once. It is removed when the process ends.
var pristine = sync.OnceValues(func() (*Server, error) {
	s, err := place()
	if err != nil {
		return nil, err
	}
	err = s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return nil, errors.Join(err, s.guard.Close())
	}
	return s, nil
})

// start makes a server with further lines of configuration.
func start(settings ...string) (*Server, error) {
	original, err := pristine()
	if err != nil {
		return nil, err
	}
	s, err := place()
	if err != nil {
		return nil, err
	}
	if err := s.begin(original, settings); err != nil {
		return nil, errors.Join(err, s.guard.Close())
	}
	return s, nil
}

// begin starts the server with the data of one that was never started.
func (s *Server) begin(original *Server, settings []string) error {
	if err := s.spawn("cp", "-R", original.data(), s.data()); err != nil {
		return err
	}
	settings = append(settings, "unix_socket_directories = '"+s.dir+"'", "listen_addresses = ''", "max_connections = 200")
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(settings, "\n") + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return s.control("start")
}

// place makes the folder of a server, and the guard that removes it.
func place() (*Server, error) {
	bin, err := folder()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base(), "gavel-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	err = give(dir)
	if err == nil {
		s.guard, err = s.watch()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// base is where the folders of servers are made: the folder of temporary files, unless
// its path is too long for a socket, or the user of the server may not enter it.
func base() string {
	const usual, longest = "/tmp", 60
	dir := os.TempDir()
	if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 || len(dir) > longest {
		return usual
	}
	return dir
}

// folder finds the programs of the newest PostgreSQL.
func folder() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// run runs a program of PostgreSQL. The error has its output.
func (s *Server) run(name string, args ...string) error {
	return s.spawn(filepath.Join(s.bin, name), args...)
}

// spawn runs a program as the user of the server. The error has its output.
func (s *Server) spawn(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if err := lower(cmd); err != nil {
		return err
	}
	// The server keeps the pipes of pg_ctl open, so that reading one would never end.
	out, err := os.CreateTemp("", "gavel-pg-out-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(out.Close(), os.Remove(out.Name())) }()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("%s: %w: %s%s", filepath.Base(program), err, said, log[max(0, len(log)-2000):])
	}
	return nil
}

// guardScript waits until its input is closed.
const guardScript = `trap '' INT TERM HUP
cat >/dev/null
"$1/pg_ctl" -D "$2/data" -m immediate -w -t 20 -s stop
cd / && rm -rf "$2"`

// watch starts the guard. It outlives this process for a moment.
func (s *Server) watch() (io.Closer, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript, "guard", s.bin, s.dir)
	cmd.Dir = "/"
	if err := lower(cmd); err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return closer(func() error { return errors.Join(in.Close(), cmd.Wait()) }), nil
}

type closer func() error

func (c closer) Close() error { return c() }
