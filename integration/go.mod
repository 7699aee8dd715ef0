// Tests and examples with real peers, in a module of its own so that theirs
// reach nobody's module graph.
module github.com/bufpool/bufpool/integration

go 1.26.0

require (
	github.com/bufpool/bufpool v0.0.0
	google.golang.org/grpc v1.85.0
)

require golang.org/x/sys v0.48.0 // indirect

replace github.com/bufpool/bufpool => ../
