//go:build tools

// Package tools pins the Temporal command, so that `go build` takes it and all it needs from the module proxy.
package tools

import _ "github.com/temporalio/cli/cmd/temporal"
