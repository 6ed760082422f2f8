package flink_test

import (
	"fmt"

	"github.com/koffset/koffset/checkpointfile/flink"
)

func ExampleOpen() {
	s, err := flink.Open("/flink/savepoint-3a23c5", flink.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, source := range s.Sources {
		for _, p := range source.Partitions {
			fmt.Println(source.UID, p.Topic, p.Partition, p.State)
		}
	}
}

// The operator that source.uid("orders-source") makes.
func ExampleOperatorIDOf() {
	fmt.Println(flink.OperatorIDOf("orders-source"))
	// Output:
	// 45b0254a46cabbc3efeea5d2e170ea5b
}
