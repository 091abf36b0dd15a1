//! The examples of the docs are what they say.

use std::path::Path;

use reeve_tests::Cluster;

#[tokio::test]
async fn every_example_of_the_docs_is_accepted() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("examples").await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples");
    let printed = cluster.kubectl(&["apply", "--server-side", "-n", &ns, "-f", folder.to_str().unwrap()]).await;
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(printed.matches("serverside-applied").count(), files, "{printed}");
}
