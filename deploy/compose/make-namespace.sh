#!/bin/sh
# An ended run can be read for as long as the namespace keeps it, and so long nothing follows its order a second time.
set -eu
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" > /dev/null 2>&1 ||
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "${RETENTION:-30d}"
