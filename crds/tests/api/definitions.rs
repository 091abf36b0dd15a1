//! The CRDs themselves, as the API server sees them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use reeve_crds::definitions;
use reeve_tests::Cluster;

#[tokio::test]
async fn every_crd_is_established_and_structural() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for crd in definitions::all().unwrap() {
        let name = crd.metadata.name.unwrap();
        let live = api.get(&name).await.unwrap();
        let conditions = live.status.and_then(|status| status.conditions).unwrap_or_default();
        let holds = |kind: &str| conditions.iter().any(|c| c.type_ == kind && c.status == "True");
        assert!(holds("Established") && holds("NamesAccepted"), "{name}: {conditions:?}");
        assert!(!holds("NonStructuralSchema"), "{name}: {conditions:?}");
    }
}

#[tokio::test]
async fn the_api_server_keeps_the_schemas_as_they_are_written() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for crd in definitions::all().unwrap() {
        let live = api.get(crd.metadata.name.as_ref().unwrap()).await.unwrap();
        assert_eq!(live.spec.versions, crd.spec.versions, "{}", crd.spec.names.kind);
    }
}
