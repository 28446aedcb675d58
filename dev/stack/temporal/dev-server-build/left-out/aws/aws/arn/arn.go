package arn

import "github.com/aws/aws-sdk-go-v2/aws"

type ARN struct{ Service, Region, Resource string }

func Parse(string) (ARN, error) { return ARN{}, aws.ErrLeftOut }
