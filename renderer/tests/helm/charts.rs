//! The charts: in which released module each is, and with which values it is rendered.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A chart of a released Go module.
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    /// The module with its version.
    pub(crate) module: &'static str,
    /// The chart's folder in it.
    pub(crate) path: &'static str,
    /// Whether every test run renders it.
    pub(crate) is_small: bool,
    /// Names of value sets, and the values.
    pub(crate) sets: &'static [(&'static str, &'static str)],
    /// Files that a release of the chart has under another name.
    pub(crate) rename: &'static [(&'static str, &'static str)],
    /// What a release fills in.
    pub(crate) fill: &'static [(&'static str, &'static str)],
}

/// The folder of a released module with its version.
pub(crate) fn module(module: &str) -> PathBuf {
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::write(elsewhere.path().join("go.mod"), "module fetch\n").expect("go.mod can be written");
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .env("GOWORK", "off")
        .current_dir(elsewhere.path())
        .output()
        .expect("go starts");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("go answers with JSON");
    PathBuf::from(answer["Dir"].as_str().unwrap_or_else(|| panic!("{module}: {answer}")))
}

impl Chart {
    pub(crate) fn label(&self, set: &str) -> String {
        format!("{} {} {set}", self.module, self.name)
    }

    /// The chart's folder in the module cache, where it is fetched if need be.
    pub(crate) fn folder(&self) -> PathBuf {
        module(self.module).join(self.path)
    }

    /// The files as a release has them: path in the chart, content.
    pub(crate) fn files(&self, folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(below) = open.pop() {
            for entry in std::fs::read_dir(&below).expect("the folder can be read") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let name = path.strip_prefix(folder).expect("below it").to_string_lossy().into_owned();
                let renamed = self.rename.iter().find(|(from, _)| *from == name).map_or(name.as_str(), |(_, to)| to);
                let mut content = std::fs::read(&path).expect("the file can be read");
                for (from, to) in self.fill {
                    if let Ok(text) = std::str::from_utf8(&content) {
                        content = text.replace(from, to).into_bytes();
                    }
                }
                files.push((renamed.to_owned(), content));
            }
        }
        files.sort();
        files
    }
}

const DEFAULT: (&str, &str) = ("default", "");

#[expect(clippy::too_many_lines, reason = "a table")]
pub(crate) fn all() -> Vec<Chart> {
    let chart =
        |name, module, path, is_small, sets| Chart { name, module, path, is_small, sets, rename: &[], fill: &[] };
    let flagger = "github.com/fluxcd/flagger@v1.41.0";
    let runners = "github.com/actions/actions-runner-controller@v0.27.6";
    let postgres = "github.com/zalando/postgres-operator@v1.14.0";
    let gateway = "github.com/envoyproxy/gateway@v1.5.0";
    let manager = "github.com/cert-manager/cert-manager@v1.19.1";
    vec![
        chart("dapr", "github.com/dapr/dapr@v1.18.1", "charts/dapr", true, DAPR),
        Chart {
            name: "cert-manager",
            module: manager,
            path: "deploy/charts/cert-manager",
            is_small: false,
            sets: CERT_MANAGER,
            rename: &[("Chart.template.yaml", "Chart.yaml")],
            fill: &[],
        },
        chart("pebble", manager, "make/config/pebble/chart", true, &[DEFAULT]),
        chart("example-webhook", manager, "make/config/samplewebhook/chart", true, &[DEFAULT]),
        chart("crossplane", "github.com/crossplane/crossplane@v1.20.0", "cluster/charts/crossplane", true, CROSSPLANE),
        chart(
            "crossplane",
            "github.com/crossplane/crossplane/v2@v2.0.2",
            "cluster/charts/crossplane",
            false,
            CROSSPLANE,
        ),
        chart("external-dns", "sigs.k8s.io/external-dns@v0.19.0", "charts/external-dns", true, EXTERNAL_DNS),
        chart(
            "node-feature-discovery",
            "sigs.k8s.io/node-feature-discovery@v0.17.3",
            "deployment/helm/node-feature-discovery",
            true,
            NODE_FEATURE_DISCOVERY,
        ),
        chart("flagger", flagger, "charts/flagger", true, FLAGGER),
        chart("loadtester", flagger, "charts/loadtester", true, LOADTESTER),
        chart("grafana", flagger, "charts/grafana", true, GRAFANA),
        chart("podinfo", flagger, "charts/podinfo", true, PODINFO),
        chart("actions-runner", runners, "contrib/examples/actions-runner", false, &[DEFAULT]),
        chart("actions-runner-controller", runners, "charts/actions-runner-controller", false, RUNNER_CONTROLLER),
        chart(
            "gha-runner-scale-set-controller",
            runners,
            "charts/gha-runner-scale-set-controller",
            false,
            SCALE_SET_CONTROLLER,
        ),
        chart("gha-runner-scale-set", runners, "charts/gha-runner-scale-set", false, SCALE_SET),
        chart("gateway-crds-helm", gateway, "charts/gateway-crds-helm", false, GATEWAY_CRDS),
        Chart {
            name: "gateway-helm",
            module: gateway,
            path: "charts/gateway-helm",
            is_small: false,
            sets: GATEWAY,
            rename: &[("values.tmpl.yaml", "values.yaml")],
            fill: &[
                ("${GatewayImage}", "docker.io/envoyproxy/gateway:v1.5.0"),
                ("${GatewayImagePullPolicy}", "Always"),
            ],
        },
        chart("postgres-operator", postgres, "charts/postgres-operator", false, POSTGRES),
        chart("postgres-operator-ui", postgres, "charts/postgres-operator-ui", true, POSTGRES_UI),
    ]
}

const DAPR: &[(&str, &str)] = &[
    DEFAULT,
    ("ha", "global:\n  ha:\n    enabled: true\n  logAsJson: true\n  prometheus:\n    port: 9191\n"),
    ("mtls off", "global:\n  mtls:\n    enabled: false\n  actors:\n    enabled: false\n"),
    (
        "scheduled",
        "global:\n  nodeSelector: {disk: ssd}\n  tolerations: [{key: a, operator: Exists}]\n  labels: {team: x}\n  imagePullSecrets: mine\ndapr_operator:\n  logLevel: debug\n  watchInterval: 10m\ndapr_scheduler:\n  replicaCount: 1\n",
    ),
];

const CERT_MANAGER: &[(&str, &str)] = &[
    DEFAULT,
    ("crds", "crds:\n  enabled: true\n  keep: false\n"),
    (
        "monitored",
        "prometheus:\n  enabled: true\n  servicemonitor:\n    enabled: true\nreplicaCount: 2\npodDisruptionBudget:\n  enabled: true\nwebhook:\n  replicaCount: 3\n  podDisruptionBudget: {enabled: true, minAvailable: 1}\n  networkPolicy: {enabled: true}\ncainjector:\n  replicaCount: 2\n",
    ),
    (
        "configured",
        "config:\n  apiVersion: controller.config.cert-manager.io/v1alpha1\n  kind: ControllerConfiguration\n  logging: {verbosity: 2}\nextraArgs: [--a=b]\nextraEnv: [{name: A, value: b}]\nfeatureGates: X=true\ningressShim: {defaultIssuerName: x, defaultIssuerKind: Issuer}\nglobal:\n  logLevel: 4\n  leaderElection: {leaseDuration: 60s}\n  imagePullSecrets: [{name: a}]\nstartupapicheck: {enabled: false}\n",
    ),
];

const CROSSPLANE: &[(&str, &str)] = &[
    DEFAULT,
    (
        "packages",
        "provider: {packages: [a/b:v1]}\nconfiguration: {packages: [c/d:v2]}\nfunction: {packages: [e/f:v3]}\nargs: [--debug]\nmetrics: {enabled: true}\nreplicas: 2\nextraEnvVarsCrossplane: {A_B.c: x}\nserviceAccount: {customAnnotations: {a: b}}\nregistryCaBundleConfig: {name: ca, key: bundle}\n",
    ),
    (
        "webhooks off",
        "webhooks: {enabled: false}\nrbacManager: {deploy: false, skipAggregatedClusterRoles: true}\nhostNetwork: true\n",
    ),
];

const EXTERNAL_DNS: &[(&str, &str)] = &[
    DEFAULT,
    (
        "webhook",
        "provider:\n  name: webhook\n  webhook:\n    image: {repository: r, tag: t}\n    env: [{name: A, value: b}]\nserviceMonitor: {enabled: true, namespace: m}\nnamespaced: true\nsources: [service, ingress, gateway-httproute]\n",
    ),
    (
        "secret",
        "secretConfiguration: {enabled: true, mountPath: /etc, data: {a: b}}\nextraArgs: {flag: null, other: [u, v], one: w}\ntxtPrefix: p-\ndomainFilters: [a.example]\nmanagedRecordTypes: [A]\npolicy: sync\ninterval: 2m\ntriggerLoopOnEvent: true\nlogFormat: json\n",
    ),
];

const NODE_FEATURE_DISCOVERY: &[(&str, &str)] = &[
    DEFAULT,
    (
        "all on",
        "master: {config: {noPublish: true}, replicaCount: 2, extraLabelNs: [a, b]}\nworker: {config: {core: {sleepInterval: 30s}}, port: 8080}\ntopologyUpdater: {enable: true, createCRDs: true, updateInterval: 30s}\nprometheus: {enable: true}\ntls: {enable: true, certManager: true}\n",
    ),
    (
        "little",
        "gc: {enable: false}\nmaster: {enable: false}\nfeatureGates: {NodeFeatureGroupAPI: true}\nnameOverride: nfd\n",
    ),
];

const FLAGGER: &[(&str, &str)] = &[
    DEFAULT,
    (
        "istio",
        "meshProvider: istio\nmetricsServer: http://p:9090\nslack: {user: f, channel: g, url: http://s}\npodMonitor: {enabled: true}\nleaderElection: {enabled: true, replicaCount: 2}\nprometheus: {install: true}\ncrd: {create: true}\n",
    ),
    (
        "linkerd",
        "meshProvider: linkerd\nlinkerdAuthPolicy: {create: true, namespace: linkerd-viz}\npodDisruptionBudget: {enabled: true}\nrbac: {create: false}\n",
    ),
];

const LOADTESTER: &[(&str, &str)] = &[
    DEFAULT,
    (
        "rbac",
        "rbac: {create: true, scope: cluster, rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]}\npodDisruptionBudget: {enabled: true}\nreplicaCount: 3\n",
    ),
];

const GRAFANA: &[(&str, &str)] =
    &[DEFAULT, ("named", "url: http://p:9090\npassword: secret\nservice: {type: NodePort}\n")];

const PODINFO: &[(&str, &str)] = &[
    DEFAULT,
    (
        "canary",
        "canary: {enabled: true, istioIngress: {enabled: true, gateway: g, host: h}, loadtest: {enabled: true, url: http://l}, thresholds: {successRate: 99, latency: 500}}\nhpa: {enabled: true, maxReplicas: 5, cpu: 80, memory: 200Mi, requests: 10}\n",
    ),
    ("tests", "e2e: {enabled: true}\nfullnameOverride: other\nnodeSelector: {a: b}\n"),
];

const RUNNER_CONTROLLER: &[(&str, &str)] = &[
    DEFAULT,
    (
        "webhook server",
        "githubWebhookServer: {enabled: true, secret: {enabled: true, create: true, name: s, github_webhook_secret_token: t}, podDisruptionBudget: {enabled: true}, ingress: {enabled: true, hosts: [{host: h, paths: [{path: /}]}]}}\nactionsMetricsServer: {enabled: true}\nauthSecret: {create: true, github_token: x}\nmetrics: {serviceMonitor: {enable: true}}\n",
    ),
    (
        "scoped",
        "scope: {singleNamespace: true, watchNamespace: w}\ncertManagerEnabled: false\nadmissionWebHooks: {caBundle: YQ==}\nreplicaCount: 2\nleaderElectionId: l\n",
    ),
];

const SCALE_SET_CONTROLLER: &[(&str, &str)] = &[
    DEFAULT,
    (
        "scoped",
        "flags: {watchSingleNamespace: w, logLevel: info, updateStrategy: eventual}\nreplicaCount: 2\nimagePullSecrets: [{name: a}]\nenv: [{name: A, value: b}]\nmetrics: {controllerManagerAddr: \":8080\", listenerAddr: \":8080\", listenerEndpoint: /metrics}\n",
    ),
];

const SCALE_SET: &[(&str, &str)] = &[
    (
        "token",
        "githubConfigUrl: https://github.com/o/r\ngithubConfigSecret: {github_token: t}\ncontrollerServiceAccount: {name: sa, namespace: ns}\n",
    ),
    (
        "dind",
        "githubConfigUrl: https://github.com/o/r\ngithubConfigSecret: mine\ncontainerMode: {type: dind}\nminRunners: 1\nmaxRunners: 5\nproxy: {http: {url: http://p, credentialSecretRef: s}, noProxy: [a]}\ncontrollerServiceAccount: {name: sa, namespace: ns}\n",
    ),
    (
        "kubernetes",
        "githubConfigUrl: https://github.com/o/r\ngithubConfigSecret: mine\ncontainerMode: {type: kubernetes, kubernetesModeWorkVolumeClaim: {accessModes: [ReadWriteOnce], storageClassName: c, resources: {requests: {storage: 1Gi}}}}\ncontrollerServiceAccount: {name: sa, namespace: ns}\n",
    ),
];

const GATEWAY_CRDS: &[(&str, &str)] =
    &[DEFAULT, ("on", "crds: {gatewayAPI: {enabled: true}, envoyGateway: {enabled: true}}\n")];

const GATEWAY: &[(&str, &str)] = &[
    DEFAULT,
    (
        "hpa",
        "hpa: {enabled: true, minReplicas: 1, maxReplicas: 3}\npodDisruptionBudget: {minAvailable: 1}\ndeployment: {replicas: 2}\nconfig: {envoyGateway: {logging: {level: {default: debug}}}}\ncertgen: {job: {ttlSecondsAfterFinished: 10}}\n",
    ),
];

const POSTGRES: &[(&str, &str)] = &[
    DEFAULT,
    (
        "configured",
        "configTarget: ConfigMap\nconfigGeneral: {workers: 4, enable_crd_registration: false}\npodPriorityClassName: {create: false}\nenableJsonLogging: true\nconfigKubernetes: {pod_environment_configmap: a/b, cluster_labels: {application: x}}\ncontrollerID: {create: true, name: c}\n",
    ),
];

const POSTGRES_UI: &[(&str, &str)] = &[
    DEFAULT,
    (
        "ingress",
        "ingress: {enabled: true, hosts: [{host: h, paths: [\"\"]}], tls: [{secretName: s, hosts: [h]}]}\nextraEnvs: [{name: A, value: b}]\n",
    ),
];
