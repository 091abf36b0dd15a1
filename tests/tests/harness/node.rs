//! A Deployment really runs on the harness's own node.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use kube::api::PostParams;
use reeve_tests::{Image, Node, eventually, until};
use serde_json::json;

use crate::endings::{run_folder, servers_of};

fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn web_server(image: &Image) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{
                        "name": "web",
                        "image": image.name(),
                        "imagePullPolicy": "Never",
                        "command": ["sh", "-c", "echo serving; exec httpd -f -p 8080 -h /www"],
                        "ports": [{"containerPort": 8080}],
                        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
                    }],
                },
            },
        },
    }))
    .unwrap()
}

fn service() -> Service {
    serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }))
    .unwrap()
}

#[tokio::test]
async fn a_deployment_runs_behind_its_service_and_nothing_is_left_of_it() {
    let before = network_files();
    let node = Node::start().await.unwrap();
    let image = Image::busybox().unwrap().named("reeve.local/web:tests").file("/www/index.html", "hello from a pod\n");
    node.load(&image).unwrap();
    let deployments: Api<Deployment> = Api::namespaced(node.client(), "default");
    let services: Api<Service> = Api::namespaced(node.client(), "default");

    deployments.create(&PostParams::default(), &web_server(&image)).await.unwrap();
    let service = services.create(&PostParams::default(), &service()).await.unwrap();
    until(&deployments, "web", "both replicas are available", |web| {
        web.status.as_ref().is_some_and(|status| status.available_replicas == Some(2))
    })
    .await;

    let cluster_ip = service.spec.unwrap().cluster_ip.unwrap();
    let address = node.reach(format!("{cluster_ip}:80").parse().unwrap()).unwrap();
    let answer = eventually("the Service's address answers", || async {
        let answer = get(address, "/").map_err(|error| error.to_string())?;
        if answer.contains(" 200 OK") { Ok(answer) } else { Err(answer) }
    })
    .await;
    assert!(answer.ends_with("hello from a pod\n"), "{answer}");

    let said = node.kubectl(&["exec", "deploy/web", "--", "cat", "/www/index.html"]).await;
    assert_eq!(said, "hello from a pod\n");
    assert_eq!(node.kubectl(&["logs", "deploy/web"]).await, "serving\n");
    let url = format!("http://{cluster_ip}/");
    let from_a_pod = node.kubectl(&["exec", "deploy/web", "--", "wget", "-q", "-O", "-", &url]).await;
    assert_eq!(from_a_pod, "hello from a pod\n");

    let folder = run_folder(node.supervisor());
    drop(node);
    assert!(!folder.exists(), "{} is left", folder.display());
    assert_eq!(servers_of(&folder), Vec::<String>::new());
    assert_eq!(cgroups_of(&folder), Vec::<PathBuf>::new());
    assert_eq!(network_files(), before, "the network plugins left files");
}

/// Control groups that bear the name of the run.
fn cgroups_of(folder: &Path) -> Vec<PathBuf> {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let hierarchies = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten().map(|entry| entry.path());
    [PathBuf::from("/sys/fs/cgroup")]
        .into_iter()
        .chain(hierarchies)
        .flat_map(|hierarchy| std::fs::read_dir(hierarchy).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(&name))
        .collect()
}

/// What network plugins keep in the one place that cannot be configured.
fn network_files() -> Vec<PathBuf> {
    std::fs::read_dir("/var/lib/cni/results").into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
