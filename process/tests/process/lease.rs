//! Two processes, one lease, the real API server.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use reeve_tests::{AuditEvent, Cluster, Forwarder, eventually};
use rustix::process::Signal;

use crate::child::{Holder, at};

const SHORT: [&str; 6] = ["--lease-duration", "4s", "--renew-deadline", "2s", "--retry", "500ms"];

struct Arena {
    cluster: &'static Cluster,
    namespace: String,
}

impl Arena {
    async fn new() -> Self {
        let cluster = Cluster::shared().await;
        Self { cluster, namespace: cluster.namespace("lease").await }
    }

    /// Namespaces are unique in the audit log, so plain names will do.
    fn start(&self, name: &str, args: &[&str]) -> Holder {
        let kubeconfig = self.cluster.kubeconfig().to_str().unwrap();
        let own = ["--kubeconfig", kubeconfig, "--namespace", &self.namespace];
        Holder::start(name, &[&own, args].concat())
    }

    /// Requests of `name` in this namespace, by arrival.
    fn requests(&self, name: &str, wanted: impl Fn(&AuditEvent) -> bool) -> Vec<AuditEvent> {
        let ours = |event: &AuditEvent| event.namespace == self.namespace && event.user_agent == name;
        let mut events = self.cluster.audit().matching(|event| ours(event) && wanted(event));
        events.sort_by(|one, other| one.received.cmp(&other.received));
        events
    }

    fn writes(&self, name: &str) -> Vec<AuditEvent> {
        self.requests(name, |event| event.is_write() && event.resource == "configmaps")
    }

    async fn writes_more_than(&self, name: &str, count: usize) -> Vec<AuditEvent> {
        let look = || async {
            let writes = self.writes(name);
            if writes.len() > count { Ok(writes) } else { Err(format!("{} writes", writes.len())) }
        };
        eventually(&format!("{name} writes more than {count} times"), look).await
    }

    /// The moment at which `name` took the lease, as the server saw it: its first write of it that went through.
    fn took(&self, name: &str) -> String {
        let took = self.requests(name, |event| event.is_write() && event.resource == "leases" && event.code < 300);
        took.first().unwrap_or_else(|| panic!("{name} did not take the lease")).received.clone()
    }

    async fn lease(&self) -> Lease {
        let leases: Api<Lease> = Api::namespaced(self.cluster.client(), &self.namespace);
        leases.get("lease-holder").await.unwrap()
    }
}

fn last(events: &[AuditEvent]) -> &str {
    &events.last().unwrap().received
}

#[tokio::test]
async fn a_holder_that_was_stopped_past_its_deadline_starts_no_request_when_it_resumes() {
    let arena = Arena::new().await;
    let first = arena.start("first", &SHORT);
    arena.writes_more_than("first", 20).await;
    let second = arena.start("second", &SHORT);
    second.says("contending", 1).await;

    first.signal(Signal::STOP);
    second.says("leading", 1).await;
    arena.writes_more_than("second", 20).await;
    let before = arena.writes("first").len();
    first.signal(Signal::CONT);
    let lapsed = first.says("no longer leading", 1).await;
    first.says("stopped writing", 1).await;
    // It has gone on as a standby, and the other goes on writing.
    let resumed = arena.requests("first", |event| event.verb == "get" && event.resource == "leases").len();
    let look = || async {
        let now = arena.requests("first", |event| event.verb == "get" && event.resource == "leases").len();
        if now > resumed + 3 { Ok(()) } else { Err(format!("{now} looks at the lease")) }
    };
    eventually("the first looks at the lease again", look).await;
    let count = arena.writes("second").len();
    arena.writes_more_than("second", count + 20).await;

    let took = arena.took("second");
    let writes = arena.writes("first");
    assert!(last(&writes) < took.as_str(), "the first wrote at {} though the second led since {took}", last(&writes));
    assert_eq!(writes.len(), before, "it wrote after it resumed");
    assert!(at(&lapsed) > at(&second.said("leading")[0]), "it was not stopped long enough");
    assert_eq!((first.said("leading").len(), second.said("no longer leading").len()), (1, 0));
}

#[tokio::test]
async fn a_holder_cut_from_the_server_closes_its_gate_before_another_leads() {
    let arena = Arena::new().await;
    let forwarder = Forwarder::to_cluster(arena.cluster).await.unwrap();
    let through = format!("https://{}", forwarder.address());
    let first = arena.start("first", &[&SHORT[..], &["--server", &through]].concat());
    arena.writes_more_than("first", 20).await;
    let second = arena.start("second", &SHORT);
    second.says("contending", 1).await;

    forwarder.black_hole();
    let closed = first.says("no longer leading", 1).await;
    let opened = second.says("leading", 1).await;
    assert!(at(&closed) < at(&opened), "closed at {} and opened at {}", at(&closed), at(&opened));
    arena.writes_more_than("second", 20).await;

    // What the hole swallowed is lost; new connections pass.
    forwarder.cut();
    forwarder.pass();
    let look = || async {
        let after = arena.took("second");
        let looks = arena.requests("first", |event| event.verb == "get" && event.received > after);
        if looks.len() > 3 { Ok(()) } else { Err(format!("{} looks at the lease", looks.len())) }
    };
    eventually("the first is back as a standby", look).await;
    let (took, writes) = (arena.took("second"), arena.writes("first"));
    assert!(last(&writes) < took.as_str(), "the first wrote at {} though the second led since {took}", last(&writes));
    assert_eq!(first.said("leading").len(), 1);
}

#[tokio::test]
async fn a_holder_that_ends_in_order_hands_the_lease_over_at_once_and_after_its_drain() {
    let arena = Arena::new().await;
    // Nobody would wait out an hour: the lease was given up, or the test fails.
    let patient = ["--lease-duration", "3600s", "--renew-deadline", "1800s", "--retry", "500ms", "--linger", "1s"];
    let mut first = arena.start("first", &patient);
    arena.writes_more_than("first", 5).await;
    let second = arena.start("second", &patient);
    second.says("contending", 1).await;

    first.signal(Signal::TERM);
    second.says("leading", 1).await;
    assert_eq!(first.ended().await.code(), Some(0));

    let [closed, released] = ["no longer leading", "lease released"].map(|message| first.said(message)[0].clone());
    assert!(at(&closed) < at(&second.said("leading")[0]));
    assert!(released["timestamp"].as_str() > closed["timestamp"].as_str());
    assert!(last(&arena.writes("first")) < arena.took("second").as_str());
    let spec = arena.lease().await.spec.unwrap();
    assert_eq!(spec.lease_transitions, Some(1));
    assert!(spec.acquire_time.is_some() && spec.holder_identity.is_some());
}

#[tokio::test]
async fn a_lease_that_cannot_be_created_is_told_and_not_passed_over() {
    let mut arena = Arena::new().await;
    arena.namespace = "a-namespace-that-does-not-exist".to_owned();
    let first = arena.start("first", &SHORT);
    let told = |line: &serde_json::Value| {
        line["message"].as_str().is_some_and(|text| text.contains("cannot create the lease"))
    };
    eventually("it says why it does not lead", || async {
        if first.log().iter().any(told) { Ok(()) } else { Err(format!("{:?}", first.log())) }
    })
    .await;
}
