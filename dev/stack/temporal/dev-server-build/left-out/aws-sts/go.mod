module github.com/aws/aws-sdk-go-v2/service/sts

go 1.26
