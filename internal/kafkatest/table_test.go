package kafkatest

import "testing"

func TestTable(t *testing.T) {
	text := `
Consumer group 'g' has no active members.

GROUP  TOPIC  PARTITION  CURRENT-OFFSET  COORDINATOR (ID)
g      t      0          6               127.0.0.1:9 (1)
g      t      1          -               127.0.0.1:9 (1)

GROUP  TOPIC
h      u
`
	rows := Table(text)
	if len(rows) != 2 || rows[0]["CURRENT-OFFSET"] != "6" || rows[1]["CURRENT-OFFSET"] != "-" ||
		rows[1]["COORDINATOR (ID)"] != "127.0.0.1:9 (1)" {
		t.Errorf("rows %v", rows)
	}
	if rows := Table("Error: no such group\n"); rows != nil {
		t.Errorf("text without a table gave %v", rows)
	}
}
