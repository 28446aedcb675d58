package smithy

type APIError interface {
	error
	ErrorCode() string
}
