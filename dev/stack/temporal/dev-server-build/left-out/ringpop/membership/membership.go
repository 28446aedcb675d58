package membership

type (
	ChangeEvent struct{}
	Member      interface{ GetAddress() string }
)
