package retry

type Standard struct{}

func NewStandard() *Standard { return &Standard{} }

func (*Standard) IsErrorRetryable(error) bool { return false }
