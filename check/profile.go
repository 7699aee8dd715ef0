package check

import "runtime/pprof"

// profile is the profile of what is lent now, by where it was lent, as the package
// doc says. Its values are the records, which do not keep the buffers alive.
var profile = func() *pprof.Profile {
	const name = "bufpool"
	if p := pprof.Lookup(name); p != nil {
		return p // of a second copy of this package
	}
	return pprof.NewProfile(name)
}()

func (p *Pool) unprofile(r *record) {
	if p.config.profile {
		profile.Remove(r)
	}
}
