//go:build race

package rivals

const raceEnabled = true
