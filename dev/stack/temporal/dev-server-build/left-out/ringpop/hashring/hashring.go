package hashring

import "github.com/temporalio/ringpop-go/membership"

type HashRing struct{}

func New(func([]byte) uint32, int) *HashRing      { return &HashRing{} }
func (*HashRing) AddMembers(...membership.Member) {}
func (*HashRing) Lookup(string) (string, bool)    { return "", false }
func (*HashRing) LookupN(string, int) []string    { return nil }
