module github.com/aws/aws-sdk-go-v2/service/ecs

go 1.26
