package check

import (
	"fmt"
	"runtime"
	"strings"
)

// Stack is where something was done: program counters as of runtime.Callers,
// innermost first, at most 32 of them.
type Stack []uintptr

const maxDepth = 32

// callers returns the stack from the caller of its caller's caller on, which is
// that of Get, Put or Verify where those call what calls this.
func callers(skip int) Stack {
	var pcs [maxDepth]uintptr
	n := runtime.Callers(2+skip, pcs[:])
	return append(Stack(nil), pcs[:n]...)
}

// String returns a function and a line for each frame, as the runtime prints them.
func (s Stack) String() string {
	var b strings.Builder
	for f := range s.frames {
		if f.Function == "runtime.goexit" || f.Function == "runtime.main" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
	}
	return b.String()
}

func (s Stack) frames(yield func(runtime.Frame) bool) {
	if len(s) == 0 {
		return
	}
	for frames := runtime.CallersFrames(s); ; {
		f, more := frames.Next()
		if !yield(f) || !more {
			return
		}
	}
}

// panicking reports whether the calling goroutine runs a deferred call of a panic.
func panicking() bool {
	for pcs := make([]uintptr, 64); ; pcs = make([]uintptr, 2*len(pcs)) {
		n := runtime.Callers(1, pcs)
		for f := range Stack(pcs[:n]).frames {
			if f.Function == "runtime.gopanic" {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}
