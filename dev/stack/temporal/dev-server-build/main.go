// Command temporal is the Temporal server of a checkout: the server and its UI from their own modules, on SQLite, without the
// databases, clouds and clusters that the checkout never uses. It takes the words of Temporal's own command for what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for schedules, where the system has no time zones

	uiversion "github.com/temporalio/ui-server/v2/server/version"
	"go.temporal.io/server/common/headers"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, words []string) error {
	switch {
	case begins(words, "--version"):
		fmt.Printf("temporal version faretrail (Server %s, UI %s)\n", headers.ServerVersion, uiversion.UIVersion)
		return nil
	case begins(words, "server", "start-dev"):
		return startDev(ctx, words[2:])
	case begins(words, "operator", "namespace", "describe"):
		return describeNamespace(ctx, words[3:])
	case begins(words, "operator", "namespace", "create"):
		return createNamespace(ctx, words[3:])
	}
	return errors.New("this build has only: --version, server start-dev, operator namespace describe, operator namespace create; " +
		"for all else install the Temporal CLI, see https://docs.temporal.io/cli")
}

func begins(words []string, with ...string) bool {
	if len(words) < len(with) {
		return false
	}
	for i, word := range with {
		if words[i] != word {
			return false
		}
	}
	return true
}

func startDev(ctx context.Context, words []string) error {
	settings, err := readSettings(words)
	if err != nil {
		return err
	}
	// The variable means faretrail's own processes; a server that cannot export traces would refuse to start with it.
	os.Unsetenv("OTEL_TRACES_EXPORTER")
	server, err := startServer(settings)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return server.stop()
}
