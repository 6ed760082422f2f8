package kafkatest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freePorts finds n different ports on 127.0.0.1 that nothing listens on. They lie below the range that Linux gives to outgoing
// connections, so a broker that is stopped and started again finds its port still free.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range 1000 {
		port := 15000 + rand.IntN(17000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held = append(held, l)
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports on 127.0.0.1 in 1000 tries", n)
}
