// Package pq stands in for a driver of PostgreSQL. It registers no driver, so the attempt to use it fails.
package pq

import (
	"database/sql/driver"
	"errors"
)

var errLeftOut = errors.New("PostgreSQL is left out of this development server")

type (
	Driver    struct{}
	ErrorCode string
	Error     struct {
		error
		Code    ErrorCode
		Message string
	}
)

func NewConnector(string) (driver.Connector, error) { return nil, errLeftOut }
func (Driver) Open(string) (driver.Conn, error)     { return nil, errLeftOut }
