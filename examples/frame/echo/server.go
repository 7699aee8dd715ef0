package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
)

// server sends back every frame it receives. The payload's buffer goes out as it
// came in.
type server struct {
	net.Listener
	done   sync.WaitGroup
	broken chan struct{} // closed when it can accept no more

	mu    sync.Mutex
	moved moved
	open  map[net.Conn]bool // nil: stopping
	fault error             // the first
}

// serve starts a server.
func serve(s settings, pool bufpool.BufferPool) (*server, error) {
	l, err := listen(s)
	if err != nil {
		return nil, err
	}
	srv := &server{Listener: l, broken: make(chan struct{}), open: map[net.Conn]bool{}}
	srv.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				srv.fail(err)
				srv.hangUp() // or clients would wait for ever
				close(srv.broken)
				return
			}
			if !srv.track(c) {
				c.Close()
				return
			}
			srv.done.Go(func() {
				defer srv.untrack(c)
				conn := frame.NewConn(c, frame.WithBufferPool(pool), frame.WithMaxPayload(s.maxPayload))
				if err := srv.echo(conn); err != nil {
					srv.fail(fmt.Errorf("server, connection from %v: %w", c.RemoteAddr(), err))
				}
			})
		}
	})
	return srv, nil
}

// echo serves one connection until its peer closes it.
func (srv *server) echo(c *frame.Conn) error {
	f := frame.New()
	defer f.Release()
	for {
		if err := c.Receive(f); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := len(f.Payload())
		if err := c.Send(f); err != nil {
			return err
		}
		srv.mu.Lock()
		srv.moved.files++
		srv.moved.bytes += int64(n)
		srv.mu.Unlock()
	}
}

func (srv *server) total() moved {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.moved
}

func (srv *server) track(c net.Conn) bool {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.open == nil {
		return false
	}
	srv.open[c] = true
	return true
}

func (srv *server) untrack(c net.Conn) {
	c.Close()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	delete(srv.open, c) // also of nil
}

// fail notes the first fault. What fails because the server is stopping is none.
func (srv *server) fail(err error) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.fault == nil && !errors.Is(err, net.ErrClosed) {
		srv.fault = err
	}
}

// hangUp closes the listener and all connections.
func (srv *server) hangUp() {
	srv.Close()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for c := range srv.open {
		c.Close()
	}
	srv.open = nil
}

// stop ends the server, waits for it, and returns the first fault.
func (srv *server) stop() error {
	srv.hangUp()
	srv.done.Wait()
	return srv.fault
}
