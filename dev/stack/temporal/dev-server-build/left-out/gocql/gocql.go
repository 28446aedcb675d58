// Package gocql stands in for the driver of Cassandra: no session can be opened, so nothing gets as far as a query.
package gocql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

var errLeftOut = errors.New("Cassandra is left out of this development server")

var (
	ErrNotFound          = errors.New("not found")
	ErrTimeoutNoResponse = errors.New("no response in time")
	ErrConnectionClosed  = errors.New("connection closed")
	ErrNoConnections     = errors.New("no connections")
	ErrSessionClosed     = errors.New("session closed")
)

const (
	ErrCodeOverloaded = 0x1001
	ErrCodeInvalid    = 0x2200
)

type (
	RequestErrWriteTimeout struct{ error }
	RequestError           interface {
		error
		Code() int
		Message() string
	}
)

type (
	Consistency       uint16
	SerialConsistency uint16
	BatchType         byte
)

const (
	Any Consistency = iota
	One
	Two
	Three
	Quorum
	All
	LocalQuorum
	EachQuorum
	LocalOne
)

const (
	LoggedBatch BatchType = iota
	UnloggedBatch
	CounterBatch
)

func ParseConsistency(string) Consistency                 { return Any }
func ParseConsistencyWrapper(string) (Consistency, error) { return Any, errLeftOut }
func (*SerialConsistency) UnmarshalText([]byte) error     { return errLeftOut }

type UUID [16]byte

func (id UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

type (
	ClusterConfig struct {
		Port, ProtoVersion, NumConns          int
		Keyspace                              string
		Authenticator, HostFilter             any
		SslOpts                               *SslOptions
		ConnectTimeout, Timeout, WriteTimeout time.Duration
		Consistency                           Consistency
		SerialConsistency                     SerialConsistency
		DisableInitialHostLookup              bool
		ReconnectionPolicy                    any
		PoolConfig                            struct{ HostSelectionPolicy any }
		AddressTranslator                     AddressTranslator
	}
	PasswordAuthenticator struct {
		Username, Password    string
		AllowedAuthenticators []string
	}
	SslOptions struct {
		*tls.Config
		CaPath                 string
		EnableHostVerification bool
	}
	ExponentialReconnectionPolicy struct {
		MaxRetries                   int
		InitialInterval, MaxInterval time.Duration
	}
	AddressTranslator          any
	AddressTranslatorFunc      func(addr net.IP, port int) (net.IP, int)
	SpeculativeExecutionPolicy any
)

func NewCluster(...string) *ClusterConfig               { return &ClusterConfig{} }
func DataCentreHostFilter(string) any                   { return nil }
func RoundRobinHostPolicy() any                         { return nil }
func TokenAwareHostPolicy(any) any                      { return nil }
func (*ClusterConfig) CreateSession() (*Session, error) { return nil, errLeftOut }

type (
	Session struct{}
	Query   struct{}
	Iter    struct{}
	Batch   struct{}
)

func (*Session) Query(string, ...any) *Query { return nil }
func (*Session) NewBatch(BatchType) *Batch   { return nil }
func (*Session) ExecuteBatch(*Batch) error   { return errLeftOut }
func (*Session) MapExecuteBatchCAS(*Batch, map[string]any) (bool, *Iter, error) {
	return false, nil, errLeftOut
}
func (*Session) AwaitSchemaAgreement(context.Context) error { return errLeftOut }
func (*Session) Close()                                     {}

func (*Query) Exec() error                                { return errLeftOut }
func (*Query) Scan(...any) error                          { return errLeftOut }
func (*Query) ScanCAS(...any) (bool, error)               { return false, errLeftOut }
func (*Query) MapScan(map[string]any) error               { return errLeftOut }
func (*Query) MapScanCAS(map[string]any) (bool, error)    { return false, errLeftOut }
func (*Query) Iter() *Iter                                { return nil }
func (q *Query) PageSize(int) *Query                      { return q }
func (q *Query) PageState([]byte) *Query                  { return q }
func (q *Query) Consistency(Consistency) *Query           { return q }
func (q *Query) WithTimestamp(int64) *Query               { return q }
func (q *Query) WithContext(context.Context) *Query       { return q }
func (q *Query) Bind(...any) *Query                       { return q }
func (q *Query) Idempotent(bool) *Query                   { return q }
func (q *Query) SetSpeculativeExecutionPolicy(any) *Query { return q }

func (*Iter) Scan(...any) bool            { return false }
func (*Iter) MapScan(map[string]any) bool { return false }
func (*Iter) PageState() []byte           { return nil }
func (*Iter) Close() error                { return errLeftOut }

func (*Batch) Query(string, ...any)                 {}
func (b *Batch) WithContext(context.Context) *Batch { return b }
func (b *Batch) WithTimestamp(int64) *Batch         { return b }
