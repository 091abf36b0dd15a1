//! Pods find Services by name, as Dapr's sidecars and applications do.

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::PostParams;
use reeve_tests::assets::{self, Released};
use reeve_tests::{Image, Node, eventually, until};
use serde_json::json;

#[tokio::test]
#[ignore = "CoreDNS takes long to build: run `make e2e`"]
async fn a_pod_finds_a_service_by_name() {
    let Some(coredns) = assets::released(Released::CoreDns).unwrap() else { return };
    let node = Node::start().await.unwrap().dns(&coredns).await.unwrap();
    let image = Image::busybox().unwrap();
    node.load(&image).unwrap();

    let services: Api<Service> = Api::namespaced(node.client(), "default");
    let service = json!({"metadata": {"name": "found"}, "spec": {"ports": [{"port": 80}]}});
    let service = services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(node.client(), "default");
    let pod = json!({"metadata": {"name": "seeker"}, "spec": {"containers": [
        {"name": "seeker", "image": image.name(), "imagePullPolicy": "Never", "command": ["tail", "-f", "/dev/null"]},
    ]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    until(&pods, "seeker", "the pod runs", |pod| {
        pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
    })
    .await;

    let cluster_ip = service.spec.unwrap().cluster_ip.unwrap();
    let lookup = ["exec", "seeker", "--", "busybox", "nslookup", "found.default.svc.cluster.local"];
    let answer = eventually("the name is known", || node.try_kubectl(&lookup)).await;
    assert!(answer.contains(&cluster_ip), "{cluster_ip} is not in {answer}");
}
