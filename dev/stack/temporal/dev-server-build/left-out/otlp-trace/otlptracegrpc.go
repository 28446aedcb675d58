// Package otlptracegrpc stands in for the export of traces: it fails once it is started.
package otlptracegrpc

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
)

var errLeftOut = errors.New("the export of traces is left out of this development server")

type (
	Exporter    struct{}
	Option      any
	RetryConfig struct {
		Enabled                                      bool
		InitialInterval, MaxInterval, MaxElapsedTime time.Duration
	}
)

func New(context.Context, ...Option) (*Exporter, error)                   { return nil, errLeftOut }
func NewUnstarted(...Option) *Exporter                                    { return &Exporter{} }
func (*Exporter) Start(context.Context) error                             { return errLeftOut }
func (*Exporter) Shutdown(context.Context) error                          { return nil }
func (*Exporter) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return errLeftOut }

func WithEndpoint(string) Option               { return nil }
func WithHeaders(map[string]string) Option     { return nil }
func WithTimeout(time.Duration) Option         { return nil }
func WithDialOption(...grpc.DialOption) Option { return nil }
func WithRetry(RetryConfig) Option             { return nil }
func WithInsecure() Option                     { return nil }
func WithGRPCConn(*grpc.ClientConn) Option     { return nil }
