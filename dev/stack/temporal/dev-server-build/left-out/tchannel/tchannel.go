// Package tchannel stands in for the transport between the servers of a cluster, of which the development server is none.
package tchannel

import (
	"context"
	"errors"
	"net"
)

type (
	Channel        struct{}
	ChannelOptions struct {
		Dialer func(ctx context.Context, network, hostPort string) (net.Conn, error)
	}
	LocalPeerInfo struct{ PeerInfo }
	PeerInfo      struct {
		HostPort    string
		IsEphemeral bool
	}
)

func NewChannel(string, *ChannelOptions) (*Channel, error) {
	return nil, errors.New("clusters of several servers are left out of this development server")
}

func (*Channel) Close()                         {}
func (*Channel) ListenAndServe(string) error    { return nil }
func (*Channel) Serve(net.Listener) error       { return nil }
func (*Channel) PeerInfo() LocalPeerInfo        { return LocalPeerInfo{} }
func (LocalPeerInfo) IsEphemeralHostPort() bool { return false }
