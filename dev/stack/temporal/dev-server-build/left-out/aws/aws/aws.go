// Package aws stands in for the SDK of AWS: it loads no configuration, so nothing gets as far as a call.
package aws

import (
	"context"
	"errors"
)

// ErrLeftOut is the answer to everything that would need AWS.
var ErrLeftOut = errors.New("AWS is left out of this development server")

type (
	ClientLogMode uint64
	Config        struct{ Credentials CredentialsProvider }
	Credentials   struct{ AccessKeyID, SecretAccessKey, SessionToken string }
)

type CredentialsProvider interface {
	Retrieve(ctx context.Context) (Credentials, error)
}

type Retryer interface{ IsErrorRetryable(err error) bool }

func String(value string) *string { return &value }
func Int32(value int32) *int32    { return &value }
