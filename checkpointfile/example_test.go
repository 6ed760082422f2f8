package checkpointfile_test

import (
	"fmt"
	"strings"

	"github.com/koffset/koffset/checkpointfile"
)

// What kafka-consumer-groups exports is read with its place, so that an error names the line.
func ExampleReadKafkaCSV() {
	rows, err := checkpointfile.ReadKafkaCSV("offsets.csv", strings.NewReader("billing,orders,0,42\nbilling,orders,1,7\n"))
	for _, r := range rows {
		fmt.Println(r.Line, r.Group, r.Partition, r.Offset)
	}
	fmt.Println(err)
	_, err = checkpointfile.ReadKafkaCSV("offsets.csv", strings.NewReader("billing,orders,0,42\nbilling,orders,1,-7\n"))
	fmt.Println(err)
	// Output:
	// 1 billing orders:0 42
	// 2 billing orders:1 7
	// <nil>
	// offsets.csv:2:18: "-7" is not an offset
}
