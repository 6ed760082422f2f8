package offset

import (
	"strings"
	"testing"
	"time"
)

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://u:pw@h:5432/db?sslpassword=pw&a=b":             "postgres://u:***@h:5432/db?sslpassword=***&a=b",
		"store:redis://:pw@h/0":                                    "store:redis://:***@h/0",
		"redis:/:pw@h/0":                                           "redis:/:***@h/0", // taken for a path
		`topic "redis": "//:pw@h/0" is`:                            `topic "redis": "//:***@h/0" is`,
		`topic "mysql": "u:pw@tcp(h:1)/db" is`:                     `topic "mysql": "u:***@tcp(h:1)/db" is`,
		"redis://:p@w/pw?pw@h/0":                                   "redis://:***@h/0",
		"postgres://h/db?user=u&password=pw":                       "postgres://h/db?user=u&password=***",
		"postgres:host=h user=u password=pw dbname=d":              "postgres:host=h user=u password=*** dbname=d",
		"postgres:host=h password='p w pw' dbname=d":               "postgres:host=h password=*** dbname=d",
		"mysql:u:pw@tcp(h:3306)/db":                                "mysql:***@tcp(h:3306)/db",
		"rediss://h/0?PassWord=pw":                                 "rediss://h/0?PassWord=***",
		`store "postgres://u:pw@h/db": it is not known`:            `store "postgres://u:***@h/db": it is not known`,
		"mysql://u@h:3306/db?table=offsets":                        "mysql://u@h:3306/db?table=offsets",
		"sqlite:x.db?create=true":                                  "sqlite:x.db?create=true",
		"group billing: 3 members on 10.0.0.1:9092, orders:0=1:20": "group billing: 3 members on 10.0.0.1:9092, orders:0=1:20",
		"http://127.0.0.1:8080/metrics":                            "http://127.0.0.1:8080/metrics",
	} {
		got := Mask(in)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if again := Mask(got); again != got {
			t.Errorf("masked twice, %s becomes %s", got, again)
		}
	}
}

// A position never shows its secret, whichever way it is printed, and neither does the error of one that is wrong.
func TestPositionShowsNoSecret(t *testing.T) {
	clock := Clock{Now: time.Unix(0, 0)}
	for _, word := range []string{"store:redis://:s3cr3t@h/0", "store:postgres://u:s3cr3t@h/db?password=s3cr3t", "stor:redis://:s3cr3t@h/0", "store:postgres:password=s3cr3t",
		"orders:0=store:redis://:s3cr3t@h/0", "@redis://:s3cr3t@h"} {
		p, err := ParsePosition(word, RoleTarget, clock)
		text := p.String()
		if err != nil {
			text += err.Error()
		}
		if strings.Contains(text, "s3cr3t") {
			t.Errorf("%s is shown as %s", word, text)
		}
	}
}
