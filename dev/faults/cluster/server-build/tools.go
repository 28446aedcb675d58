//go:build tools

// Package tools pins the Temporal server and its schema tool, so that `go build` takes them and all they need from the
// module proxy.
package tools

import (
	_ "go.temporal.io/server/cmd/server"
	_ "go.temporal.io/server/cmd/tools/sql"
)
