//! What a test does with a Kubernetes API, wherever its servers run.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::conditions;
use kube::{Api, Client, Config, ResourceExt};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::ControlPlane;
use crate::assets::{self, Program};
use crate::audit::AuditLog;
use crate::wait::until;

/// Names the file that describes the cluster of this run, for every test process below `reeve-harness run`.
pub(crate) const VARIABLE: &str = "REEVE_CLUSTER";

/// A running Kubernetes API and the way to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cluster {
    kubeconfig: PathBuf,
    audit_log: PathBuf,
    logs: PathBuf,
}

impl Cluster {
    pub(crate) fn new(kubeconfig: PathBuf, audit_log: PathBuf, logs: PathBuf) -> Self {
        Self { kubeconfig, audit_log, logs }
    }

    /// The cluster that all tests of a run share: API server, controllers and scheduler, no nodes. Under `make test` it is
    /// started once for all test processes, otherwise once for this one. Give each test a namespace of its own.
    ///
    /// Panics with one line that says what to do when it cannot be had.
    pub async fn shared() -> &'static Cluster {
        static SHARED: OnceCell<Shared> = OnceCell::const_new();
        let shared = SHARED.get_or_init(|| async {
            match Shared::find_or_start().await {
                Ok(shared) => shared,
                Err(error) => panic!("cannot start the shared cluster: {error:#}"),
            }
        });
        match shared.await {
            Shared::OfTheRun(cluster) => cluster,
            Shared::OfThisProcess(control_plane) => control_plane,
        }
    }

    /// A file that `kubectl` and any other client understand, with all rights.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where its servers' output is.
    pub fn logs(&self) -> &Path {
        &self.logs
    }

    fn watch_for_failures(&self) {
        if let Some(run) = self.logs.parent() {
            crate::failure::watch_shared(run);
        }
    }

    /// The requests that the API server has answered.
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(&self.audit_log)
    }

    /// A new client with all rights. Each belongs to the test's own runtime: do not share it between tests.
    pub fn client(&self) -> Client {
        let made = self.config().and_then(|config| Client::try_from(config).context("cannot make a client"));
        made.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// What a client with all rights is made of, to change before making one.
    pub fn config(&self) -> Result<Config> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)
            .with_context(|| format!("cannot read {}", self.kubeconfig.display()))?;
        // `Config::from_custom_kubeconfig` is async only for credential plugins, which ours does not use.
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .now_or_never()
            .context("the kubeconfig wants a credential plugin")?
            .context("cannot use the kubeconfig")
    }

    /// A fresh namespace whose name begins with `prefix`.
    pub async fn namespace(&self, prefix: &str) -> String {
        let mut namespace = Namespace::default();
        namespace.metadata.generate_name = Some(format!("{prefix}-"));
        let api: Api<Namespace> = Api::all(self.client());
        let created = api.create(&PostParams::default(), &namespace).await.expect("cannot create a namespace");
        created.name_any()
    }

    /// Runs the pinned kubectl and returns what it prints; panics with its error when it fails.
    pub async fn kubectl(&self, args: &[&str]) -> String {
        self.try_kubectl(args).await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    pub async fn try_kubectl(&self, args: &[&str]) -> Result<String> {
        let output = tokio::process::Command::new(assets::find(Program::Kubectl)?)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            // Its discovery cache is of this cluster, not of the user's.
            .env("KUBECACHEDIR", self.kubeconfig.with_extension("cache"))
            .stdin(Stdio::null())
            .output()
            .await
            .context("cannot start kubectl")?;
        if !output.status.success() {
            bail!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("kubectl did not print text")
    }

    /// Installs Reeve's CRDs as they are checked in, and waits until they are served. Once per cluster is enough, more
    /// often does no harm.
    pub async fn crds(&self) {
        self.install_crds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds/yaml")).await;
    }

    /// Installs KEDA's CRDs as KEDA has released them, likewise. KEDA itself is not there.
    pub async fn keda_crds(&self) {
        let folder = assets::keda_crds().unwrap_or_else(|error| panic!("cannot get KEDA's CRDs: {error:#}"));
        self.install_crds(&folder).await;
    }

    /// Installs Istio's CRDs as Istio has released them, likewise. Istio itself is not there.
    pub async fn istio_crds(&self) {
        let folder = assets::istio_crds().unwrap_or_else(|error| panic!("cannot get Istio's CRDs: {error:#}"));
        self.install_crds(&folder).await;
    }

    /// Installs the CRDs of KEDA's add-on for HTTP as it has released them, likewise. The add-on itself is not there.
    pub async fn http_add_on_crds(&self) {
        let folder =
            assets::http_add_on_crds().unwrap_or_else(|error| panic!("cannot get the add-on's CRDs: {error:#}"));
        self.install_crds(&folder).await;
    }

    async fn install_crds(&self, folder: &Path) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        for crd in crds_in(folder) {
            let params = PatchParams::apply("reeve-tests").force();
            api.patch(&crd.name_any(), &params, &Patch::Apply(&crd)).await.expect("cannot apply a CRD");
            let established = |crd: &CustomResourceDefinition| {
                kube::runtime::wait::Condition::matches_object(&conditions::is_crd_established(), Some(crd))
            };
            until(&api, &crd.name_any(), "the CRD is established", established).await;
        }
    }
}

/// All that the YAML files of a folder define, of which one file may define several.
fn crds_in(folder: &Path) -> Vec<CustomResourceDefinition> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder).expect("no folder of CRDs").flatten().map(|entry| entry.path()) {
        if file.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("cannot read a CRD");
        for document in serde_yaml::Deserializer::from_str(&text) {
            let crd: Option<CustomResourceDefinition> = serde::Deserialize::deserialize(document).expect("not a CRD");
            found.extend(crd);
        }
    }
    found
}

enum Shared {
    OfTheRun(Cluster),
    OfThisProcess(ControlPlane),
}

impl Shared {
    async fn find_or_start() -> Result<Self> {
        let Some(file) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
            let control_plane = ControlPlane::start().await?.controllers().await?;
            control_plane.watch_for_failures();
            return Ok(Self::OfThisProcess(control_plane));
        };
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{VARIABLE} names {}, which cannot be read: unset it", file.display()))?;
        let cluster: Cluster =
            serde_json::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?;
        cluster.watch_for_failures();
        Ok(Self::OfTheRun(cluster))
    }
}
