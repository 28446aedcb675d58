#!/bin/sh
# The image takes its password from the environment alone.
set -eu
POSTGRES_PWD="$(cat "${POSTGRES_PWD_FILE:?names the file of the password}")"
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh
