package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/server/chasm/lib/activity"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	clusterName = "active"
	storeName   = "sqlite"
)

// The settings with which the Temporal CLI starts the same server, so that both behave alike.
var developmentConfig = map[dynamicconfig.Key]any{
	dynamicconfig.EnableChasm.Key():                                  true,
	activity.Enabled.Key():                                           true, // standalone activities
	dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 8_096,
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 100,
	// A new search attribute can be used at once. The reads that this takes need a higher limit.
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():               10_000,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():                45_000,
}

type runningServer struct {
	temporal temporal.Server
	ui       *uiserver.Server
}

func (running runningServer) stop() error {
	if running.ui != nil {
		running.ui.Stop()
	}
	return running.temporal.Stop()
}

func startServer(given settings) (runningServer, error) {
	database, err := openDatabase(given)
	if err != nil {
		return runningServer{}, err
	}
	conf, err := serverConfig(given, database)
	if err != nil {
		return runningServer{}, err
	}
	dynamicConfig := dynamicconfig.StaticClient(maps.Clone(developmentConfig))
	for key, value := range given.dynamicConfig {
		dynamicConfig[dynamicconfig.MakeKey(key)] = value
	}
	claimMapper := func(*config.Config) authorization.ClaimMapper { return authorization.NewNoopClaimMapper() }
	server, err := temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hostsOf(conf)),
		temporal.WithLogger(newLogger(given.logLevel)),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(claimMapper),
		temporal.WithDynamicConfigClient(dynamicConfig),
	)
	if err != nil {
		return runningServer{}, err
	}
	running := runningServer{temporal: server, ui: startUI(given)}
	return running, server.Start()
}

func startUI(given settings) *uiserver.Server {
	if given.headless {
		return nil
	}
	ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                given.ip,
		Port:                given.uiPort,
		TemporalGRPCAddress: address(given.ip, given.port),
		EnableUI:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain HTTP
		HideLogs:            true,
	}))
	go func() {
		if err := ui.Start(); err != nil {
			fmt.Fprintln(os.Stderr, "Error: the UI:", err)
			os.Exit(1)
		}
	}()
	return ui
}

// openDatabase makes the file, its tables and the namespaces where they are missing.
func openDatabase(given settings) (*config.SQL, error) {
	database := &config.SQL{PluginName: sqlite.PluginName, DatabaseName: given.databaseFile}
	database.ConnectAttributes = map[string]string{"mode": "rwc"}
	maps.Copy(database.ConnectAttributes, given.pragmas)
	if _, err := os.Stat(given.databaseFile); errors.Is(err, fs.ErrNotExist) {
		if err := schema.SetupSchema(database); err != nil {
			return nil, err
		}
	}
	for _, name := range given.namespaces {
		namespace, err := schema.NewNamespaceConfig(clusterName, name, false, given.searchAttributes)
		if err != nil {
			return nil, err
		}
		if err := schema.CreateNamespaces(database, namespace); err != nil {
			return nil, err
		}
	}
	return database, nil
}

func serverConfig(given settings, database *config.SQL) (*config.Config, error) {
	ports, err := freePorts(given.ip, 4)
	if err != nil {
		return nil, err
	}
	service := func(port, httpPort int) config.Service {
		return config.Service{RPC: config.RPC{BindOnIP: given.ip, GRPCPort: port, HTTPPort: httpPort}}
	}
	conf := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     storeName,
			VisibilityStore:  storeName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{storeName: {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {
				Enabled:                true,
				InitialFailoverVersion: 1,
				RPCAddress:             address(given.ip, given.port),
				HTTPAddress:            address(given.ip, ports[0]),
				ClusterID:              uuid.NewString(),
			}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: address(given.ip, given.port)},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(given.port, ports[0]),
			string(primitives.HistoryService):  service(ports[1], 0),
			string(primitives.MatchingService): service(ports[2], 0),
			string(primitives.WorkerService):   service(ports[3], 0),
		},
	}
	conf.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: given.ip}
	if given.metricsPort != 0 {
		listen := address(given.ip, given.metricsPort)
		conf.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{ListenAddress: listen, HandlerPath: "/metrics"}}
	}
	conf.Archival.History.State = config.ArchivalDisabled
	conf.Archival.Visibility.State = config.ArchivalDisabled
	conf.NamespaceDefaults.Archival.History.State = config.ArchivalDisabled
	conf.NamespaceDefaults.Archival.Visibility.State = config.ArchivalDisabled
	return conf, nil
}

func hostsOf(conf *config.Config) map[primitives.ServiceName]static.Hosts {
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, service := range conf.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(address(service.RPC.BindOnIP, service.RPC.GRPCPort))
	}
	return hosts
}

func address(ip string, port int) string { return net.JoinHostPort(ip, fmt.Sprint(port)) }

// freePorts finds ports for the server's inner services, see `freePort` of free-port.ts for how. It frees none before it has all.
func freePorts(ip string, count int) ([]int, error) {
	ports := make([]int, count)
	for i := range ports {
		listener, err := net.Listen("tcp", address(ip, 0))
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
		if err := holdInTimeWait(listener); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

func holdInTimeWait(listener net.Listener) error {
	probe, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer probe.Close() // after the listening side
	accepted, err := listener.Accept()
	if err != nil {
		return err
	}
	return accepted.Close()
}
