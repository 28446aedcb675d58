package v4

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type Signer struct{}

func NewSigner() *Signer { return &Signer{} }

func (*Signer) SignHTTP(_ context.Context, _ aws.Credentials, _ *http.Request, hash, service, region string, at time.Time) error {
	return aws.ErrLeftOut
}
