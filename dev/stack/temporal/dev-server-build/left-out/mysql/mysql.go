// Package mysql stands in for the driver of MySQL. It registers no driver, so the attempt to use it fails.
package mysql

import (
	"crypto/tls"
	"database/sql/driver"
	"errors"
)

var errLeftOut = errors.New("MySQL is left out of this development server")

type (
	MySQLDriver struct{}
	MySQLError  struct {
		error
		Number  uint16
		Message string
	}
	Config struct {
		User, Passwd, Addr, DBName, Net string
		Params                          map[string]string
		RejectReadOnly                  bool
	}
)

func NewConfig() *Config                                           { return &Config{} }
func (*Config) FormatDSN() string                                  { return "" }
func RegisterTLSConfig(string, *tls.Config) error                  { return errLeftOut }
func (MySQLDriver) Open(string) (driver.Conn, error)               { return nil, errLeftOut }
func (MySQLDriver) OpenConnector(string) (driver.Connector, error) { return nil, errLeftOut }
