package serve

import (
	"bytes"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/pgzip"
)

// page is what a refresh rendered, compressed once: a scrape copies it. What is about the cluster comes first, and what is
// about koffset itself after it, so that a refresh that failed can replace the second part alone.
type page struct {
	gz   []byte
	body int64 // length of the first part, as text
	size int64 // of both
	at   time.Time
}

// compress renders a page of two parts. Blocks of it are compressed while the next ones are rendered, on every core, into one
// gzip member: curl reads the first of several, and says nothing about the rest.
func compress(body, own func(io.Writer) error, at time.Time) (*page, error) {
	var out bytes.Buffer
	z, err := pgzip.NewWriterLevel(&out, pgzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	defer z.Close() // where rendering fails; closing twice is harmless
	c := &counting{w: z}
	if err := body(c); err != nil {
		return nil, err
	}
	p := &page{body: c.n, at: at}
	if err := own(c); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	p.gz, p.size = out.Bytes(), c.n
	return p, nil
}

// replaced is the page with another second part.
func (p *page) replaced(own func(io.Writer) error) (*page, error) {
	return compress(func(w io.Writer) error { return p.text(w, p.body) }, own, p.at)
}

// text writes the first n bytes of the page as text.
func (p *page) text(w io.Writer, n int64) error {
	z, err := gzip.NewReader(bytes.NewReader(p.gz))
	if err != nil {
		return err
	}
	_, err = io.CopyN(w, z, n)
	return err
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
