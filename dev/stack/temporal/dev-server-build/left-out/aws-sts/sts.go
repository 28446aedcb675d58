package sts

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type (
	Client           struct{}
	Options          struct{}
	AssumeRoleInput  struct{ RoleArn, RoleSessionName, ExternalId *string }
	AssumeRoleOutput struct {
		Credentials *struct{ AccessKeyId, SecretAccessKey, SessionToken *string }
	}
)

func NewFromConfig(aws.Config) *Client { return &Client{} }

func (*Client) AssumeRole(context.Context, *AssumeRoleInput, ...func(*Options)) (*AssumeRoleOutput, error) {
	return nil, aws.ErrLeftOut
}
