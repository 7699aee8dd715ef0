package check

import "bytes"

// Poison is what every byte of a buffer is overwritten with when it is put back,
// up to its capacity. Debuggers have shown freed memory as 0xDD for decades; it is
// never valid UTF-8, as a length it is far too large, and as a signed number it is
// negative.
const Poison = 0xDD

// pages to compare with and to copy from.
var poisonPage, zeroPage = bytes.Repeat([]byte{Poison}, 4096), make([]byte, 4096)

// pageOf returns a page full of the byte, which is Poison or 0.
func pageOf(of byte) []byte {
	if of == Poison {
		return poisonPage
	}
	return zeroPage
}

// fill overwrites s with poison.
func fill(s []byte) {
	for len(s) > 0 {
		s = s[copy(s, poisonPage):]
	}
}

// changed returns the index of the first byte that is not as it should be, or -1.
func changed(s []byte, want byte) int {
	page := pageOf(want)
	for done := 0; done < len(s); done += len(page) {
		part := s[done:min(done+len(page), len(s))]
		if bytes.Equal(part, page[:len(part)]) {
			continue
		}
		for i, got := range part {
			if got != want {
				return done + i
			}
		}
	}
	return -1
}

// tailFill makes the bytes between length and capacity such that a change shows,
// and returns what they are. Zeros stay zeros, for the parent may have promised
// them.
func tailFill(tail []byte) byte {
	if changed(tail, Poison) < 0 {
		return Poison
	}
	if changed(tail, 0) < 0 {
		return 0
	}
	fill(tail)
	return Poison
}

// changedInIdle is changed, for the poison of a buffer of which the parent may
// have cleared all, or the first length bytes.
func changedInIdle(s []byte, length int) int {
	at := changed(s, Poison)
	if at < 0 || changed(s[:length], 0) >= 0 {
		return at
	}
	rest := s[length:]
	if at = changed(rest, Poison); at < 0 || changed(rest, 0) < 0 {
		return -1
	}
	return length + at
}
