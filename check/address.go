package check

import "unsafe"

// What this package tells apart is where things are: which header was passed to
// Put, which array a slice lies in, and where in it. Go compares pointers for
// equality only, and a pointer that is remembered keeps alive what it points to.
// So this file, and no other, turns them into numbers. Nothing turns them back.

// headerAt returns where a slice header lies.
func headerAt(b *[]byte) uintptr { return uintptr(unsafe.Pointer(b)) }

// arrayAt returns where the first byte of s lies.
func arrayAt(s []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
