//! How the cluster is found, and what is said when it is not.

use std::process::{Command, Stdio};
use std::time::Duration;

use reeve_tests::{Cluster, ControlPlane, Forwarder};

use crate::cli::repository::{Ended, Repository, ended};
use crate::cli_cluster::fixture::CliFixture;

/// `reeve` in an environment that knows of no cluster.
fn command(folder: &Repository, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reeve"));
    command.args(args).current_dir(folder.path()).stdin(Stdio::null());
    for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        command.env_remove(variable);
    }
    command.env("HOME", folder.path());
    command
}

fn reeve(folder: &Repository, args: &[&str]) -> Ended {
    ended(command(folder, args).output().unwrap())
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n\
         users: [{{name: u, user: {{token: t0psecret}}}}]\n\
         contexts: [{{name: a, context: {{cluster: c, user: u, namespace: shop}}}}]\n"
    )
}

#[test]
fn without_a_kubeconfig_it_says_where_one_is_looked_for() {
    let folder = Repository::empty();
    let told = reeve(&folder, &["get"]).with(2);
    let wanted = |file: &std::path::Path| {
        format!(
            "error: there is no kubeconfig {}, and this is no pod\n  \
             help: name one with --kubeconfig or KUBECONFIG, or put it into ~/.kube/config\n",
            file.display()
        )
    };
    assert_eq!(told.err, wanted(&folder.file(".kube/config")));
    let mut command = command(&folder, &["get"]);
    let told = ended(command.env("KUBECONFIG", "/no/such/file").output().unwrap()).with(2);
    assert_eq!(told.err, wanted("/no/such/file".as_ref()), "what the environment names is named");
    let told = reeve(&folder, &["get", "--kubeconfig", "nowhere"]).with(2);
    assert!(told.err.starts_with("error: cannot use the kubeconfig nowhere\n"), "{}", told.err);
    assert!(told.err.contains("No such file"), "{}", told.err);
    folder.write("config", &kubeconfig("http://127.0.0.1:1"));
    let told = reeve(&folder, &["get", "--kubeconfig", "config", "--context", "b"]).with(2);
    assert!(told.err.contains("cannot use the kubeconfig config") && told.err.contains('b'), "{}", told.err);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let folder = Repository::empty();
    folder.write("config", &kubeconfig("http://127.0.0.1:1"));
    let told = reeve(&folder, &["get", "--kubeconfig", "config"]).with(2);
    assert!(told.err.starts_with("error: cannot reach the API server at http://127.0.0.1:1\n"), "{}", told.err);
    assert!(told.err.contains("because: ") && told.err.contains("refused"), "{}", told.err);
    assert_eq!(told.err.matches("because:").count(), 1, "each cause is told once: {}", told.err);
    assert!(!told.err.contains("t0psecret"), "{}", told.err);
}

#[test]
fn a_context_that_is_not_there_is_told_with_what_was_meant() {
    let folder = Repository::empty();
    folder.write("config", &kubeconfig("http://127.0.0.1:1"));
    let told = reeve(&folder, &["get", "--kubeconfig", "config", "--context", "nowhere"]).with(2);
    assert!(told.err.contains("because: there is no context `nowhere`: "), "{}", told.err);
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_no_longer_than_asked() {
    let cluster = Cluster::shared().await;
    let forwarder = Forwarder::to_cluster(cluster).await.unwrap();
    forwarder.black_hole();
    let folder = Repository::empty();
    folder.write("config", &kubeconfig(&format!("http://{}", forwarder.address())));
    let told = tokio::task::spawn_blocking(move || {
        reeve(&folder, &["get", "--kubeconfig", "config", "--request-timeout", "1s"]).with(2)
    });
    let told = tokio::time::timeout(Duration::from_secs(30), told).await.expect("it hangs").unwrap();
    assert!(told.err.contains("did not answer within 1 s: cannot list gitsources"), "{}", told.err);
    assert!(told.err.contains("--request-timeout"), "{}", told.err);
}

#[tokio::test]
async fn a_cluster_without_the_kinds_says_how_to_install_them() {
    let control_plane = ControlPlane::start().await.unwrap();
    let file = control_plane.kubeconfig().display().to_string();
    let folder = Repository::empty();
    folder.write("fleet.yaml", "kind: Fleet\n");
    folder.write("runtimes/eu-1.yaml", "kind: Runtime\n");
    let all: Vec<_> = [
        &["get"][..],
        &["tree"],
        &["events"],
        &["events", "runtime", "eu-1"],
        &["suspend", "runtime", "eu-1"],
        &["resume", "source", "fleet"],
        &["reconcile", "component", "eu-1.web"],
        &["plan"],
        &["diff", "--live"],
    ]
    .into_iter()
    .map(|command| [command, &["--kubeconfig", &file]].concat().into_iter().map(str::to_owned).collect::<Vec<_>>())
    .collect();
    for command in all {
        let told = reeve(&folder, &command.iter().map(String::as_str).collect::<Vec<_>>()).with(2);
        let wanted = "does not know Reeve's kinds\n  help: run `reeve install --apply`";
        assert!(told.err.contains(wanted), "{command:?}: {}", told.err);
    }
}

#[tokio::test]
async fn the_namespace_is_that_of_the_context_unless_another_is_named() {
    let fixture = CliFixture::new("context").await;
    fixture.runtime("eu-1", "fleet", serde_json::json!({})).await;
    let folder = Repository::empty();
    let text = std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap();
    let mut config: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    config["contexts"][0]["context"]["namespace"] = fixture.namespace.clone().into();
    folder.write("config", &config.to_string());
    let (found, told) = tokio::task::spawn_blocking(move || {
        let found = reeve(&folder, &["get", "runtimes", "-o", "name", "--kubeconfig", "config"]).with(1);
        let told = reeve(&folder, &["get", "-n", "no-such-namespace", "--kubeconfig", "config"]).with(0);
        (found, told)
    })
    .await
    .unwrap();
    assert_eq!(found.out, "runtime.reeve.dev/eu-1\n");
    assert_eq!(told.out, "no sources, runtimes or components in namespace no-such-namespace\n");
}

#[test]
fn a_server_or_proxy_that_is_no_address_is_named_with_its_field() {
    let folder = Repository::empty();
    let with_proxy = kubeconfig("http://127.0.0.1:1").replace("server:", "proxy-url: nonsense, server:");
    for (text, field) in
        [(kubeconfig("rubbish"), "server"), (kubeconfig("https://"), "server"), (with_proxy, "proxy-url")]
    {
        folder.write("config", &text);
        let told = reeve(&folder, &["get", "--kubeconfig", "config"]).with(2);
        assert!(told.err.contains(&format!("{field} of the cluster `c`")), "{}", told.err);
        assert!(told.err.contains("write an address such as"), "{}", told.err);
    }
    let other =
        kubeconfig("http://127.0.0.1:1").replace("clusters: [", "clusters: [{name: d, cluster: {server: rubbish}}, ");
    folder.write("config", &other);
    let told = reeve(&folder, &["get", "--kubeconfig", "config"]).with(2);
    assert!(told.err.contains("cannot reach the API server"), "what nobody uses is nobody's business: {}", told.err);
}

#[test]
fn a_data_folder_that_is_none_is_told_at_the_start() {
    let folder = Repository::empty();
    folder.write("config", &kubeconfig("http://127.0.0.1:1"));
    folder.write("file", "");
    let told = reeve(&folder, &["run", "--kubeconfig", "config", "--data-folder", "file", "--admin-address", "none"]);
    assert_ne!(told.status, Some(0));
    assert!((told.out.clone() + &told.err).contains("cannot use file as --data-folder"), "{}{}", told.out, told.err);
}
