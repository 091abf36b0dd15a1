//! Reeve as it is shipped: its image on a real node, put there by `reeve install`, governing what runs beside it.

mod registry;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use reeve_crds::GitSource;
use reeve_tests::{CommitId, GIT_HOST, GitHttp, GitRepository, GitSsh, Image, Node, eventually, until};
use serde_json::{Value, json};

use crate::cli_cluster::install::{install, reeve};

/// Where the image has the authorities that everybody trusts.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
const HTTPS_PORT: u16 = 8443;
const SSH_PORT: u16 = 2222;

/// A web server that says what Git says.
const WEB: &str = "apiVersion: v1
kind: ConfigMap
metadata: { name: page }
data: { index.html: {{ Values.text | quote }} }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: reeve.local/busybox:tests
          imagePullPolicy: Never
          command: [httpd, -f, -p, '8080', -h, /www]
          readinessProbe: { httpGet: { path: /, port: 8080 }, periodSeconds: 1 }
          volumeMounts: [{ name: page, mountPath: /www }]
      volumes: [{ name: page, configMap: { name: page } }]
";

/// A node whose pods find the Git servers of the test by name.
struct Estate {
    node: Node,
    repository: GitRepository,
    https: GitHttp,
    ssh: GitSsh,
    image: Image,
}

impl Estate {
    async fn start() -> Self {
        let node = Node::start().await.unwrap();
        let image = Image::shipped(env!("CARGO_BIN_EXE_reeve").as_ref()).unwrap();
        node.load(&image).unwrap();
        node.load(&Image::busybox().unwrap()).unwrap();
        let repository = GitRepository::create().unwrap();
        let (https, ssh) = (repository.serve_https(None).unwrap(), repository.serve_ssh().await.unwrap());
        node.resolve(&[(GIT_HOST, node.address())]).await.unwrap();
        for (port, server) in [(HTTPS_PORT, https.address()), (SSH_PORT, ssh.address())] {
            node.expose((node.address(), port).into(), server).await.unwrap();
        }
        node.kubectl(&["create", "namespace", "fleet"]).await;
        Self { node, repository, https, ssh, image }
    }

    fn push(&self, text: &str) -> CommitId {
        let files = [
            ("fleet.yaml", "kind: Fleet\ndefaults: { channel: regular, namespace: default }\ncomponents:\n  web: {}\n"),
            ("channels/regular.yaml", "kind: Channel\ncomponents:\n  web: 1.0.0\n"),
            ("charts/web/1.0.0/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            ("charts/web/1.0.0/templates/all.yaml.j2", WEB),
            (
                "runtimes/here.yaml",
                &format!(
                    "kind: Runtime\ntarget: {{ namespaces: [default] }}\ncomponents:\n  web: {{ values: {{ text: {text} }} }}\n"
                ),
            ),
        ];
        self.repository.publish(&files).unwrap()
    }

    fn https_url(&self) -> String {
        let path = self.repository.path().file_name().unwrap().to_string_lossy().into_owned();
        format!("https://{GIT_HOST}:{HTTPS_PORT}/{path}")
    }

    fn ssh_url(&self) -> String {
        self.ssh.url().replace(&self.ssh.address().to_string(), &format!("{GIT_HOST}:{SSH_PORT}"))
    }

    /// The server's key under the name that pods know it by.
    fn known_hosts(&self) -> String {
        let known = std::fs::read_to_string(self.ssh.known_hosts()).unwrap();
        let (_address, key) = known.split_once(' ').unwrap();
        format!("[{GIT_HOST}]:{SSH_PORT} {key}")
    }

    async fn follow(&self, url: &str, secret: Value) {
        let client = self.node.client();
        let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client.clone(), "fleet");
        let by = PatchParams::apply("somebody").force();
        let secret =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "git" }, "stringData": secret });
        secrets.patch("git", &by, &Patch::Apply(&secret)).await.unwrap();
        let sources: Api<GitSource> = Api::namespaced(client, "fleet");
        let spec = json!({ "url": url, "interval": "1s", "ref": { "branch": "main" }, "secretRef": { "name": "git" } });
        let source = json!({ "apiVersion": "reeve.dev/v1alpha1", "kind": "GitSource", "metadata": { "name": "fleet" }, "spec": spec });
        sources.patch("fleet", &by, &Patch::Apply(&source)).await.unwrap();
    }

    async fn page_says(&self, text: &str) {
        let pages: Api<ConfigMap> = Api::namespaced(self.node.client(), "default");
        until(&pages, "page", "the page is as Git says", |page| {
            page.data.as_ref().is_some_and(|data| data.get("index.html").is_some_and(|said| said == text))
        })
        .await;
    }

    async fn web_runs(&self) -> Deployment {
        let deployments: Api<Deployment> = Api::namespaced(self.node.client(), "default");
        until(&deployments, "web", "the workload runs", |web| {
            web.status.as_ref().is_some_and(|status| status.available_replicas == Some(1))
        })
        .await
    }

    /// Runs the command line in a pod of an image, and returns whether it succeeded and what it said.
    async fn run(&self, name: &str, image: &Image, args: &[&str]) -> (bool, String) {
        let pods: Api<Pod> = Api::namespaced(self.node.client(), "default");
        let container = json!({ "name": "reeve", "image": image.name(), "imagePullPolicy": "Never", "args": args });
        let pod =
            json!({ "metadata": { "name": name }, "spec": { "restartPolicy": "Never", "containers": [container] } });
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
        let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        let ended = until(&pods, name, "it ends", |pod| ["Succeeded", "Failed"].contains(&phase(pod).as_str())).await;
        (phase(&ended) == "Succeeded", self.node.kubectl(&["logs", name]).await)
    }
}

#[tokio::test]
async fn the_image_is_installed_and_governs_what_runs_beside_it() {
    let estate = Estate::start().await;
    estate.push("one");
    let args = ["--apply", "--wait", "--applier", "namespaces=default", "--set", r#"sourceNamespaces=["fleet"]"#];
    let told = install(&estate.node, &args).await.with(0);
    assert!(told.out.contains("Deployment.apps reeve-system/reeve created"), "{}", told.out);
    let version =
        estate.node.kubectl(&["-n", "reeve-system", "exec", "deploy/reeve", "--", "reeve", "--version"]).await;
    assert!(version.starts_with("reeve 0.1.0 (commit "), "{version}");
    let shell =
        estate.node.try_kubectl(&["-n", "reeve-system", "exec", "deploy/reeve", "--", "sh", "-c", "true"]).await;
    assert!(shell.is_err(), "the image has a shell: {shell:?}");

    estate.follow(&estate.https_url(), json!({ "ca.crt": estate.https.authority().unwrap() })).await;
    estate.page_says("one").await;
    let web = estate.web_runs().await;
    let identity = std::fs::read_to_string(estate.ssh.private_key()).unwrap();
    estate.follow(&estate.ssh_url(), json!({ "identity": identity, "known_hosts": estate.known_hosts() })).await;
    estate.push("two");
    estate.page_says("two").await;
    eventually("the repository comes over SSH", || async {
        let log = std::fs::read_to_string(estate.ssh.process().log()).unwrap();
        if log.contains("Accepted publickey") { Ok(()) } else { Err(log) }
    })
    .await;
    assert_eq!(estate.web_runs().await.metadata.uid, web.metadata.uid);
    trusts_what_its_authorities_vouch_for(&estate).await;

    let told = reeve(&estate.node, &["uninstall", "--apply", "--crds"]).await.with(0);
    assert!(told.out.starts_with("Deployment.apps reeve-system/reeve deleted\n"), "{}", told.out);
    assert!(told.out.contains("\nRuntime.reeve.dev fleet/here released\n"), "{}", told.out);
    let after = estate.web_runs().await;
    assert_eq!((after.metadata.uid, after.metadata.generation), (web.metadata.uid, web.metadata.generation));
    estate.page_says("two").await;
}

/// Without a word on authorities the image's own count, and they are where OpenSSL looks for them.
async fn trusts_what_its_authorities_vouch_for(estate: &Estate) {
    let url = estate.https_url();
    let (succeeded, said) = estate.run("stranger", &estate.image, &["validate", "--git", &url]).await;
    assert!(!succeeded && said.contains("certificate"), "{said}");
    let bundle = estate.image.read(AUTHORITIES).unwrap();
    assert!(bundle.matches("BEGIN CERTIFICATE").count() > 100, "these are few authorities");
    let bundle = format!("{bundle}{}", estate.https.authority().unwrap());
    let trusting = estate.image.clone().named("reeve.local/reeve:trusting").file(AUTHORITIES, &bundle);
    estate.node.load(&trusting).unwrap();
    let (succeeded, said) = estate.run("trusting", &trusting, &["validate", "--git", &url]).await;
    assert!(succeeded, "{said}");
}
