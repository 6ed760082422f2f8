package sink_test

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/koffset/koffset/consume/sink"
)

func ExampleParseFormat() {
	encode, err := sink.ParseFormat(`%t:%p %o %k=%v{hex}\n`, sink.Forms{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &kgo.Record{Topic: "orders", Partition: 3, Offset: 42, Key: []byte("o-1"), Value: []byte("paid")}
	fmt.Printf("%s", encode(nil, r))
	// Output:
	// orders:3 42 o-1=70616964
}
