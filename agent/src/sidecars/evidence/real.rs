//! What is looked for in logs is what a real daprd writes: two real Redis with different passwords, one daprd, and its
//! resources in a folder, which it reloads by the same code as those of a cluster.

use std::path::Path;

use reeve_tests::assets::{self, Released, Tool};
use reeve_tests::{Process, Server, Supervisor, eventually};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::tests::{pod, reloading, resource_of};
use super::*;
use reeve_agent_dapr::Resource;

/// Ports that nothing on this machine uses right now.
fn ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners: [_; COUNT] = std::array::from_fn(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

struct Sidecar {
    supervisor: Supervisor,
    processes: Vec<Process>,
    http: u16,
    redis: [u16; 2],
}

impl Sidecar {
    async fn start(daprd: &Path) -> Self {
        let supervisor = Supervisor::start("daprd").unwrap();
        let [http, grpc, internal, public, metrics, one, two] = ports();
        let mut processes = Vec::new();
        for (name, port) in [("one", one), ("two", two)] {
            let folder = supervisor.data().join(name);
            std::fs::create_dir(&folder).unwrap();
            let server = Server::new(&format!("redis-{name}"), assets::tool(Tool::RedisServer).unwrap())
                .args(["--bind", "127.0.0.1", "--save", "", "--requirepass", name, "--port", &port.to_string()])
                .args(["--dir", folder.to_str().unwrap()]);
            processes.push(supervisor.spawn(server).unwrap());
        }
        let resources = supervisor.data().join("resources");
        std::fs::create_dir(&resources).unwrap();
        let mut this = Self { supervisor, processes, http, redis: [one, two] };
        this.write("store.yaml", &this.store("store", 0, "one"));
        let server = Server::new("daprd", daprd).args([
            "--app-id=nodeapp".to_owned(),
            "--mode=standalone".to_owned(),
            format!("--resources-path={}", resources.display()),
            format!("--dapr-http-port={http}"),
            format!("--dapr-grpc-port={grpc}"),
            format!("--dapr-internal-grpc-port={internal}"),
            format!("--dapr-public-port={public}"),
            format!("--metrics-port={metrics}"),
            "--dapr-listen-addresses=127.0.0.1".to_owned(),
        ]);
        this.processes.push(this.supervisor.spawn(server).unwrap());
        eventually("daprd is initialized", || async {
            let log = this.log(0);
            if log.contains(INITIALIZED) { Ok(()) } else { Err(log) }
        })
        .await;
        this
    }

    fn store(&self, name: &str, redis: usize, password: &str) -> serde_json::Value {
        let metadata = serde_json::json!([
            { "name": "redisHost", "value": format!("127.0.0.1:{}", self.redis[redis]) },
            { "name": "redisPassword", "value": password },
            { "name": "redisMaxRetries", "value": "0" },
        ]);
        serde_json::json!({
            "apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": { "name": name, "namespace": "shop" },
            "spec": { "type": "state.redis", "version": "v1", "ignoreErrors": true, "metadata": metadata },
        })
    }

    fn write(&self, file: &str, resource: &serde_json::Value) {
        std::fs::write(self.supervisor.data().join("resources").join(file), resource.to_string()).unwrap();
    }

    /// What daprd has written since then.
    fn log(&self, from: usize) -> String {
        let log = std::fs::read_to_string(self.supervisor.log_of("daprd")).unwrap_or_default();
        log.get(from..).unwrap_or_default().to_owned()
    }

    /// Waits until the log says enough about a change from one resource to the other.
    async fn evidence_of(&self, from: usize, before: Option<Resource>, after: Resource) -> Evidence {
        let record = reloading(before, Some(after));
        eventually("the log says what came of it", || async {
            let log = self.log(from);
            match judge(&record, &[(&pod(), Some(log.clone()))]) {
                Evidence::Silent => Err(log),
                found => Ok(found),
            }
        })
        .await
    }

    async fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).await.unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

#[tokio::test]
#[ignore = "daprd takes long to build: run `make e2e`"]
async fn a_real_daprd_says_in_its_log_what_is_looked_for() {
    let Some(daprd) = assets::released(Released::Daprd).unwrap() else { return };
    let sidecar = Sidecar::start(&daprd).await;
    let order = r#"[{ "key": "order", "value": "foo" }]"#;
    assert!(sidecar.request("POST", "/v1.0/state/store", order).await.contains(" 204"));
    assert!(sidecar.request("GET", "/v1.0/state/store/order", "").await.ends_with("\"foo\""));

    // Another Redis with another password, without a restart.
    let (one, two) = (sidecar.store("store", 0, "one"), sidecar.store("store", 1, "two"));
    let from = sidecar.log(0).len();
    sidecar.write("store.yaml", &two);
    assert_eq!(sidecar.evidence_of(from, Some(resource_of(&one)), resource_of(&two)).await, Evidence::Seen);
    assert!(sidecar.request("GET", "/v1.0/state/store/order", "").await.contains(" 204"), "nothing is there");
    let from = sidecar.log(0).len();
    sidecar.write("store.yaml", &one);
    assert_eq!(sidecar.evidence_of(from, Some(resource_of(&two)), resource_of(&one)).await, Evidence::Seen);
    assert!(sidecar.request("GET", "/v1.0/state/store/order", "").await.ends_with("\"foo\""), "and back again");

    // A password that Redis does not take.
    let wrong = sidecar.store("store", 0, "wrong");
    let from = sidecar.log(0).len();
    sidecar.write("store.yaml", &wrong);
    let Evidence::Failed(message) = sidecar.evidence_of(from, Some(resource_of(&one)), resource_of(&wrong)).await
    else {
        panic!("it loaded a store whose password is wrong")
    };
    assert!(message.starts_with("Failed to init component store"), "{message}");
}
