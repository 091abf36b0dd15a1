use super::*;

fn create() -> Value {
    json!({
        "Image": "busybox",
        "Env": ["COLOUR=red", "SHAPE=a=b"],
        "Labels": {
            "io.kubernetes.docker.type": "container",
            "io.kubernetes.sandbox.id": "pod-id",
            "io.kubernetes.pod.name": "web",
            "io.kubernetes.pod.namespace": "shop",
            "io.kubernetes.pod.uid": "uid",
            "io.kubernetes.container.name": "main",
            "annotation.note": "kept",
        },
        "HostConfig": {"CpuShares": 512, "Memory": 64, "CgroupParent": "/kubepods/pod", "Novel": {"deep": [1, 2.5]}},
    })
}

fn place<'v>(config: &'v Value, name: &'v str) -> Place<'v> {
    Place { config, host: &config["HostConfig"], name }
}

#[test]
fn a_container_is_read_as_cri_dockerd_writes_it() {
    let config = create();
    let Some(Role::Container(container)) = place(&config, "k8s_main_web_shop_uid_3").role() else { panic!() };
    assert_eq!((container.pod_id.as_str(), container.metadata.name.as_str()), ("pod-id", "main"));
    assert_eq!(container.metadata.attempt, 3);
    assert_eq!(container.annotations["note"], "kept");
    assert_eq!(container.envs["SHAPE"], "a=b");
    assert_eq!(container.resources[&Field::CpuShares], Set::Number(512));
    let pod = place(&config, "").pod(texts(config.get("Labels")));
    assert_eq!((pod.metadata.namespace.as_str(), pod.cgroup_parent.as_str()), ("shop", "/kubepods/pod"));
    assert!(!pod.labels.contains_key(TYPE), "{:?}", pod.labels);
    assert_eq!(place(&json!({"Labels": {"app": "web"}}), "web").role(), None);
}

#[test]
fn changes_are_made_in_place_and_what_is_not_known_stays() {
    let mut config = create();
    let changes: Changes = [
        (Field::CpuShares, Some(Set::Number(2048))),
        (Field::MemoryLimit, None),
        (Field::Env("SHAPE".to_owned()), Some(Set::Text("round".to_owned()))),
        (Field::Env("COLOUR".to_owned()), None),
        (Field::ContainerAnnotation("added".to_owned()), Some(Set::Text("yes".to_owned()))),
        (Field::Unified("memory.high".to_owned()), Some(Set::Text("1".to_owned()))),
    ]
    .into();
    assert_eq!(edit_create(&mut config, &changes), [Field::Unified("memory.high".to_owned())]);
    let mut expected = create();
    expected["HostConfig"]["CpuShares"] = json!(2048);
    expected["HostConfig"].as_object_mut().unwrap().remove("Memory");
    expected["Env"] = json!(["SHAPE=round"]);
    expected["Labels"]["annotation.added"] = json!("yes");
    assert_eq!(config, expected);
}

#[test]
fn an_update_carries_resources_and_no_more() {
    let mut update = json!({"Memory": 64});
    let changes: Changes =
        [(Field::CpuShares, Some(Set::Number(7))), (Field::OomScoreAdj, Some(Set::Number(1)))].into();
    assert_eq!(edit_update(&mut update, &changes), [Field::OomScoreAdj]);
    assert_eq!(update, json!({"Memory": 64, "CpuShares": 7}));
}
