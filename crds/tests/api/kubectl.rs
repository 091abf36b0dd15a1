//! What a person sees: `kubectl get`, `kubectl explain`, `kubectl apply`.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use reeve_crds::definitions;
use reeve_tests::Cluster;
use serde_json::{Value, json};

use super::schemas;
use super::subject::{self, Subject};

#[tokio::test]
async fn every_kind_is_listed_with_its_columns_filled() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let ns = cluster.namespace("columns").await;
    for (subject, crd) in subject::all().into_iter().zip(definitions::all().unwrap()) {
        let name = make(cluster, &subject, &ns).await;
        for (output, priority) in [("", 0), ("-owide", 1)] {
            let mut args = vec!["get", subject.short_name, &name];
            args.extend(subject.namespaced.then_some(["-n", &ns]).into_iter().flatten());
            args.extend((!output.is_empty()).then_some(output));
            let printed = cluster.kubectl(&args).await;
            let (header, row) = printed.trim_end().split_once('\n').unwrap();
            let columns = crd.spec.versions[0].additional_printer_columns.iter().flatten();
            let wanted = columns.filter(|column| column.priority.unwrap_or(0) <= priority);
            let mut expected = vec!["NAME".to_owned()];
            expected.extend(wanted.map(|column| column.name.to_uppercase()));
            assert_eq!(header.split_whitespace().collect::<Vec<_>>(), expected, "{printed}");
            assert_eq!(empty_columns(header, row), Vec::<&str>::new(), "a column is empty:\n{printed}");
        }
    }
}

#[tokio::test]
async fn every_field_is_explained() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    for (subject, crd) in subject::all().into_iter().zip(definitions::all().unwrap()) {
        let schema = schemas::schema(&crd);
        for part in ["spec", "status"].into_iter().filter(|part| schema["properties"].get(*part).is_some()) {
            let field = format!("{}.{part}", crd.spec.names.singular.as_deref().unwrap());
            let explained = cluster.kubectl(&["explain", &field, "--recursive"]).await;
            let mut missing = Vec::new();
            schemas::walk(&schema["properties"][part], part, &mut |at, _| {
                let name = at.rsplit('.').next().unwrap_or_default().trim_end_matches(['[', ']', '{', '}']);
                if at != part && !explained.contains(name) {
                    missing.push(at.to_owned());
                }
            });
            assert!(missing.is_empty(), "{field} does not explain {missing:?}:\n{explained}");
        }
        let root = cluster.kubectl(&["explain", subject.short_name]).await;
        assert!(!root.contains("<empty>"), "{root}");
    }
}

#[tokio::test]
async fn the_category_lists_every_kind() {
    let cluster = Cluster::shared().await;
    cluster.crds().await;
    let printed = cluster.kubectl(&["api-resources", "--categories=reeve", "-oname"]).await;
    let mut listed: Vec<&str> = printed.lines().collect();
    listed.sort_unstable();
    let definitions = definitions::all().unwrap();
    let mut expected: Vec<&str> = definitions.iter().filter_map(|crd| crd.metadata.name.as_deref()).collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
}

/// The columns below whose heading there is nothing; kubectl aligns cells with their headings.
fn empty_columns<'a>(header: &'a str, row: &str) -> Vec<&'a str> {
    let names: Vec<&str> = header.split_whitespace().collect();
    let starts: Vec<usize> = names.iter().map(|name| name.as_ptr() as usize - header.as_ptr() as usize).collect();
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let cells =
        starts.iter().zip(ends).map(|(start, end)| row.get(*start..end.min(row.len())).unwrap_or_default().trim());
    names
        .iter()
        .zip(cells)
        .filter(|(_, cell)| cell.is_empty() || cell.starts_with('<'))
        .map(|(name, _)| *name)
        .collect()
}

/// An object of the kind with every field of its spec and status filled; the name of a kind that has to bear a
/// certain one is in its spec.
async fn make(cluster: &Cluster, subject: &Subject, ns: &str) -> String {
    let api = subject.api(cluster.client(), ns);
    let name = format!("{ns}-whole");
    let spec: Value = serde_json::from_str(&subject.spec.to_string().replace("$NAME", &name)).unwrap();
    let object: DynamicObject = serde_json::from_value(subject.object(&name, &spec)).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap_or_else(|e| panic!("{}: {e}", subject.resource.kind));
    if !subject.status.is_null() {
        let patch = json!({ "status": subject.status });
        let written = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await;
        let written = written.unwrap_or_else(|error| panic!("{}: {error}", subject.resource.kind));
        assert_eq!(written.data["status"], subject.status, "{}: fields are pruned", subject.resource.kind);
    }
    name
}
