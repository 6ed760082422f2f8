# koffset as a container image: docker build -t koffset . && docker run --rm koffset version
# The binary is static, so the image holds it, the certificate authorities and the time zones, and nothing else.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /koffset .

FROM scratch
COPY --from=build /koffset /koffset
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
# The journal and the audit log: mount a volume here to keep them.
ENV XDG_STATE_HOME=/state
VOLUME /state
ENTRYPOINT ["/koffset"]
