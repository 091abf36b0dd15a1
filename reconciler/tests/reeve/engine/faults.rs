//! What happens when others fail: it is told where it can be, and mends itself when they are well again.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use reeve_crds::outcome::Outcome;
use reeve_crds::{Inventory, Lenient, Runtime, State};
use reeve_tests::{ControlPlane, Forwarder, eventually, until};
use serde_json::json;

use super::fixture::{Fixture, config, definition};
use super::proxy::{Proxy, Rule};

async fn refused_for_a_while(prefix: &str, code: u16) {
    let fixture = Fixture::new(prefix).await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let proxy =
        Proxy::start(&fixture.cluster, Rule::Refuse { code, path: format!("/namespaces/{}/", fixture.target) }).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    let status = eventually("the failure is told", || async {
        let component =
            fixture.api::<reeve_crds::RuntimeComponent>().get_opt(&format!("{}.web", fixture.runtime)).await.unwrap();
        let status = component.and_then(|component| component.status).unwrap_or_default();
        if status.state == Some(State::Error) { Ok(status) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(status.failure.unwrap().object.unwrap().name, "settings");
    let before = proxy.requests();
    let attempts = || async { fixture.event("Failed", &["settings"]).await };
    attempts().await;
    let after = proxy.requests();
    assert!(after - before < 60, "{} requests for two more tries", after - before);
    proxy.set(Rule::Pass);
    fixture.applied(&first).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
}

#[tokio::test]
async fn a_server_that_is_overloaded_is_asked_again_later() {
    refused_for_a_while("busy", 429).await;
}

#[tokio::test]
async fn a_server_that_fails_is_asked_again_later() {
    refused_for_a_while("broken", 500).await;
}

/// A component with a CRD and an object of it, whose first listings are answered with this code.
async fn waited_for(prefix: &str, code: u16) {
    let fixture = Fixture::new(prefix).await;
    let group = format!("{}.example.com", fixture.namespace);
    let object = format!("apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: gadget }}\n---\n");
    fixture.component("web", "1.0.0", &(definition(&group, "Gadget") + &object));
    let first = fixture.push();
    fixture.follow().await;
    let path = format!("/apis/{group}/v1/gadgets");
    let proxy = Proxy::start(&fixture.cluster, Rule::RefuseReads { code, path, times: 3 }).await;
    let _reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.applied(&first).await;
    assert_eq!(proxy.refused(), 3);
    let component = fixture.component_is("web", State::Ready, "Succeeded").await;
    let outcomes: Vec<_> = component.status.unwrap().history.into_iter().map(|entry| entry.outcome).collect();
    assert_eq!(outcomes, [Lenient::Known(Outcome::Succeeded)], "it failed in between");
}

#[tokio::test]
async fn a_kind_that_the_server_only_begins_to_serve_is_waited_for() {
    waited_for("starts", 429).await;
}

#[tokio::test]
async fn a_kind_that_discovery_shows_and_that_is_not_found_yet_is_waited_for() {
    waited_for("shown", 404).await;
}

#[tokio::test]
async fn reeve_s_own_kinds_may_be_served_late_without_a_word() {
    let fixture = Fixture::new("own").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let rule = Rule::RefuseReads { code: 429, path: "/inventories".to_owned(), times: 3 };
    let proxy = Proxy::start(&fixture.cluster, rule).await;
    let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.applied(&first).await;
    assert_eq!(proxy.refused(), 3);
    assert!(!reeve.log().contains("WARN"), "{}", reeve.log());
}

#[tokio::test]
async fn a_source_whose_runtimes_cannot_be_written_does_not_give_its_commit_up() {
    let fixture = Fixture::new("unwritten").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let proxy = Proxy::start(&fixture.cluster, Rule::Pass).await;
    let reeve = fixture.reeve_through(&proxy.kubeconfig(fixture.data.path()), &[]);
    fixture.applied(&first).await;
    proxy.set(Rule::Refuse { code: 500, path: "/runtimes/".to_owned() });
    fixture.component("web", "1.1.0", &config("settings", "two"));
    fixture.runtime(&fixture.runtime, "policy: { timeout: 3m }\n");
    let second = fixture.push();
    eventually("it could not be written", || {
        let log = reeve.log();
        async move { if log.contains("cannot write Runtime") { Ok(()) } else { Err(log) } }
    })
    .await;
    proxy.set(Rule::Pass);
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
}

#[tokio::test]
async fn an_inventory_that_somebody_edits_or_deletes_is_read_anew_and_mended() {
    let fixture = Fixture::new("inventory").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let page = format!("{}.0", fixture.runtime);
    let patch = json!({ "metadata": { "labels": { "somebody": "was-here" } } });
    fixture.api::<Inventory>().patch(&page, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    fixture.component("web", "1.1.0", &(config("settings", "two") + &config("new", "x")));
    let second = fixture.push();
    fixture.applied(&second).await;
    fixture.api::<Inventory>().delete(&page, &DeleteParams::default()).await.unwrap();
    fixture.component("web", "1.2.0", &(config("settings", "two") + &config("newer", "x")));
    let third = fixture.push();
    fixture.applied(&third).await;
    assert_eq!(fixture.says("newer").await.unwrap(), "x");
    eventually("the inventory has what is there", || async {
        let inventory = fixture.inventory(&fixture.runtime).await;
        if inventory.contains(&"ConfigMap/newer".to_owned()) && inventory.contains(&"ConfigMap/settings".to_owned()) {
            Ok(())
        } else {
            Err(format!("{inventory:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn an_account_that_loses_its_rights_is_told_and_goes_on_when_it_has_them_again() {
    let fixture = Fixture::new("rights").await;
    let account = fixture.namespace.clone();
    fixture.account(&account).await;
    fixture.component_with("web", "1.0.0", &format!("{{ serviceAccountName: {account} }}"), &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let bindings = fixture.dynamic("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None);
    bindings.delete(&format!("test-{account}"), &DeleteParams::default()).await.unwrap();
    fixture.component_with("web", "1.1.0", &format!("{{ serviceAccountName: {account} }}"), &config("settings", "two"));
    let second = fixture.push();
    fixture.component_is("web", State::Warning, "Forbidden").await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");
    fixture.account(&account).await;
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
}

#[tokio::test]
async fn an_api_server_that_freezes_and_thaws_is_caught_up_with() {
    let plane = ControlPlane::start().await.unwrap();
    let fixture = Fixture::on(&plane, "frozen").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    plane.apiserver().freeze().unwrap();
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    plane.apiserver().thaw().unwrap();
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
    assert_eq!(
        fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.labels.unwrap()["reeve.dev/component"],
        "web"
    );
}

#[tokio::test]
async fn a_runtime_whose_inventory_cannot_be_read_is_not_ready() {
    let plane = ControlPlane::start().await.unwrap();
    let fixture = Fixture::on(&plane, "unlisted").await;
    fixture.component("web", "1.0.0", &(config("settings", "one") + &config("old", "x")));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    fixture.applied(&first).await;
    let uid = fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.uid;
    plane.kubectl(&["delete", "crd", "inventories.reeve.dev"]).await;
    // The pages are gone: the next one cannot be stored.
    fixture.component("web", "1.1.0", &(config("settings", "one") + &config("new", "x")));
    let second = fixture.push();
    let is_told = |runtime: &Runtime| {
        let status = runtime.status.as_ref();
        let ready = status.and_then(|status| status.conditions.iter().find(|condition| condition.type_ == "Ready"));
        status.is_some_and(|status| status.state == Some(State::Error))
            && ready.is_some_and(|ready| ready.message.contains("inventory"))
    };
    until(&fixture.api::<Runtime>(), &fixture.runtime, "it says that it has no inventory", is_told).await;
    assert_eq!(fixture.says("new").await, None, "nothing is created that is not written down");
    let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/yaml");
    plane.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", definitions]).await;
    fixture.applied(&second).await;
    assert_eq!(fixture.there::<ConfigMap>().get("settings").await.unwrap().metadata.uid, uid);
    // What the process knew of its objects was not lost with the pages.
    fixture.gone(&fixture.there::<ConfigMap>(), "old").await;
}

#[tokio::test]
async fn a_connection_that_is_cut_is_not_hammered_and_what_was_missed_is_made_up_for() {
    let fixture = Fixture::new("cut").await;
    let forwarder = Forwarder::to_cluster(&fixture.cluster).await.unwrap();
    let url = fixture.cluster.config().unwrap().cluster_url.to_string();
    let text = std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap();
    let through = text.replace(url.trim_end_matches('/'), &format!("https://{}", forwarder.address()));
    assert_ne!(text, through);
    let kubeconfig = fixture.data.path().join("forwarder.yaml");
    std::fs::write(&kubeconfig, through).unwrap();
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve_through(&kubeconfig, &[]);
    fixture.applied(&first).await;
    forwarder.cut();
    let before = forwarder.connections();
    fixture.meddle("settings", "hand").await;
    fixture.component("web", "1.1.0", &(config("settings", "one") + &config("new", "x")));
    let second = fixture.push();
    eventually("it has tried", || async {
        if forwarder.connections() > before + 10 { Ok(()) } else { Err("not yet") }
    })
    .await;
    forwarder.pass();
    fixture.applied(&second).await;
    fixture.comes_to_say("settings", "one").await;
    let tries = forwarder.connections() - before;
    assert!(tries < 300, "{tries} connections");
}

#[tokio::test]
async fn a_webhook_that_hangs_is_named_and_the_component_goes_on_when_it_is_gone() {
    let fixture = Fixture::new("hangs").await;
    // Connections are taken by the kernel and answered by nobody.
    let silence = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"] });
    let webhook = json!({
        "name": "silence.example.com",
        "clientConfig": { "url": format!("https://{}/", silence.local_addr().unwrap()) },
        "rules": [rule],
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": fixture.target } },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"],
    });
    let kind = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
    fixture.apply(kind.0, kind.1, None, &fixture.namespace, json!({ "webhooks": [webhook] })).await;
    eventually("the webhook is in force", || async {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "probe" } });
        let params = PatchParams::apply("somebody").dry_run();
        let tried = fixture.there::<ConfigMap>().patch("probe", &params, &Patch::Apply(&object)).await;
        tried.err().ok_or("it lets it pass")
    })
    .await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let _reeve = fixture.reeve();
    let failure =
        fixture.component_is("web", State::Error, "WebhookUnavailable").await.status.unwrap().failure.unwrap();
    assert!(failure.message.contains("silence.example.com"), "{}", failure.message);
    fixture.dynamic(kind.0, kind.1, None).delete(&fixture.namespace, &DeleteParams::default()).await.unwrap();
    fixture.applied(&first).await;
}

/// Writes until nothing more fits.
async fn fill(fixture: &Fixture) {
    let filler = "x".repeat(200_000);
    for number in 0.. {
        let name = format!("filler-{number}");
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "filler": filler },
        });
        let params = PatchParams::apply("somebody");
        if let Err(error) = fixture.api::<ConfigMap>().patch(&name, &params, &Patch::Apply(&object)).await {
            assert!(error.to_string().contains("database space exceeded"), "{error}");
            return;
        }
    }
}

#[tokio::test]
async fn an_etcd_that_is_full_is_named_and_what_was_missed_is_made_up_for_when_there_is_room() {
    let mut plane = ControlPlane::start().await.unwrap();
    let fixture = Fixture::on(&plane, "full").await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let reeve = fixture.reeve();
    fixture.applied(&first).await;
    plane.etcd().kill().unwrap();
    plane.restart_etcd(Some(16 << 20)).await.unwrap();
    fill(&fixture).await;

    fixture.component("web", "1.1.0", &(config("settings", "two") + &config("new", "x")));
    let second = fixture.push();
    eventually("it says what is wrong", || {
        let log = reeve.log();
        async move { if log.contains("StorageFull") && log.contains("space exceeded") { Ok(()) } else { Err(log) } }
    })
    .await;
    assert_eq!(fixture.says("settings").await.unwrap(), "one");

    plane.etcd().kill().unwrap();
    plane.restart_etcd(None).await.unwrap();
    plane.disarm_etcd().await.unwrap();
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
    assert_eq!(fixture.inventory(&fixture.runtime).await, ["ConfigMap/new", "ConfigMap/settings"]);
    reeve.terminate().await;
}

/// A token of an account, in a file of its own, and a kubeconfig that names it.
async fn token(fixture: &Fixture, account: &str) -> std::path::PathBuf {
    let accounts: Api<ServiceAccount> = Api::namespaced(fixture.client.clone(), "reeve-system");
    let made = accounts.create_token_request(account, &PostParams::default(), &TokenRequest::default()).await.unwrap();
    let file = fixture.data.path().join("token");
    std::fs::write(&file, made.status.unwrap().token).unwrap();
    let mut config: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(fixture.cluster.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = json!({ "tokenFile": file });
    let kubeconfig = fixture.data.path().join("token.yaml");
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    kubeconfig
}

#[tokio::test]
async fn credentials_that_run_out_are_told_and_new_ones_are_taken_up_without_a_restart() {
    let fixture = Fixture::new("expired").await;
    let account = fixture.namespace.clone();
    fixture.account(&account).await;
    fixture.component("web", "1.0.0", &config("settings", "one"));
    let first = fixture.push();
    fixture.follow().await;
    let kubeconfig = token(&fixture, &account).await;
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let admin = format!("127.0.0.1:{port}");
    let reeve = fixture.reeve_through(&kubeconfig, &["--admin-address", &admin]);
    fixture.applied(&first).await;
    let is_ready = || {
        let asked = std::process::Command::new("curl").args(["--silent", &format!("http://{admin}/readyz")]).output();
        let page = String::from_utf8(asked.unwrap().stdout).unwrap();
        assert!(page.contains("credentials"), "{page}");
        page.contains("[+]credentials ok")
    };
    assert!(is_ready());

    let accounts: Api<ServiceAccount> = Api::namespaced(fixture.client.clone(), "reeve-system");
    accounts.delete(&account, &DeleteParams::default()).await.unwrap();
    eventually("the token is not accepted", || async {
        let mut config = fixture.cluster.config().unwrap();
        config.auth_info = kube::config::AuthInfo {
            token_file: Some(fixture.data.path().join("token").display().to_string()),
            ..Default::default()
        };
        let asked = kube::Client::try_from(config).unwrap().apiserver_version().await;
        asked.err().ok_or("it is")
    })
    .await;
    fixture.component("web", "1.1.0", &config("settings", "two"));
    let second = fixture.push();
    eventually("it says what is wrong", || {
        let log = reeve.log();
        async move { if log.contains("does not accept our credentials") { Ok(()) } else { Err(log) } }
    })
    .await;
    assert!(!is_ready());
    assert_eq!(fixture.says("settings").await.unwrap(), "one");

    fixture.account(&account).await;
    token(&fixture, &account).await;
    fixture.applied(&second).await;
    assert_eq!(fixture.says("settings").await.unwrap(), "two");
    assert!(is_ready());
    reeve.terminate().await;
}
