//! What people may do to Reeve's kinds who have the roles that Kubernetes has.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use reeve_tests::{Cluster, ControlPlane, eventually};

use crate::cli_cluster::install::install;

const NAMESPACE: &str = "default";

async fn may(cluster: &Cluster, user: &str, verb: &str, resource: &str) -> bool {
    let attributes = ResourceAttributes {
        namespace: Some(NAMESPACE.to_owned()),
        verb: Some(verb.to_owned()),
        group: Some("reeve.dev".to_owned()),
        resource: Some(resource.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(user.to_owned()),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let api: Api<SubjectAccessReview> = Api::all(cluster.client());
    api.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

#[tokio::test]
async fn viewers_read_editors_write_scaling_rules_and_admins_write_sources_only_if_the_operator_says_so() {
    let control_plane = ControlPlane::start().await.unwrap().controllers().await.unwrap();
    let cluster: &Cluster = &control_plane;
    install(cluster, &["--apply"]).await.with(0);
    for role in ["view", "edit", "admin"] {
        let (role_arg, user) = (format!("--clusterrole={role}"), format!("--user={role}er"));
        cluster.kubectl(&["create", "rolebinding", role, "-n", NAMESPACE, &role_arg, &user]).await;
    }
    eventually("the roles are aggregated", || async {
        let wanted = [("viewer", "list", "inventories"), ("editer", "create", "scalingrules")];
        for (user, verb, resource) in wanted {
            if !may(cluster, user, verb, resource).await {
                return Err(format!("{user} may not {verb} {resource}"));
            }
        }
        Ok(())
    })
    .await;
    for user in ["viewer", "editer", "adminer"] {
        assert!(may(cluster, user, "watch", "gitsources").await, "{user}");
        assert!(!may(cluster, user, "create", "gitsources").await, "{user} decides what is applied");
        assert!(!may(cluster, user, "patch", "runtimes").await, "{user} decides what is applied");
    }
    assert!(!may(cluster, "viewer", "create", "scalingrules").await);
    install(cluster, &["--apply", "--set", "aggregateRoles.admin=true"]).await.with(0);
    eventually("an admin may write sources", || async {
        if may(cluster, "adminer", "create", "gitsources").await { Ok(()) } else { Err("not yet") }
    })
    .await;
    assert!(!may(cluster, "editer", "create", "gitsources").await);
}
