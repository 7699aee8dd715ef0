package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/bufpool/bufpool"
	"github.com/bufpool/bufpool/examples/frame"
)

// send opens the connections and sends all files over them, each over whichever
// is free, as often as the settings say. It adds to total what came back unchanged,
// and stops at the first
// fault, which it returns.
func send(ctx context.Context, s settings, pool bufpool.BufferPool, address string, total *moved, show func(done, all int)) error {
	dir := s.dir
	if dir == "" {
		var err error
		if dir, err = goSource(); err != nil {
			return err
		}
	}
	paths, err := files(dir)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // total
	next := make(chan int)
	var workers sync.WaitGroup
	for range s.conns {
		workers.Go(func() {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				cancel(err)
				return
			}
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			conn := frame.NewConn(c, frame.WithBufferPool(pool), frame.WithMaxPayload(s.maxPayload))
			f := frame.New(frame.WithBufferPool(pool))
			defer f.Release()
			for i := range next {
				n, err := exchange(conn, f, s, paths[i], uint32(i))
				if err != nil {
					cancel(fmt.Errorf("%s: %w", paths[i], err))
					return
				}
				mu.Lock()
				total.files++
				total.bytes += n
				show(total.files, s.repeat*len(paths))
				mu.Unlock()
			}
		})
	}
feed:
	for range s.repeat {
		for i := range paths {
			select {
			case next <- i:
			case <-ctx.Done():
				break feed
			}
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// exchange sends one file as a frame and checks what comes back.
func exchange(c *frame.Conn, f *frame.Frame, s settings, path string, index uint32) (int64, error) {
	sum, err := load(f, path, s.maxPayload)
	if err != nil {
		return 0, err
	}
	n := int64(len(f.Payload()))
	options := []uint32{index, crc32.ChecksumIEEE(f.Payload())}
	if err := f.SetOptions(options...); err != nil {
		return 0, err
	}
	if err := c.Send(f); err != nil {
		return 0, fmt.Errorf("sending: %w", err)
	}
	if err := c.Receive(f); err != nil {
		return 0, fmt.Errorf("receiving: %w", err)
	}
	switch {
	case !slices.Equal(f.Options(), options):
		return 0, fmt.Errorf("options came back as %v, want %v", f.Options(), options)
	case int64(len(f.Payload())) != n:
		return 0, fmt.Errorf("%d bytes came back, want %d", len(f.Payload()), n)
	case sha256.Sum256(f.Payload()) != sum:
		return 0, fmt.Errorf("SHA-256 came back as %x, want %x", sha256.Sum256(f.Payload()), sum)
	}
	f.Reset()
	return n, nil
}

// load reads a file straight into the frame's payload.
func load(f *frame.Frame, path string, limit int64) (sum [sha256.Size]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return sum, err
	}
	if limit = min(limit, math.MaxInt-frame.Headroom); info.Size() > limit {
		return sum, fmt.Errorf("%w: %d bytes, the limit is %d", frame.ErrPayloadTooLarge, info.Size(), limit)
	}
	payload := f.AllocPayload(int(info.Size()))
	if _, err := io.ReadFull(file, payload); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return sum, fmt.Errorf("the file is shorter than its size of %d bytes: %w", info.Size(), err)
	} else if err != nil {
		return sum, err
	}
	return sha256.Sum256(payload), nil
}
