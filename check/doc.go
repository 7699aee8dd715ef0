// Package check finds misuse of buffer pools: buffers put back twice, used after
// they were put back, never put back, or written to beyond their end. It wraps any
// [bufpool.BufferPool], says what was done wrong and where the buffer was lent, put
// back and found, and is switched at run time; no build tag, no other binary.
//
//	pool, err := check.New(pool)
//
// # Which mode for which moment
//
//   - In a test: [ForTest]. It tracks every buffer, and fails the test for each
//     violation and for each buffer that was not put back.
//   - In staging: [New]. It tracks every buffer, and panics where it detects a
//     violation, or does what [WithReport] says.
//   - In production: New with [WithSample](1000) and [WithReport]([Log](nil)). It tracks
//     one buffer in a thousand just as thoroughly, and passes on the others for a few
//     nanoseconds each. [Pool.SetSample] turns it up, down and off while the program
//     runs.
//
// A Get and Put of a buffer that is tracked costs about 300 times the usual at 4 KiB, that is
// 4 µs, most of it for the three stacks that are recorded; at 1 MiB it is up to 100 µs, for all of
// the capacity is overwritten once and read twice. With WithSample(1000) that makes 1.7 to 1.8
// times the usual on average at 4 KiB (1.5 to 1.6 with [WithoutProfile]) and 3 times at 1 MiB.
// Switched off it is 1.2 times, as any wrapper (go test -bench Ratio). In memory a
// tracked buffer takes 1 KiB beside what it is; the quarantine comes on top.
//
// # What it sees
//
// Each buffer is lent under a header that is never lent again, so a Put through a
// stale one is told from any other for as long as somebody has it. A buffer that is
// put back is filled with [Poison] up to its capacity: who reads it afterwards gets
// what no one can take for data. It then stays in quarantine for a while
// ([WithQuarantine]), and a write to it is found when it leaves that to be lent
// again, or by [Pool.Verify]. What lies between the length asked for and the
// capacity is watched while the buffer is lent. A leak is found by the garbage
// collector. Each [Kind] says what is reported, and what becomes of the buffer:
// what a stale reference points to is not lent again.
//
// What is lent now, and where that was, is the profile "bufpool" of runtime/pprof,
// for all Pools together; net/http/pprof serves it at /debug/pprof/bufpool. Of a
// Pool that samples, it has what is tracked.
//
// # What it cannot see
//
//   - Reads after Put. They get poison, which shows.
//   - Writes after Put that write poison, or that come after the buffer left
//     quarantine. Then it may be another's already.
//   - Writes beyond the length that leave a byte as it was. Where those bytes are all
//     zero when a buffer is lent they stay zero, for the parent may have promised
//     that, and the writing of a zero is not seen.
//   - That append moved a buffer to a larger array: that is allowed. A header that was
//     set to any larger array looks the same.
//   - With [WithSample], what happens to the buffers that are not tracked.
//   - A leak whose header is still referred to, such as from a map that only grows.
//     It is [Pool.Outstanding].
//
// Get returns the token: if the pointer is dropped and only the slice is kept, as in
// b := *p.Get(n), that is reported as a leak once the collector finds it, even if a
// pointer to a copy would have been put back later.
//
// # Overrun and append
//
// Who appends to *b and puts back what append returned may write up to the
// capacity. Who puts back the old length wrote beyond it, as far as can be told: so
// does who made *b longer and then shorter again. Of a buffer put back at length 0,
// which is how many reset one, nothing can be told, and nothing is: do that, or let
// [WithIgnore] leave out [Overrun] altogether.
//
// The package imports neither testing nor net/http.
package check
