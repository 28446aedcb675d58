package option

type ClientOption interface{}

func WithTokenSource(any) ClientOption { return nil }
