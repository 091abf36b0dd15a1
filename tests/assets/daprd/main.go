// daprd with the few components that tests use, over Dapr's public packages. The real one links a hundred libraries more.
package main

import (
	"context"
	"log"
	"os"

	httpbinding "github.com/dapr/components-contrib/bindings/http"
	redisbinding "github.com/dapr/components-contrib/bindings/redis"
	redisbroker "github.com/dapr/components-contrib/pubsub/redis"
	redisstore "github.com/dapr/components-contrib/state/redis"
	"github.com/dapr/dapr/cmd/daprd/options"
	"github.com/dapr/dapr/pkg/components/bindings"
	"github.com/dapr/dapr/pkg/components/configuration"
	"github.com/dapr/dapr/pkg/components/conversation"
	"github.com/dapr/dapr/pkg/components/crypto"
	"github.com/dapr/dapr/pkg/components/lock"
	"github.com/dapr/dapr/pkg/components/middleware/http"
	"github.com/dapr/dapr/pkg/components/nameresolution"
	"github.com/dapr/dapr/pkg/components/pubsub"
	"github.com/dapr/dapr/pkg/components/secretstores"
	"github.com/dapr/dapr/pkg/components/state"
	"github.com/dapr/dapr/pkg/healthz"
	"github.com/dapr/dapr/pkg/metrics"
	"github.com/dapr/dapr/pkg/modes"
	"github.com/dapr/dapr/pkg/runtime"
	"github.com/dapr/dapr/pkg/runtime/registry"
	"github.com/dapr/dapr/pkg/security"
	"github.com/dapr/kit/concurrency"
	"github.com/dapr/kit/logger"
	"github.com/dapr/kit/signals"
	"go.opencensus.io/stats/view"
)

func main() {
	given, err := options.New(os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	given.Logger.SetAppID(given.AppID)
	if err := logger.ApplyOptionsToLoggers(&given.Logger); err != nil {
		log.Fatal(err)
	}
	contrib := logger.NewLogger("dapr.contrib")
	state.DefaultRegistry.Logger = contrib
	pubsub.DefaultRegistry.Logger = contrib
	bindings.DefaultRegistry.Logger = contrib
	state.DefaultRegistry.RegisterComponent(redisstore.NewRedisStateStore, "redis")
	pubsub.DefaultRegistry.RegisterComponent(redisbroker.NewRedisStreams, "redis")
	bindings.DefaultRegistry.RegisterOutputBinding(redisbinding.NewRedis, "redis")
	bindings.DefaultRegistry.RegisterOutputBinding(httpbinding.NewHTTP, "http")

	// Each SIGHUP ends one life and begins the next.
	lives := signals.OnHUP(signals.Context())
	for life := range lives {
		if err := live(life, given); err != nil {
			log.Fatal(err)
		}
		if life.Err() == nil {
			return
		}
	}
}

func live(ctx context.Context, given *options.Options) error {
	health := healthz.New()
	provider, err := security.New(ctx, security.Options{
		SentryAddress:           given.SentryAddress,
		ControlPlaneTrustDomain: given.ControlPlaneTrustDomain,
		ControlPlaneNamespace:   given.ControlPlaneNamespace,
		TrustAnchors:            given.TrustAnchors,
		AppID:                   given.AppID,
		MTLSEnabled:             given.EnableMTLS,
		Mode:                    modes.DaprMode(given.Mode),
		Healthz:                 health,
		JwtAudiences:            given.SentryRequestJwtAudiences,
	})
	if err != nil {
		return err
	}
	run := func(ctx context.Context) error {
		handler, err := provider.Handler(ctx)
		if err != nil {
			return err
		}
		sidecar, err := runtime.FromConfig(ctx, config(given, health, handler))
		if err != nil {
			return err
		}
		return sidecar.Run(ctx)
	}
	return concurrency.NewRunnerManager(provider.Run, run).Run(ctx)
}

func components() *registry.Options {
	return registry.NewOptions().
		WithStateStores(state.DefaultRegistry).
		WithPubSubs(pubsub.DefaultRegistry).
		WithBindings(bindings.DefaultRegistry).
		WithSecretStores(secretstores.DefaultRegistry).
		WithConfigurations(configuration.DefaultRegistry).
		WithLocks(lock.DefaultRegistry).
		WithNameResolutions(nameresolution.DefaultRegistry).
		WithCryptoProviders(crypto.DefaultRegistry).
		WithHTTPMiddlewares(http.DefaultRegistry).
		WithConversations(conversation.DefaultRegistry)
}

func config(given *options.Options, health healthz.Healthz, handler security.Handler) *runtime.Config {
	measures := metrics.Options{
		Enabled: given.Metrics.Enabled(), Log: logger.NewLogger("dapr.runtime"), Port: given.Metrics.Port(),
		Namespace: metrics.DefaultMetricNamespace, Healthz: health, ListenAddress: given.Metrics.ListenAddress(),
		Meter: view.NewMeter(),
	}
	return &runtime.Config{
		AppID: given.AppID, Mode: given.Mode, Config: given.Config,
		ResourcesPath: given.ResourcesPath, ComponentsPath: given.ComponentsPath,
		ControlPlaneAddress: given.ControlPlaneAddress, SentryAddress: given.SentryAddress, EnableMTLS: given.EnableMTLS,
		ActorsService: given.ActorsService, ActorsDisseminationTimeout: given.ActorsDisseminationTimeout,
		RemindersService: given.RemindersService,
		SchedulerAddress: given.SchedulerAddress, SchedulerStreams: given.SchedulerJobStreams,
		AllowedOrigins: given.AllowedOrigins, MaxRequestSize: given.MaxRequestSize, ReadBufferSize: given.ReadBufferSize,
		DaprHTTPPort: given.DaprHTTPPort, DaprAPIGRPCPort: given.DaprAPIGRPCPort,
		DaprAPIListenAddresses: given.DaprAPIListenAddresses, DaprInternalGRPCPort: given.DaprInternalGRPCPort,
		DaprInternalGRPCListenAddress: given.DaprInternalGRPCListenAddress, UnixDomainSocket: given.UnixDomainSocket,
		DaprPublicPort: given.DaprPublicPort, DaprPublicListenAddress: given.DaprPublicListenAddress,
		DaprGracefulShutdownSeconds:  given.DaprGracefulShutdownSeconds,
		DaprBlockShutdownDuration:    given.DaprBlockShutdownDuration,
		DisableBuiltinK8sSecretStore: given.DisableBuiltinK8sSecretStore, DisableInitEndpoints: given.DisableInitEndpoints,
		ApplicationPort: given.AppPort, AppProtocol: given.AppProtocol, AppSSL: given.AppSSL,
		AppMaxConcurrency: given.AppMaxConcurrency, AppChannelAddress: given.AppChannelAddress,
		EnableAppHealthCheck: given.EnableAppHealthCheck, AppHealthCheckPath: given.AppHealthCheckPath,
		AppHealthProbeInterval: given.AppHealthProbeInterval, AppHealthProbeTimeout: given.AppHealthProbeTimeout,
		AppHealthThreshold: given.AppHealthThreshold,
		EnableAPILogging:   given.EnableAPILogging, ProfilePort: given.ProfilePort, EnableProfiling: given.EnableProfiling,
		Metrics: measures, Registry: components(), Security: handler, Healthz: health,
	}
}
