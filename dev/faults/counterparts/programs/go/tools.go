//go:build tools

// Package tools names the programs of others that we build. Only go.mod and go.sum pin their versions.
package tools

import (
	_ "github.com/Shopify/toxiproxy/v2/cmd/server"
)
