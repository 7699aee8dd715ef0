// The comparison with other pools, in a module of its own so that theirs and
// the plotting library reach nobody's module graph.
module github.com/bufpool/bufpool/benchmarks

go 1.26.8

require (
	github.com/bufpool/bufpool v0.0.0
	github.com/bytedance/gopkg v0.1.4
	github.com/gobwas/pool v0.2.1
	github.com/lesismal/nbio v1.6.8
	github.com/libp2p/go-buffer-pool v0.1.0
	github.com/oxtoacart/bpool v0.0.0-20190530202638-03653db5a59c
	github.com/panjf2000/gnet/v2 v2.9.7
	github.com/prometheus/prometheus v0.316.0
	github.com/valyala/bytebufferpool v1.0.0
	golang.org/x/image v0.46.0
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	gonum.org/v1/plot v0.17.0
	google.golang.org/grpc v1.85.0
	vitess.io/vitess v0.24.4
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/bufpool/bufpool => ../
