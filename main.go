// Command koffset looks at, moves and carries the offsets of Apache Kafka's consumer groups.
package main

import (
	"os"

	"github.com/koffset/koffset/cmd"
)

func main() { os.Exit(cmd.Main()) }
