.PHONY: build test real lint docs bench
build: ; CGO_ENABLED=0 go build -o koffset .
test:  ; go test ./...
real:  ; .ci/real
lint:  ; go vet ./... && go vet -tags realkafka ./... && go tool staticcheck -tags realkafka ./...
docs:  ; go run ./cmd/gendocs -markdown docs/commands
bench: ; for b in look move consume flink; do go run -tags realkafka ./bench/$$b || exit 1; done
