// Package ringpop stands in for the membership of clusters, of which the development server is none: it knows its hosts.
package ringpop

import (
	"errors"

	"github.com/temporalio/ringpop-go/events"
	"github.com/temporalio/ringpop-go/swim"
	"github.com/temporalio/tchannel-go"
)

var errLeftOut = errors.New("clusters of several servers are left out of this development server")

var ErrEphemeralAddress = errors.New("address is not known yet")

type (
	Ringpop struct{}
	Option  any
)

func New(string, ...Option) (*Ringpop, error)                            { return nil, errLeftOut }
func Channel(*tchannel.Channel) Option                                   { return nil }
func AddressResolverFunc(func() (string, error)) Option                  { return nil }
func (*Ringpop) Labels() (*swim.NodeLabels, error)                       { return nil, errLeftOut }
func (*Ringpop) Bootstrap(*swim.BootstrapOptions) (any, error)           { return nil, errLeftOut }
func (*Ringpop) Destroy()                                                {}
func (*Ringpop) SelfEvict() error                                        { return errLeftOut }
func (*Ringpop) GetReachableMembers(...any) ([]string, error)            { return nil, errLeftOut }
func (*Ringpop) GetReachableMemberObjects(...any) ([]swim.Member, error) { return nil, errLeftOut }
func (*Ringpop) AddListener(events.EventListener) bool                   { return false }
func (*Ringpop) RemoveListener(events.EventListener) bool                { return false }
