//! When something is written, by a clock that is turned by hand. The API server is one that notes what it is asked: what it
//! would make of it is proven with a real one.

use std::convert::Infallible;
use std::time::Duration;

use http::{Method, Request, Response};
use kube::client::Body;
use reeve_crds::State;
use reeve_crds::runtime::RuntimeSpec;
use reeve_crds::runtime_component::ComponentTarget;

use super::*;
use crate::clock::ManualClock;

type Asked = Arc<Mutex<Vec<(Method, String)>>>;

/// A server that answers everything with this code.
fn server(code: Arc<Mutex<u16>>, asked: Asked) -> Client {
    let answer_request = move |request: Request<Body>| {
        let (code, asked) = (code.clone(), asked.clone());
        async move {
            let path = request.uri().path().to_owned();
            asked.lock().push((request.method().clone(), path.rsplit('/').next().unwrap().to_owned()));
            let code = *code.lock();
            let body = match code {
                200 => r#"{"apiVersion":"v1","kind":"x","metadata":{"uid":"1","generation":1}}"#.to_owned(),
                _ => format!(
                    r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not allowed","reason":"Forbidden","code":{code}}}"#
                ),
            };
            Ok::<_, Infallible>(Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap())
        }
    };
    Client::new(tower::service_fn(answer_request), "default")
}

fn spec(component: &str) -> RuntimeComponentSpec {
    RuntimeComponentSpec {
        runtime: "eu".to_owned(),
        component: component.to_owned(),
        target: ComponentTarget::Runtime,
        chart: "web".to_owned(),
        version: "1.0.0".to_owned(),
        channel: None,
        namespace: None,
        origin: None,
        depends_on: Vec::new(),
        service_account_name: None,
        timeout: None,
        suspend: None,
    }
}

struct Scene {
    status_writer: StatusWriter,
    clock: ManualClock,
    code: Arc<Mutex<u16>>,
    asked: Asked,
}

impl Scene {
    fn new() -> Self {
        let (code, asked) = (Arc::new(Mutex::new(200)), Asked::default());
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
        let runtime = Runtime::new("eu", serde_json::from_str::<RuntimeSpec>("{}").unwrap());
        let client = server(code.clone(), asked.clone());
        Self {
            status_writer: StatusWriter::new(client, &runtime, Clock::new(clock.clone()), SeenStatuses::default()),
            clock,
            code,
            asked,
        }
    }

    fn tell(&self, component: &str, urgency: Urgency) {
        let status = RuntimeComponentStatus { state: Some(State::Processing), ..RuntimeComponentStatus::default() };
        self.status_writer.component(spec(component), status, urgency);
    }

    /// What is asked when all that is due is written.
    async fn written(&self) -> Vec<(Method, String)> {
        self.status_writer.write_due(false).await;
        std::mem::take(&mut *self.asked.lock())
    }

    async fn later(&self, time: Duration) -> Vec<(Method, String)> {
        self.clock.advance(time);
        self.written().await
    }
}

fn made() -> (Method, String) {
    (Method::POST, "runtimecomponents".to_owned())
}

fn told() -> (Method, String) {
    (Method::POST, "events".to_owned())
}

fn said() -> (Method, String) {
    (Method::PATCH, "status".to_owned())
}

#[tokio::test]
async fn what_is_under_way_has_an_object_at_once_and_tells_how_far_it_is_in_its_turn() {
    let scene = Scene::new();
    for component in ["a", "b", "c"] {
        scene.tell(component, Urgency::Begun);
    }
    let mut written = scene.written().await;
    written.sort_by_key(|(_, path)| path.clone());
    assert_eq!(written, [made(), made(), made(), said()]);
    assert_eq!(scene.later(Duration::from_secs(10)).await, [said(), said()]);
}

#[tokio::test]
async fn what_is_refused_is_told_once_and_tried_again_until_it_is_taken() {
    let scene = Scene::new();
    *scene.code.lock() = 403;
    scene.tell("a", Urgency::Now);
    assert_eq!(scene.written().await, [made(), told()]);
    assert!(scene.later(Duration::from_secs(1)).await.is_empty(), "it is too early");
    assert_eq!(scene.later(Duration::from_secs(5)).await, [made()], "it was told");
    *scene.code.lock() = 200;
    assert_eq!(scene.later(Duration::from_secs(10)).await, [made(), said()]);
    assert!(scene.later(Duration::from_hours(1)).await.is_empty());
}

#[tokio::test]
async fn what_is_refused_is_not_told_again_nor_tried_more_often_because_something_else_is_taken() {
    let scene = Scene::new();
    *scene.code.lock() = 403;
    scene.tell("a", Urgency::Now);
    assert_eq!(scene.written().await, [made(), told()]);
    assert_eq!(scene.later(Duration::from_secs(5)).await, [made()]);
    *scene.code.lock() = 200;
    scene.tell("b", Urgency::Now);
    assert_eq!(scene.written().await, [made(), said()]);
    *scene.code.lock() = 403;
    assert!(scene.later(Duration::from_secs(5)).await.is_empty(), "it is too early");
    assert_eq!(scene.later(Duration::from_secs(5)).await, [made()], "it was told");
    assert!(scene.later(Duration::from_secs(15)).await.is_empty(), "it was tried three times");
}

#[tokio::test]
async fn what_somebody_deleted_while_it_was_written_counts_as_not_there() {
    let scene = Scene::new();
    scene.tell("a", Urgency::Now);
    assert_eq!(scene.written().await, [made(), said()]);
    let component: Arc<str> = "a".into();
    let subject = Subject::Component(component.clone());
    let status = RuntimeComponentStatus { state: Some(State::Ready), ..RuntimeComponentStatus::default() };
    let content = Content::Component(Box::new((spec("a"), status)));
    let mut write = Box::pin(scene.status_writer.write(&subject, &content));
    assert!(futures::poll!(write.as_mut()).is_pending());
    assert!(scene.status_writer.lost(&component, "1"));
    assert!(write.await.is_ok());
    assert!(!scene.status_writer.lock().written.contains_key(&subject));
}
