package config

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type (
	LoadOption func()
	EnvConfig  struct{ Credentials aws.Credentials }
)

func WithRegion(string) LoadOption                   { return nil }
func WithClientLogMode(aws.ClientLogMode) LoadOption { return nil }
func NewEnvConfig() (EnvConfig, error)               { return EnvConfig{}, aws.ErrLeftOut }
func LoadDefaultConfig(context.Context, ...LoadOption) (aws.Config, error) {
	return aws.Config{}, aws.ErrLeftOut
}
