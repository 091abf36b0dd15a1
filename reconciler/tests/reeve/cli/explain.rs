//! `reeve explain`.

use crate::cli::repository::Repository;

#[test]
fn a_value_has_the_chain_of_files_that_set_it() {
    let ended = Repository::fleet().reeve(&["explain", "-r", "eu-2", "replicas"]).with(0);
    let wanted = "\
replicas is 5 in component web of runtime eu-2
    charts/web/1.0.0/values.yaml:1:1  chart       1  (overridden)
    layers/base.yaml:3:3              layer base  2  (overridden)
  > runtimes/eu-2.yaml:5:7            component   5  (decides)
";
    assert_eq!(ended.out, wanted);
}

#[test]
fn maps_are_merged_and_null_deletes() {
    let repository = Repository::fleet();
    let ended = repository.reeve(&["explain", "-r", "eu-2", "-c", "web", "image"]).with(0);
    let wanted = "\
image is {\"repository\":\"nginx\",\"tag\":\"2\"} in component web of runtime eu-2
  + charts/web/1.0.0/values.yaml:2:1  chart      {\"repository\":\"nginx\",\"tag\":\"1\"}  (merged)
  + runtimes/eu-2.yaml:6:7            component  {\"tag\":\"2\"}  (merged)
";
    assert_eq!(ended.out, wanted);
    repository.write("runtimes/eu-1.yaml", "kind: Runtime\nvalues:\n  image: null\n");
    let ended = repository.reeve(&["explain", "-r", "eu-1", "image.tag"]).with(0);
    let wanted = "\
image.tag is not set in component web of runtime eu-1
    charts/web/1.0.0/values.yaml:4:3  chart    \"1\"  (overridden)
  > runtimes/eu-1.yaml:3:3            runtime  sets `image` as a whole: null  (deletes it)
";
    assert_eq!(ended.out, wanted);
}

#[test]
fn a_field_names_its_template_and_the_values_that_change_it() {
    let repository = Repository::fleet();
    let ended = repository.reeve(&["explain", "-r", "eu-2", "deployment/web", ".spec.image"]).with(0);
    let wanted = "\
Deployment.apps default/web .spec.image is \"nginx:2\"
  written by charts/web/1.0.0/templates/deployment.yaml.j2 document 1, component web

  Values.image.repository = \"nginx\"
    > charts/web/1.0.0/values.yaml:3:3  chart  \"nginx\"  (decides)

  Values.image.tag = \"2\"
      charts/web/1.0.0/values.yaml:4:3  chart      \"1\"  (overridden)
    > runtimes/eu-2.yaml:7:9            component  \"2\"  (decides)
";
    assert_eq!(ended.out, wanted);
    let ended = repository.reeve(&["explain", "-r", "eu-2", "Deployment.apps/default/web", ".metadata.name"]).with(0);
    assert!(ended.out.ends_with("\n  Component.name\n"), "{}", ended.out);
    let ended = repository.reeve(&["explain", "-r", "eu-2", "configmap/second", ".data.a"]).with(0);
    assert!(
        ended.out.contains("settings.yaml document 2") && ended.out.contains("it comes from the chart itself"),
        "{}",
        ended.out
    );
    let ended = repository.reeve(&["explain", "-r", "eu-2", "configmap/second", ".metadata.namespace"]).with(0);
    assert!(ended.out.contains("Reeve sets it"), "{}", ended.out);
}

#[test]
fn what_is_not_there_gets_a_suggestion() {
    let repository = Repository::fleet();
    let cases: [(&[&str], &str); 7] = [
        (&["-r", "eu-l", "replicas"], "error: there is no runtime `eu-l`\n  help: did you mean `eu-1`?\n"),
        (
            &["-r", "eu-1", "-c", "wev", "replicas"],
            "error: runtime `eu-1` has no component `wev`\n  help: did you mean `web`?\n",
        ),
        (
            &["-r", "eu-1", "image.tga"],
            "error: no file sets `image.tga` for any component of runtime `eu-1`\n  help: did you mean `image.tag`?\n",
        ),
        (
            &["-r", "eu-1", "deploymnt/web", ".spec"],
            "error: runtime `eu-1` has no deploymnt\n  help: did you mean `Deployment`?\n",
        ),
        (
            &["-r", "eu-1", "configmap/frist"],
            "error: runtime `eu-1` has no configmap `frist`\n  help: did you mean `first`?\n",
        ),
        (
            &["-r", "eu-1", "deployment/web", ".spec.replica"],
            "error: Deployment.apps default/web has no field `spec.replica`\n  help: did you mean `spec.replicas`?\n",
        ),
        (
            &["-r", "eu-1", "a..b"],
            "error: `a..b` is no path: write it like image.tag, ports[0].name or annotations.\"a.b/c\"\n",
        ),
    ];
    for (args, wanted) in cases {
        let ended = repository.reeve(&[&["explain"], args].concat()).with(2);
        assert_eq!(ended.err, wanted, "{args:?}");
    }
}

#[test]
fn a_runtime_that_does_not_render_is_told_with_its_reason() {
    let repository = Repository::fleet();
    repository.write("runtimes/eu-1.yaml", "kind: Runtime\nlayers: [gone]\n");
    let ended = repository.reeve(&["explain", "-r", "eu-1", "replicas"]).with(2);
    assert!(ended.err.contains("runtimes/eu-1.yaml:2:10: there is no layer `gone`"), "{}", ended.err);
}
