use serde_json::{Value, json};

use super::*;

fn kubeconfig() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "eu",
        "contexts": [{ "name": "eu", "context": { "cluster": "eu", "user": "reeve" } }],
        "clusters": [{ "name": "eu", "cluster": { "server": "https://10.0.0.1:6443" } }],
        "users": [{ "name": "reeve", "user": { "token": "secret-of-tests" } }],
    })
}

async fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut kubeconfig = kubeconfig();
    change(&mut kubeconfig);
    read(kubeconfig.to_string().as_bytes()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_kubeconfig_of_data_leads_to_its_server() {
    let config = read(kubeconfig().to_string().as_bytes()).await.unwrap();
    assert_eq!(config.cluster_url.to_string(), "https://10.0.0.1:6443/");
}

#[tokio::test]
async fn what_reads_files_runs_programs_or_trusts_anybody_is_refused() {
    for (field, value) in [
        ("tokenFile", json!("/var/run/secrets/kubernetes.io/serviceaccount/token")),
        ("client-certificate", json!("/etc/shadow")),
        ("client-key", json!("/etc/shadow")),
        ("exec", json!({ "apiVersion": "client.authentication.k8s.io/v1", "command": "sh" })),
        ("auth-provider", json!({ "name": "gcp", "config": {} })),
        ("as", json!("system:admin")),
    ] {
        let said = refused(|kubeconfig| kubeconfig["users"][0]["user"][field] = value).await;
        assert!(said.starts_with(&format!("it has `{field}`: ")), "{said}");
    }
    let said = refused(|kubeconfig| kubeconfig["users"][0]["user"]["as-groups"] = json!(["system:masters"])).await;
    assert!(said.starts_with("it has `as`: "), "{said}");
    for (field, value) in [
        ("insecure-skip-tls-verify", json!(true)),
        ("certificate-authority", json!("/etc/shadow")),
        ("proxy-url", json!("http://10.0.0.2:3128")),
    ] {
        let said = refused(|kubeconfig| kubeconfig["clusters"][0]["cluster"][field] = value).await;
        assert!(said.starts_with(&format!("it has `{field}`: ")), "{said}");
    }
}

#[tokio::test]
async fn what_leads_nowhere_says_what_is_missing() {
    let said = refused(|kubeconfig| kubeconfig["current-context"] = json!("")).await;
    assert_eq!(said, "it names no `current-context`");
    let said = refused(|kubeconfig| kubeconfig["current-context"] = json!("us")).await;
    assert_eq!(said, "it has no context `us`, its `current-context`");
    let said = refused(|kubeconfig| kubeconfig["contexts"][0]["context"]["cluster"] = json!("us")).await;
    assert_eq!(said, "it has no cluster `us`, that of its context");
    let said = refused(|kubeconfig| kubeconfig["contexts"][0]["context"]["user"] = json!("you")).await;
    assert_eq!(said, "it has no user `you`, that of its context");
    for server in ["", "10.0.0.1", "http://10.0.0.1:6443", "https://"] {
        let said = refused(|kubeconfig| kubeconfig["clusters"][0]["cluster"]["server"] = json!(server)).await;
        assert!(said.starts_with("the `server` of its cluster is no address"), "{server}: {said}");
    }
}

#[tokio::test]
async fn what_is_no_kubeconfig_is_told_without_its_content() {
    for text in ["token: [secret-of-tests", "- secret-of-tests", "\u{1}", ""] {
        let said = read(text.as_bytes()).await.unwrap_err().to_string();
        assert!(!said.contains("secret-of-tests"), "{said}");
    }
    assert!(read(&[0xff]).await.is_err());
    let long = read(&vec![b'a'; LONGEST + 1]).await.unwrap_err();
    assert_eq!(long.to_string(), "it is longer than 262144 bytes");
}
