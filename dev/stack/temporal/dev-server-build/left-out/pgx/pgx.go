// Package pgx stands in for a driver of PostgreSQL: it accepts no configuration.
package pgx

import "errors"

type (
	ConnConfig struct{}
	Conn       struct{}
	TypeMap    struct{}
)

func ParseConfig(string) (*ConnConfig, error) {
	return nil, errors.New("PostgreSQL is left out of this development server")
}

func (*Conn) TypeMap() *TypeMap                    { return nil }
func (*TypeMap) RegisterDefaultPgType(any, string) {}
