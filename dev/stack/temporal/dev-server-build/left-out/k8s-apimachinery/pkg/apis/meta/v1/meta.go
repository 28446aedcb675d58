package v1

type (
	GetOptions    struct{}
	UpdateOptions struct{}
)
