package swim

import (
	"errors"
	"time"
)

var errLeftOut = errors.New("clusters of several servers are left out of this development server")

type (
	Member struct {
		Address string
		Labels  map[string]string
	}
	NodeLabels       struct{}
	BootstrapOptions struct {
		ParallelismFactor, JoinSize int
		MaxJoinDuration             time.Duration
		DiscoverProvider            any
	}
)

func (Member) Label(string) (string, bool)          { return "", false }
func (*NodeLabels) Set(key, value string) error     { return errLeftOut }
func (*NodeLabels) Remove(string) (bool, error)     { return false, errLeftOut }
func MemberWithLabelAndValue(key, value string) any { return nil }
