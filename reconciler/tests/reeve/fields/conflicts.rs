//! Conflicts as the API server words them.

use kube::api::PatchParams;
use reeve_reconciler_engine::fields::{Conflicts, Operation};

use super::{MANAGER, Place, deployment};

async fn conflicts(place: &Place) -> Conflicts {
    let Err(kube::Error::Api(status)) = place.apply(&deployment()).await else { panic!("no conflict") };
    assert_eq!(status.code, 409);
    Conflicts::of(&status).unwrap()
}

#[tokio::test]
async fn appliers_are_told_from_those_who_wrote_once() {
    let place = Place::new("conflict").await;
    place.apply(&deployment()).await.unwrap();
    place.kubectl(&["scale", "deployment/web", "--replicas=3"]).await;
    place.kubectl(&["label", "deployment/web", "app=other", "--overwrite"]).await;

    let first = conflicts(&place).await;
    assert!(first.all_updates());

    let mut theirs = deployment();
    theirs["spec"]["template"]["spec"]["containers"][0]["image"] = "web:9".into();
    place.apply_as(&theirs, &PatchParams::apply("flux").force()).await.unwrap();
    let second = conflicts(&place).await;
    let mut read: Vec<_> = second.iter().map(|one| (one.manager.as_str(), one.operation, one.path.as_str())).collect();
    read.sort_by_key(|(_, _, path)| *path);
    assert_eq!(
        read,
        [("flux", Operation::Apply, "spec.template.spec.containers[name=\"web\"].image")],
        "flux took the rest back from kubectl with the values that we want"
    );
    assert!(!second.all_updates());
}

#[tokio::test]
async fn a_write_through_a_subresource_is_an_update() {
    let place = Place::new("conflict").await;
    place.apply(&deployment()).await.unwrap();
    place.kubectl(&["scale", "deployment/web", "--replicas=3"]).await;

    let found = conflicts(&place).await;

    let read: Vec<_> = found.iter().map(|one| (one.manager.as_str(), one.operation, one.path.as_str())).collect();
    assert_eq!(read, [("kubectl", Operation::Update, "spec.replicas")]);
    place.apply_as(&deployment(), &PatchParams::apply(MANAGER).force()).await.unwrap();
    place.apply(&deployment()).await.unwrap();
}
