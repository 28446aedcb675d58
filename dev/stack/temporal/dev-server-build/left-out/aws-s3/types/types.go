package types

type (
	NoSuchBucket struct{ error }
	NoSuchKey    struct{ error }
)
