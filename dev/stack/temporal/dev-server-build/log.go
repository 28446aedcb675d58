package main

import (
	"context"
	"log/slog"
	"os"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// logger writes the server's log to stderr. A fatal error does not end the process: Temporal's own supervision does.
type logger struct{ out *slog.Logger }

var _ log.Logger = logger{}
var _ log.SLogWrapper = logger{}

func newLogger(from slog.Level) logger {
	return logger{slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: from}))}
}

func (l logger) Debug(message string, tags ...tag.Tag)  { l.write(slog.LevelDebug, message, tags) }
func (l logger) Info(message string, tags ...tag.Tag)   { l.write(slog.LevelInfo, message, tags) }
func (l logger) Warn(message string, tags ...tag.Tag)   { l.write(slog.LevelWarn, message, tags) }
func (l logger) Error(message string, tags ...tag.Tag)  { l.write(slog.LevelError, message, tags) }
func (l logger) DPanic(message string, tags ...tag.Tag) { l.write(slog.LevelError, message, tags) }
func (l logger) Panic(message string, tags ...tag.Tag)  { l.write(slog.LevelError, message, tags) }
func (l logger) Fatal(message string, tags ...tag.Tag)  { l.write(slog.LevelError, message, tags) }

// SLog is what the server hands to the SDK of its own workers.
func (l logger) SLog() *slog.Logger { return l.out }

func (l logger) write(level slog.Level, message string, tags []tag.Tag) {
	if !l.out.Enabled(context.Background(), level) {
		return
	}
	attributes := make([]slog.Attr, len(tags))
	for i, tag := range tags {
		attributes[i] = slog.Any(tag.Key(), tag.Value())
	}
	l.out.LogAttrs(context.Background(), level, message, attributes...)
}
