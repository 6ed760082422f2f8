package cli

import (
	"testing"
)

// What was typed goes into the journal and the audit log, without the secrets in it.
func TestCommandLineHidesSecrets(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"reset", "g", "-X", "sasl.password=hunter2"}, "koffset reset g -X 'sasl.password=***'"},
		{[]string{"-Xsasl.password=hunter2"}, "koffset '-Xsasl.password=***'"},
		{[]string{"-X=sasl.password=hunter2"}, "koffset '-X=sasl.password=***'"},
		{[]string{"-vX", "sasl.password=hunter2"}, "koffset -vX 'sasl.password=***'"},
		{[]string{"-vXsasl.password=hunter2"}, "koffset '-vXsasl.password=***'"},
		{[]string{"--set", "sasl.password=hunter2"}, "koffset --set 'sasl.password=***'"},
		{[]string{"--set=sasl.password=hunter2", "x"}, "koffset '--set=sasl.password=***' x"},
		{[]string{"-X", "client_id=a", "sasl.password"}, "koffset -X client_id=a sasl.password"},
		{[]string{"--to", "store:postgres://u:hunter2@h/db?table=t"}, "koffset --to 'store:postgres://u:***@h/db?table=t'"},
		{[]string{"--to=store:redis://:hunter2@h/0"}, "koffset '--to=store:redis://:***@h/0'"},
		{[]string{"--store", "mysql://h/db?password=hunter2"}, "koffset --store 'mysql://h/db?password=***'"},
		{[]string{"--topic-match", "X=password"}, "koffset --topic-match X=password"},
	} {
		if got := (&App{Args: tc.args}).CommandLine(); got != tc.want {
			t.Errorf("%q: got %s, want %s", tc.args, got, tc.want)
		}
	}
}
