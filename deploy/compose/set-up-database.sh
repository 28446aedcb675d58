#!/bin/sh
# Makes the databases of the Temporal server and brings their schemas up to date; does nothing where they are.
# SQL_HOST, SQL_PORT and SQL_USER are those of temporal-sql-tool.
set -eu
SQL_PASSWORD="$(cat "${SQL_PASSWORD_FILE:?names the file of the password}")"
export SQL_PASSWORD SQL_PLUGIN=postgres12

set_up() {
  export SQL_DATABASE="$1"
  temporal-sql-tool create-database
  temporal-sql-tool setup-schema --version 0.0
  temporal-sql-tool update-schema --schema-name "$2"
}

set_up temporal postgresql/v12/temporal
set_up temporal_visibility postgresql/v12/visibility
