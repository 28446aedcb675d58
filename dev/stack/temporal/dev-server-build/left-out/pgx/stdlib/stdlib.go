package stdlib

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
)

func OptionAfterConnect(func(context.Context, *pgx.Conn) error) any { return nil }
func GetConnector(pgx.ConnConfig, ...any) driver.Connector          { return nil }
func GetDefaultDriver() driver.Driver                               { return nil }
