package main

// The layout is a promise to whoever reads the tree or imports a part of it: which package may use which, and what none of
// them does. This file holds the tree to it.

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/koffset/koffset/offset"
)

const module = "github.com/koffset/koffset"

// arrows are the imports inside the module that each package may have; a name that ends in /... stands for itself and all
// below it. A package of no line may have none. Programs (bench, cmd/gendocs) may have any.
func arrows() map[string][]string {
	all := map[string][]string{
		".":                     {"cmd"},
		"internal/wholefile":    {},
		"cmd":                   {"cmd/...", "internal/render", "offset"},
		"cmd/foreign":           {},
		"cmd/cli":               {"cmd/foreign", "checkpointfile/...", "completions", "consume/...", "history", "inspect", "internal/config", "internal/conn", "internal/consumeconf", "internal/registry", "internal/render", "internal/wholefile", "migrate/...", "offset"},
		"cmd/act":               {"cmd/cli", "checkpointfile/...", "inspect", "internal/render", "internal/wholefile", "offset", "reset"},
		"completions":           {"inspect", "internal/wholefile", "offset"},
		"offset":                {},
		"inspect":               {"internal/records", "offset"},
		"history":               {"inspect", "internal/records", "offset"},
		"checkpointfile":        {"offset", "checkpointfile/flink", "internal/wholefile"},
		"reset":                 {"inspect", "internal/commits", "internal/records", "checkpointfile/...", "offset"},
		"consume":               {"inspect", "internal/commits", "internal/metrics", "internal/records", "checkpointfile/...", "offset"},
		"consume/...":           {"consume/...", "checkpointfile/...", "inspect", "internal/wholefile", "offset"},
		"migrate":               {"reset", "inspect", "internal/records", "checkpointfile/...", "offset"},
		"migrate/store/...":     {"migrate/store/...", "checkpointfile", "offset"},
		"internal/commits":      {"inspect", "offset"},
		"internal/config":       {"offset"},
		"internal/conn":         {"internal/config", "internal/wholefile", "offset"},
		"internal/consumeconf":  {"consume/...", "checkpointfile", "internal/config", "offset"},
		"internal/records":      {"offset"},
		"internal/find":         {"inspect", "internal/records", "offset"},
		"internal/render":       {"offset"},
		"internal/text":         {},
		"internal/sandbox":      {},
		"internal/kafkatest":    {},
		"internal/flinktest":    {},
		"internal/registrytest": {},
		"internal/watch":        {"inspect", "internal/render", "offset"},
		"internal/metrics":      {},
		"internal/registry":     {},
		"internal/serve":        {"inspect", "internal/metrics", "offset"},
		"checkpointfile/...":    {"offset", "checkpointfile/...", "internal/wholefile"},
		"internal/render/...":   {"internal/render/..."},
	}
	for _, room := range rooms() {
		all[room] = []string{"cmd/cli", "cmd/act", "cmd/foreign", "checkpointfile/...", "completions", "consume/...", "history", "inspect", "internal/...", "migrate/...", "offset", "reset"}
	}
	return all
}

// rooms are the packages of cmd that hold commands. None imports another: what two of them need is in cmd/cli, and what
// shows, guards, asks, applies and reports a plan is in cmd/act.
func rooms() []string {
	return []string{"cmd/look", "cmd/move", "cmd/carry", "cmd/state", "cmd/read", "cmd/monitor", "cmd/setup"}
}

// outside are the modules that only some packages may use.
func outside() map[string][]string {
	return map[string][]string{
		"github.com/spf13/":                       {"cmd/...", "completions"},
		"github.com/olekukonko/tablewriter":       {"internal/render"},
		"github.com/twmb/franz-go/pkg/kfake":      {"internal/sandbox", "internal/kafkatest"},
		"github.com/twmb/franz-go/":               {"bench/...", "cmd/...", "completions", "consume/...", "history", "inspect", "internal/commits", "internal/conn", "internal/find", "internal/records", "internal/registry", "internal/sandbox", "internal/kafkatest", "internal/serve", "migrate", "reset"},
		"github.com/twmb/franz-go/pkg/sasl":       {"internal/conn", "internal/kafkatest"},
		"go.yaml.in/yaml":                         {"internal/config", "internal/conn", "internal/consumeconf"},
		"database/sql":                            {"migrate/store/...", "internal/kafkatest"},
		"github.com/jackc/pgx":                    {"migrate/store/postgres"},
		"github.com/go-sql-driver/mysql":          {"migrate/store/mysql"},
		"github.com/redis/go-redis":               {"migrate/store/redis"},
		"modernc.org/sqlite":                      {"migrate/store/sqlite"},
		"github.com/prometheus/":                  {"cmd/...", "internal/metrics", "internal/serve"},
		"golang.org/x/term":                       {"internal/render", "internal/watch"},
		"github.com/itchyny/gojq":                 {"internal/find"},
		"github.com/twmb/avro":                    {"internal/registry"},
		"github.com/bufbuild/protocompile":        {"internal/registry"},
		"github.com/rogpeppe/go-internal/testing": {},
	}
}

// interfaces are the ones there are: what a program that uses the engine fills in itself. None stands in for Kafka.
func interfaces() []string {
	return []string{"consume.OffsetStore", "consume.Sink", "store.Store"}
}

type goPackage struct {
	ImportPath, Name string
	Imports          []string
}

// goList asks the go command for the packages of the module, with and without the tag of the tests on a real broker.
func goList(t *testing.T, flags ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"list", "-e", "-json=ImportPath,Name,Imports"}, flags...), "./...")...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// inside is a package's path within the module, "." for its root; ok is false for one of another module.
func inside(importPath string) (rel string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func matches(pattern, pkg string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pkg == pattern
}

func anyMatches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

// allowed are the arrows of a package: its own line, or the longest one that covers it.
func allowed(pkg string) []string {
	return append(slices.Clone(arrowsOf(pkg)), "internal/text") // words for people: everybody speaks
}

func arrowsOf(pkg string) []string {
	if own, ok := arrows()[pkg]; ok {
		return own
	}
	best := ""
	for line := range arrows() {
		if matches(line, pkg) && len(line) > len(best) {
			best = line
		}
	}
	return arrows()[best]
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-tags", "realkafka"}} {
		seen := map[string]bool{}
		for _, p := range goList(t, flags...) {
			pkg, ok := inside(p.ImportPath)
			if !ok {
				t.Fatalf("go list named %s", p.ImportPath)
			}
			seen[pkg] = true
			program := p.Name == "main" && pkg != "." || strings.HasPrefix(pkg, "bench/")
			for _, imp := range p.Imports {
				if to, ok := inside(imp); ok {
					if !program && !anyMatches(allowed(pkg), to) && !strings.HasPrefix(to, pkg+"/internal/") {
						t.Errorf("%s imports %s", pkg, to)
					}
					continue
				}
				for prefix, may := range outside() {
					if strings.HasPrefix(imp, prefix) && !anyMatches(may, pkg) {
						t.Errorf("%s imports %s", pkg, imp)
					}
				}
			}
		}
		for _, pkg := range append(rooms(), ".", "cmd", "cmd/cli", "cmd/act", "offset", "inspect", "reset", "completions", "internal/render") {
			if !seen[pkg] {
				t.Errorf("go list does not know %s", pkg)
			}
		}
	}
}

// source is one Go file of the tree.
type source struct {
	path, dir string // slash-separated, from the root
	file      *ast.File
	fset      *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// forTests says that a file runs in tests only, or is a program of its own beside the tool.
func (s source) forTests() bool {
	return s.test() || s.dir == "internal/kafkatest" || strings.HasSuffix(s.dir, "test")
}

func (s source) program() bool { return s.file.Name.Name == "main" }

func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

func (s source) imports(name string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(name) })
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := filepath.Base(name)
		if d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(name)
		all = append(all, source{path: slashed, dir: path.Dir(slashed), file: f, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found", len(all))
	}
	return all
}

// calls are the selectors pkg.Name that a file uses, with their places.
func (s source) calls(yield func(name string, n ast.Node)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				yield(x.Name+"."+sel.Sel.Name, n)
			}
		}
		return true
	})
}

// .ci/real does not run again what is built without the tag too. So a test must be the same with the tag and without: nothing that
// tests share may have one value for each, other than what ends the brokers.
func TestOneTestWithAndWithoutTheTag(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if strings.Contains(constraint(s), "!realkafka") && s.path != "cmd/fakemain_test.go" {
			t.Errorf("%s: what it declares differs with the tag realkafka; give it to the tests as an argument", s.path)
		}
	}
}

func TestHouseRules(t *testing.T) {
	t.Parallel()
	domain := []string{"offset", "inspect", "reset", "consume/...", "migrate/...", "checkpointfile/...", "completions", "internal/render", "internal/config", "internal/conn", "internal/consumeconf", "internal/records", "internal/serve", "internal/watch", "internal/sandbox"}
	var declared []string
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					t.Errorf("%s: func init", s.at(d))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && !s.forTests() {
						if i, ok := ts.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > 0 && !union(i) {
							declared = append(declared, s.file.Name.Name+"."+ts.Name.Name)
						}
					}
				}
			}
		}
		s.calls(func(name string, n ast.Node) {
			bad := false
			switch name {
			case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln":
				bad = path.Base(s.path) != "main.go" && !s.test() || !s.program() && !s.test()
			case "context.Background", "context.TODO":
				bad = s.path != "cmd/main.go" && !s.forTests() && !s.program()
			case "os.Getenv", "os.LookupEnv", "os.Environ", "os.Stdout", "os.Stderr", "os.Stdin", "os.Args", "fmt.Print", "fmt.Printf", "fmt.Println":
				// render.System is where the process's own streams come from.
				bad = anyMatches(domain, s.dir) && !s.forTests() && s.path != "internal/render/streams.go"
			case "time.Sleep":
				bad = !s.imports("testing/synctest") // in a bubble it is the bubble's clock
			case "http.Server", "http.ListenAndServe", "http.Serve":
				bad = !s.forTests() && s.path != "cmd/cli/httpserver.go" // a server without timeouts is held by whoever does not read
			case "expfmt.MetricFamilyToText":
				bad = s.dir != "internal/metrics" && !s.forTests() // one writer of metrics
			case "t.Skip", "t.Skipf", "t.SkipNow":
				bad = !strings.Contains(constraint(s), "realkafka") // go test ./... skips nothing
			}
			if bad {
				t.Errorf("%s: %s", s.at(n), name)
			}
		})
	}
	for _, name := range declared {
		if !slices.Contains(interfaces(), name) {
			t.Errorf("interface %s: what is called through it can be called directly", name)
		}
	}
}

// library are the packages that other programs import: they have no command line.
func library() []string {
	return []string{"offset", "inspect", "reset", "consume/...", "migrate/...", "checkpointfile/...", "completions", "internal/config", "internal/consumeconf", "internal/records", "internal/commits", "internal/sandbox",
		"internal/conn", "internal/serve", "internal/render/...", "internal/metrics"}
}

// Words of the command line are cmd's: a package that is imported names settings, and each in double braces is one that
// offset.Settings has.
func TestLibraryNamesNoFlag(t *testing.T) {
	t.Parallel()
	flag := regexp.MustCompile(`(^|[^-\w])--[a-z]`)
	setting := regexp.MustCompile(`\{\{([a-z]+(?:-[a-z]+)*)(?: [^{}]*)?\}\}`)
	named := 0
	for _, s := range sources(t) {
		if !anyMatches(library(), s.dir) || s.forTests() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatalf("%s: %v", s.at(lit), err)
			}
			if flag.MatchString(text) {
				t.Errorf("%s names a flag: %s", s.at(lit), lit.Value)
			}
			for _, m := range setting.FindAllStringSubmatch(text, -1) {
				named++
				if !slices.Contains(offset.Settings(), offset.Setting(m[1])) {
					t.Errorf("%s: %q is no setting of offset.Settings", s.at(lit), m[1])
				}
			}
			return true
		})
	}
	if named < 20 {
		t.Errorf("only %d settings are named in hints", named)
	}
}

// union says that an interface is a constraint of type parameters.
func union(i *ast.InterfaceType) bool {
	return slices.ContainsFunc(i.Methods.List, func(f *ast.Field) bool {
		_, method := f.Type.(*ast.FuncType)
		_, named := f.Type.(*ast.Ident)
		_, other := f.Type.(*ast.SelectorExpr)
		return !method && !named && !other
	})
}

func constraint(s source) string {
	for _, g := range s.file.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, "//go:build ") {
				return c.Text
			}
		}
	}
	return ""
}

// Package-level variables are constants that Go cannot write as such: nothing assigns to one after the start.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	vars := map[string]map[string]*ast.ValueSpec{} // by folder and name
	all := slices.DeleteFunc(sources(t), source.forTests)
	for _, s := range all {
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for _, name := range v.Names {
					if vars[s.dir] == nil {
						vars[s.dir] = map[string]*ast.ValueSpec{}
					}
					vars[s.dir][name.Name] = v
				}
				if len(v.Values) == 0 && g.Doc == nil { // an embedded file has a directive
					t.Errorf("%s: a package-level variable without a value is there to be assigned to", s.at(v))
				}
			}
		}
	}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			var targets []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					targets = n.Lhs
				}
			case *ast.IncDecStmt:
				targets = []ast.Expr{n.X}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					targets = []ast.Expr{n.X}
				}
			}
			for _, x := range targets {
				id := root(x)
				if id == nil || vars[s.dir][id.Name] == nil || id.Name == "_" {
					continue
				}
				// The parser resolves names within a file: a local one of the same name has a declaration of its own.
				if id.Obj == nil || id.Obj.Decl == vars[s.dir][id.Name] {
					t.Errorf("%s: package-level variable %s is changed, or its address taken", s.at(n), id.Name)
				}
			}
			return true
		})
	}
}

// root is the variable at the left of x.f, x[i] and (*x).
func root(x ast.Expr) *ast.Ident {
	switch x := x.(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return root(x.X)
	case *ast.IndexExpr:
		return root(x.X)
	case *ast.StarExpr:
		return root(x.X)
	case *ast.ParenExpr:
		return root(x.X)
	}
	return nil
}

// The page that draws the house is true: its table is the arrows that are held above, each package is in it, and every file
// that it sends a reader to is there.
func TestArchitecturePageIsTrue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| package | may import | what it is |")
	table, _, _ = strings.Cut(table, "\n\n")
	drawn := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\| [^|]+ \\|$").FindAllStringSubmatch(table, -1) {
		var to []string
		for _, n := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[2], -1) {
			to = append(to, n[1])
		}
		drawn[m[1]] = to
	}
	held := map[string][]string{}
	for pkg, to := range arrows() {
		if !slices.Contains(rooms(), pkg) {
			held[pkg] = to
		}
	}
	held["a room"] = arrows()[rooms()[0]]
	for pkg, to := range held {
		if a, b := slices.Sorted(slices.Values(to)), slices.Sorted(slices.Values(drawn[pkg])); !slices.Equal(a, b) {
			t.Errorf("docs/architecture.md draws %s -> %q, held is %q", pkg, b, a)
		}
	}
	for pkg := range drawn {
		if _, ok := held[pkg]; !ok {
			t.Errorf("docs/architecture.md draws %s, which no arrow is held for", pkg)
		}
	}
	for _, p := range goList(t) {
		pkg, _ := inside(p.ImportPath)
		covered := slices.Contains(rooms(), pkg) || p.Name == "main" && pkg != "." || strings.HasPrefix(pkg, "bench/")
		for line := range drawn {
			covered = covered || matches(line, pkg)
		}
		if !covered {
			t.Errorf("docs/architecture.md does not draw %s", pkg)
		}
	}
	for _, m := range regexp.MustCompile("`((?:cmd|offset|inspect|reset|migrate|consume|internal|checkpointfile|docs)/[a-z_/.]+)`").FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.FromSlash(strings.TrimSuffix(m[1], "/..."))); err != nil {
			t.Errorf("docs/architecture.md names %s: %v", m[1], err)
		}
	}
}

// longest is how many lines a function may have, from func to its closing brace.
const longest = 60

// tables are functions that are longer, and why they are none to split: what they hold is a list.
func tables() map[string]string {
	return map[string]string{
		"internal/consumeconf.keys":            "a line for each setting",
		"migrate/store/internal/storetest.Run": "the contract of a store, a subtest for each clause",
	}
}

func TestNoFunctionIsLong(t *testing.T) {
	t.Parallel()
	long := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := s.fset.Position(f.End()).Line - s.fset.Position(f.Type.Pos()).Line + 1
			if n <= longest {
				continue
			}
			name := s.dir + "." + f.Name.Name
			if long[name] = true; tables()[name] == "" {
				t.Errorf("%s: %s has %d lines, %d are the most: name its steps", s.at(f), f.Name.Name, n, longest)
			}
		}
	}
	for name := range tables() {
		if !long[name] {
			t.Errorf("%s is not longer than %d lines, and stands in the list of those that may be", name, longest)
		}
	}
}

// Where kadm tells the truth it is used, and where it does not a raw request says which lie. docs/architecture.md has the
// table.
func TestRawRequestsSayWhy(t *testing.T) {
	t.Parallel()
	used := map[string]map[string]bool{} // by "raw Fetch" or "kadm DescribeAllLogDirs": the packages
	note := func(call, dir string) {
		if used[call] == nil {
			used[call] = map[string]bool{}
		}
		used[call][dir] = true
	}
	raw := regexp.MustCompile(`^kmsg\.New(?:Ptr)?(\w+)Request$`)
	for _, s := range sources(t) {
		if s.forTests() || strings.HasPrefix(s.dir, "bench/") {
			continue
		}
		why := map[int]bool{} // the lines below a comment that says why
		for _, g := range s.file.Comments {
			for _, c := range g.List {
				if strings.HasPrefix(c.Text, "// Raw: ") && len(c.Text) > 30 {
					why[s.fset.Position(c.End()).Line+1] = true
				}
			}
		}
		s.calls(func(name string, n ast.Node) {
			if m := raw.FindStringSubmatch(name); m != nil {
				note("raw "+m[1], s.dir)
				if !why[s.fset.Position(n.Pos()).Line] {
					t.Errorf("%s: %s without a line \"// Raw: …\" above that says why kadm will not do", s.at(n), name)
				}
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			call, ok := sel.X.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "NewClient" {
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "kadm" {
					note("kadm "+sel.Sel.Name, s.dir)
				}
			}
			return true
		})
	}
	page, err := os.ReadFile(filepath.Join("docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| request | by | where | why |")
	table, _, _ = strings.Cut(table, "\n\n")
	drawn := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| (raw|kadm) \| ([^|]+) \| [^|]{20,} \|$`).FindAllStringSubmatch(table, -1) {
		at := map[string]bool{}
		for _, n := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[3], -1) {
			at[n[1]] = true
		}
		drawn[m[2]+" "+m[1]] = at
	}
	for call, at := range used {
		if !maps.Equal(at, drawn[call]) {
			t.Errorf("%s is used in %q, docs/architecture.md says %q", call, slices.Sorted(maps.Keys(at)), slices.Sorted(maps.Keys(drawn[call])))
		}
	}
	for call := range drawn {
		if used[call] == nil {
			t.Errorf("docs/architecture.md has %s, which no code uses", call)
		}
	}
	if len(used) < 20 {
		t.Errorf("only %d kinds of requests were found", len(used))
	}
}

// public are the packages for importers.
func public() []string {
	return []string{"offset", "inspect", "reset", "migrate", "migrate/store", "migrate/store/mysql", "migrate/store/postgres", "migrate/store/redis", "migrate/store/sqlite",
		"migrate/store/sqlstore", "consume", "consume/sink", "checkpointfile", "checkpointfile/flink", "history"}
}

// Whoever imports a package finds in its doc what it is for, an example that compiles, and what may change.
func TestPublicPackagesAreDocumented(t *testing.T) {
	t.Parallel()
	doc, example := map[string]string{}, map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(public(), s.dir) {
			continue
		}
		if s.file.Doc != nil && !s.test() {
			doc[s.dir] += s.file.Doc.Text()
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test() && strings.HasPrefix(f.Name.Name, "Example") {
				example[s.dir] = true
			}
		}
	}
	for _, pkg := range public() {
		if !strings.HasPrefix(doc[pkg], "Package "+path.Base(pkg)+" ") {
			t.Errorf("%s: the doc does not say what the package is for", pkg)
		}
		if !strings.Contains(doc[pkg], "# Compatibility\n\nBefore 1.0 ") {
			t.Errorf("%s: the doc does not say what compatibility means", pkg)
		}
		if !example[pkg] {
			t.Errorf("%s has no example", pkg)
		}
	}
}
