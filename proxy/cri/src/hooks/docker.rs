//! What becomes of each hooked call of the Docker API: who is asked before, what is sent on, what is noted, who is told after.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;
use tokio::sync::oneshot;
use tonic::{Code, Status};

use super::Hooks;
use super::ask::Asked;
use super::post::Post;
use super::running::RunningContainers;
use crate::chain;
use crate::docker::config::{self, Place, Role};
use crate::docker::{Answer, Call, Engine, EngineError, Request, refusal};
use crate::field::{self, Changes, Field};
use crate::hook::Hook;
use crate::subject::{Container, Pod, resources};

mod running;

/// What the client gets, and what plugins are to be told afterwards.
type Handled = (Vec<u8>, Vec<Post>);

/// A request whose body has been read.
#[derive(Debug)]
struct Hooked {
    engine: Arc<Engine>,
    head: Request,
    body: Vec<u8>,
}

/// A container of Kubernetes that is there already.
#[derive(Clone, Debug)]
enum Known {
    Sandbox(String, Arc<Pod>),
    Container(Arc<Pod>, Arc<Container>),
}

impl Hooks {
    /// Whether calls have to be looked at.
    pub(crate) fn has_plugins(&self) -> bool {
        !self.active().is_empty()
    }

    /// Answers a hooked call, on a task apart from its client: what dockerd has done must be noted all the same.
    pub(crate) async fn docker(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        call: Call,
        head: Request,
        body: Vec<u8>,
    ) -> Vec<u8> {
        let (hooks, hooked) = (Arc::clone(self), Hooked { engine: Arc::clone(engine), head, body });
        let (reply, answer) = oneshot::channel();
        self.tasks.spawn(async move {
            let (answer, posts) = Box::pin(hooks.handle_docker(&hooked, call)).await;
            // The client may have hung up; what comes after concerns plugins.
            let _ = reply.send(answer);
            for post in posts {
                hooks.run_post(post).await;
            }
        });
        answer.await.unwrap_or_else(|_gone| refusal(StatusCode::INTERNAL_SERVER_ERROR, "the call was given up"))
    }

    async fn handle_docker(&self, call: &Hooked, which: Call) -> Handled {
        match which {
            Call::Create => self.docker_create(call).await,
            Call::Start(id) => self.docker_start(call, &id).await,
            Call::Update(id) => self.docker_update(call, &id).await,
            Call::Stop(id) => self.docker_stop(call, &id, false).await,
            Call::Remove(id) => self.docker_stop(call, &id, true).await,
        }
    }

    async fn docker_create(&self, call: &Hooked) -> Handled {
        let Ok(mut wanted) = serde_json::from_slice::<Value>(&call.body) else {
            let why = "the request is no JSON";
            let closed =
                [Hook::PreRunPodSandbox, Hook::PreCreateContainer].map(|hook| self.refusal_of_unknown(hook, why));
            return call.pass_unless(closed.into_iter().flatten().next()).await;
        };
        let (config, host) = (wanted.clone(), wanted.get("HostConfig").cloned().unwrap_or_default());
        let place = Place { config: &config, host: &host, name: call.name() };
        match place.role() {
            None => call.pass().await,
            Some(Role::Sandbox(pod)) => self.docker_run_pod(call, &mut wanted, *pod).await,
            Some(Role::Container(container)) => {
                let pod = match self.docker_pod(&call.engine, &container.pod_id).await {
                    Ok(Some(pod)) => pod,
                    // The labels say nearly all of it.
                    Ok(None) | Err(_) => Arc::new(place.pod(place.labels())),
                };
                self.docker_create_container(call, &mut wanted, &pod, container, &place.cgroup_parent()).await
            }
        }
    }

    async fn docker_run_pod(&self, call: &Hooked, wanted: &mut Value, pod: Pod) -> Handled {
        let (hook, fields) = (Hook::PreRunPodSandbox, pod.fields());
        let asked = Asked { hook, pod: &pod, container: None, fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask_within(asked, None).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        let answer = call.send_create(wanted, chain.changes()).await;
        if let Some(id) = answer.as_ref().ok().and_then(id_of) {
            let fields = chain.fields().clone();
            self.store.insert_pod(id, pod.with(&fields));
        }
        (given(answer), Vec::new())
    }

    async fn docker_create_container(
        &self,
        call: &Hooked,
        wanted: &mut Value,
        pod: &Pod,
        container: Container,
        cgroup_parent: &str,
    ) -> Handled {
        // What was changed for the pod is changed for its containers.
        let mut carried = Changes::new();
        if pod.cgroup_parent != cgroup_parent && chain::is_below(&pod.cgroup_parent, cgroup_parent) {
            carried.insert(Field::CgroupParent, Some(field::Value::Text(pod.cgroup_parent.clone())));
        }
        let mut fields = container.fields(cgroup_parent);
        field::apply(&mut fields, &carried);
        let hook = Hook::PreCreateContainer;
        let chain = match self
            .ask_within(Asked { hook, pod, container: Some(&container), fields, cgroup_parent }, None)
            .await
        {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        carried.extend(chain.changes().clone());
        let answer = call.send_create(wanted, &carried).await;
        if let Some(id) = answer.as_ref().ok().and_then(id_of) {
            let mut container = container.with(chain.fields());
            container.id = id;
            self.store.insert_container(container);
        }
        (given(answer), Vec::new())
    }

    async fn docker_start(&self, call: &Hooked, id: &str) -> Handled {
        let hook = Hook::PreStartContainer;
        if !self.is_asked(hook) && !self.is_asked(Hook::PostStartContainer) {
            return call.pass().await;
        }
        let (pod, container) = match self.docker_find(&call.engine, id).await {
            Ok(Some(Known::Container(pod, container))) => (pod, container),
            Ok(Some(Known::Sandbox(..)) | None) => return call.pass().await,
            Err(error) => return self.docker_unseen(call, hook, &error).await,
        };
        let fields = container.fields(&pod.cgroup_parent);
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask_within(asked, None).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        if let Err(status) = self.docker_update_first(call, &container.id, chain.changes()).await {
            return refused(&status);
        }
        let answer = call.send(&call.body).await;
        let is_started = answer.as_ref().is_ok_and(Answer::is_success);
        let container = if chain.changes().is_empty() {
            container
        } else {
            self.store.insert_container((*container).clone().with(chain.fields()))
        };
        let post =
            Post { pod_id: container.pod_id.clone(), hook: Hook::PostStartContainer, pod, container: Some(container) };
        (given(answer), is_started.then_some(post).into_iter().collect())
    }

    /// A start carries no resources, so they are changed by a call of their own before it.
    async fn docker_update_first(&self, call: &Hooked, id: &str, changes: &Changes) -> Result<(), Status> {
        if changes.is_empty() {
            return Ok(());
        }
        let Err(status) = call.engine.update(id, changes).await else { return Ok(()) };
        tracing::warn!(container = id, %status, "cannot change resources before the start");
        let closed = self.closed_at(Hook::PreStartContainer);
        closed.map_or(Ok(()), |plugin| {
            let why = format!("what plugin {plugin} changed at PreStartContainer is refused: {}", status.message());
            Err(Status::new(status.code(), why))
        })
    }

    async fn docker_update(&self, call: &Hooked, id: &str) -> Handled {
        let hook = Hook::PreUpdateContainerResources;
        let (pod, container) = match self.docker_find(&call.engine, id).await {
            Ok(Some(Known::Container(pod, container))) => (pod, container),
            Ok(Some(Known::Sandbox(..)) | None) => return call.pass().await,
            Err(error) => return self.docker_unseen(call, hook, &error).await,
        };
        let Ok(mut update) = serde_json::from_slice::<Value>(&call.body) else {
            return call.pass_unless(self.refusal_of_unknown(hook, "the request is no JSON")).await;
        };
        let mut fields = container.fields(&pod.cgroup_parent);
        fields.extend(config::resources(&update));
        let asked = Asked { hook, pod: &pod, container: Some(&container), fields, cgroup_parent: &pod.cgroup_parent };
        let chain = match self.ask_within(asked, None).await {
            Ok(chain) => chain,
            Err(status) => return refused(&status),
        };
        let answer = if chain.changes().is_empty() {
            call.send(&call.body).await
        } else {
            warn_of(&config::edit_update(&mut update, chain.changes()));
            call.send(update.to_string().as_bytes()).await
        };
        if answer.as_ref().is_ok_and(Answer::is_success) {
            let mut updated = (*container).clone();
            updated.resources = resources(chain.fields());
            self.store.insert_container(updated);
        }
        (given(answer), Vec::new())
    }

    /// A container that stops, or is removed and may have ended by itself: plugins are told once.
    async fn docker_stop(&self, call: &Hooked, id: &str, is_removed: bool) -> Handled {
        let Ok(Some(known)) = self.docker_find(&call.engine, id).await else { return call.pass().await };
        if let (Known::Sandbox(_, pod), true) = (&known, is_removed) {
            let (hook, fields, cgroup_parent) = (Hook::PreRemovePodSandbox, pod.fields(), pod.cgroup_parent.as_str());
            if let Err(status) =
                self.ask_within(Asked { hook, pod, container: None, fields, cgroup_parent }, None).await
            {
                return refused(&status);
            }
        }
        let answer = call.send(&call.body).await;
        let mut posts = Vec::new();
        if answer.as_ref().is_ok_and(Answer::is_done) {
            let (id, pod_id, pod, container, stopped, removed) = known.ended();
            let post =
                |hook| Post { pod_id: pod_id.clone(), hook, pod: Arc::clone(&pod), container: container.clone() };
            let is_told = self.is_asked(stopped) && self.store.mark_stopped(&id);
            posts.extend(is_told.then(|| post(stopped)));
            posts.extend((is_removed && self.is_asked(removed)).then(|| post(removed)));
            match (&container, is_removed) {
                (_, false) => {}
                (Some(_), true) => self.store.remove_container(&id),
                (None, true) => self.store.remove_pod(&id),
            }
        }
        (given(answer), posts)
    }

    /// A call whose container cannot be read.
    async fn docker_unseen(&self, call: &Hooked, hook: Hook, error: &EngineError) -> Handled {
        call.pass_unless(self.refusal_of_unknown(hook, &format!("the container cannot be read: {error}"))).await
    }

    async fn docker_pod(&self, engine: &Engine, id: &str) -> Result<Option<Arc<Pod>>, EngineError> {
        match self.docker_find(engine, id).await? {
            Some(Known::Sandbox(_, pod)) => Ok(Some(pod)),
            Some(Known::Container(..)) | None => Ok(None),
        }
    }

    /// What is known of a container, from dockerd if it is not here.
    async fn docker_find(&self, engine: &Engine, id: &str) -> Result<Option<Known>, EngineError> {
        if let Some(pod) = self.store.find_pod(id) {
            return Ok(Some(Known::Sandbox(id.to_owned(), pod)));
        }
        if let Some(container) = self.store.find_container(id) {
            let pod = match self.store.find_pod(&container.pod_id) {
                Some(pod) => pod,
                None => match Box::pin(self.docker_pod(engine, &container.pod_id)).await? {
                    Some(pod) => pod,
                    None => return Ok(None),
                },
            };
            return Ok(Some(Known::Container(pod, container)));
        }
        let path = format!("/containers/{id}/json");
        let Some(inspected) = engine.ask("GET", &path, None).await? else { return Ok(None) };
        let part = |name: &str| inspected.get(name).unwrap_or(&Value::Null);
        let id = part("Id").as_str().unwrap_or(id).to_owned();
        let place =
            Place { config: part("Config"), host: part("HostConfig"), name: part("Name").as_str().unwrap_or_default() };
        match place.role() {
            None => Ok(None),
            Some(Role::Sandbox(pod)) => Ok(Some(Known::Sandbox(id.clone(), self.store.insert_pod(id, *pod)))),
            Some(Role::Container(container)) => {
                let pod = Box::pin(self.docker_pod(engine, &container.pod_id)).await?;
                let pod = pod.unwrap_or_else(|| Arc::new(place.pod(place.labels())));
                let container = self.store.insert_container(Container { id, ..container });
                Ok(Some(Known::Container(pod, container)))
            }
        }
    }
}

impl Known {
    /// Its id, its pod's, both, and the hooks that tell of its end.
    fn ended(self) -> (String, String, Arc<Pod>, Option<Arc<Container>>, Hook, Hook) {
        match self {
            Self::Sandbox(id, pod) => (id.clone(), id, pod, None, Hook::PostStopPodSandbox, Hook::PostRemovePodSandbox),
            Self::Container(pod, container) => {
                let (id, pod_id) = (container.id.clone(), container.pod_id.clone());
                (id, pod_id, pod, Some(container), Hook::PostStopContainer, Hook::PostRemoveContainer)
            }
        }
    }
}

impl Hooked {
    /// The name that the container is to have.
    fn name(&self) -> &str {
        let query = self.head.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').find_map(|pair| pair.strip_prefix("name=")).unwrap_or_default()
    }

    /// Sends it on as it came, if nothing refuses it.
    async fn pass_unless(&self, refusal: Option<Status>) -> Handled {
        match refusal {
            Some(status) => refused(&status),
            None => self.pass().await,
        }
    }

    async fn pass(&self) -> Handled {
        (given(self.send(&self.body).await), Vec::new())
    }

    async fn send(&self, body: &[u8]) -> Result<Answer, EngineError> {
        self.engine.send(self.head.clone(), body).await
    }

    async fn send_create(&self, wanted: &mut Value, changes: &Changes) -> Result<Answer, EngineError> {
        if changes.is_empty() {
            return self.send(&self.body).await;
        }
        warn_of(&config::edit_create(wanted, changes));
        self.send(wanted.to_string().as_bytes()).await
    }
}

fn warn_of(left: &[Field]) {
    for field in left {
        tracing::warn!(%field, "plugin changed a field that the Docker API has no place for; it stays as it is");
    }
}

fn id_of(answer: &Answer) -> Option<String> {
    let made: Value = serde_json::from_slice(&answer.body).ok().filter(|_| answer.is_success())?;
    Some(made.get("Id")?.as_str()?.to_owned())
}

fn given(answer: Result<Answer, EngineError>) -> Vec<u8> {
    match answer {
        Ok(answer) => answer.bytes,
        Err(error) => refusal(StatusCode::BAD_GATEWAY, &reeve_process::error_chain(&error)),
    }
}

fn refused(status: &Status) -> Handled {
    let code = match status.code() {
        Code::PermissionDenied | Code::FailedPrecondition => StatusCode::FORBIDDEN,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (refusal(code, status.message()), Vec::new())
}
