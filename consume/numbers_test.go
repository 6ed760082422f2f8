package consume_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/koffset/koffset/consume"
)

// eachNumber calls f with every number and length of time of a struct, settable, and with its place.
func eachNumber(v reflect.Value, at string, f func(at string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type().Elem() == reflect.TypeFor[consume.Join]() || v.Type().Elem().Kind() == reflect.Int64 {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
				defer v.SetZero()
			}
			eachNumber(v.Elem(), at, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachNumber(v.Field(i), at+"."+v.Type().Field(i).Name, f)
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		f(at, v)
	}
}

// The zero value of every number in a Config is a default. A number that is below it means nothing, and is refused; the one that
// does is documented.
func TestNoNumberBelowZero(t *testing.T) {
	_, cl := fake(t)
	never := map[string]bool{".Discovery": true}
	base := consume.Config{Client: cl, Topics: topics("t"), Group: "g", Start: consume.FromGroup(), Sink: &collector{}}
	cfg, seen := base, 0
	eachNumber(reflect.ValueOf(&cfg).Elem(), "", func(at string, v reflect.Value) {
		seen++
		below := []any{int64(-1)}
		if v.Type() == reflect.TypeFor[time.Duration]() {
			below = []any{int64(-1), int64(-time.Hour)}
		}
		if v.Kind() == reflect.Float64 {
			below = []any{-1.0, math.NaN()}
		}
		for _, n := range below {
			v.Set(reflect.ValueOf(n).Convert(v.Type()))
			var e *consume.Error
			switch err := cfg.Check(); {
			case never[at] && err != nil:
				t.Errorf("Config%s = %v: %v", at, v, err)
			case !never[at] && (!errors.As(err, &e) || e.Kind != consume.Usage):
				t.Errorf("Config%s = %v: %v, want a usage error", at, v, err)
			}
			v.SetZero()
		}
		if err := cfg.Check(); err != nil {
			t.Errorf("Config%s = 0: %v", at, err)
		}
	})
	if seen < 25 {
		t.Errorf("%d numbers were found", seen)
	}
}

// Numbers that the wire or the client would cut to something else.
func TestNumbersThatDoNotFit(t *testing.T) {
	_, cl := fake(t)
	for name, edit := range map[string]func(*consume.Config){
		"a wait of 50 days":              func(c *consume.Config) { c.Fetch.MaxWait = 50 * 24 * time.Hour },
		"a wait of a microsecond":        func(c *consume.Config) { c.Fetch.MaxWait = time.Microsecond },
		"a session of 50 days":           func(c *consume.Config) { c.Join = &consume.Join{SessionTimeout: 50 * 24 * time.Hour} },
		"a heartbeat of a microsecond":   func(c *consume.Config) { c.Join = &consume.Join{Heartbeat: time.Microsecond} },
		"a rebalance of 50 days":         func(c *consume.Config) { c.Join = &consume.Join{RebalanceTimeout: 50 * 24 * time.Hour} },
		"a heartbeat above the session":  func(c *consume.Config) { c.Join = &consume.Join{Heartbeat: time.Minute, SessionTimeout: time.Second} },
		"a commit every microsecond":     func(c *consume.Config) { c.Commit.Interval = time.Microsecond },
		"a checkpoint every microsecond": func(c *consume.Config) { c.Checkpoints.Interval = time.Microsecond },
	} {
		cfg := consume.Config{Client: cl, Topics: topics("t"), Group: "g", Start: consume.FromGroup(), Sink: &collector{}}
		edit(&cfg)
		var e *consume.Error
		if err := cfg.Check(); !errors.As(err, &e) || e.Kind != consume.Usage {
			t.Errorf("%s: %v, want a usage error", name, err)
		}
	}
}
