//! Containers that run under dockerd, for hooks that change.

use std::sync::Arc;

use serde_json::{Map, Value};
use tonic::Status;

use super::{Hooks, Known, warn_of};
use crate::docker::{Engine, EngineError, config};
use crate::field::Changes;
use crate::hooks::running::RunningContainers;
use crate::subject::{Container, Pod};

/// Running containers of pods, without their sandboxes: `{"label":["io.kubernetes.docker.type=container"]}`.
const LIST: &str = "/containers/json?filters=%7B%22label%22%3A%5B%22io.kubernetes.docker.type%3Dcontainer%22%5D%7D";

impl RunningContainers for Engine {
    async fn list(&self) -> Result<Vec<String>, Status> {
        let listed = self.ask("GET", LIST, None).await.map_err(|error| unavailable(&error))?.unwrap_or_default();
        let ids = listed.as_array().into_iter().flatten().filter_map(|container| container.get("Id")?.as_str());
        Ok(ids.map(str::to_owned).collect())
    }

    async fn find(&self, hooks: &Hooks, id: &str) -> Result<Option<(Arc<Pod>, Arc<Container>)>, Status> {
        match hooks.docker_find(self, id).await.map_err(|error| unavailable(&error))? {
            Some(Known::Container(pod, container)) => Ok(Some((pod, container))),
            Some(Known::Sandbox(..)) | None => Ok(None),
        }
    }

    async fn update(&self, id: &str, changes: &Changes) -> Result<(), Status> {
        let mut update = Value::Object(Map::new());
        warn_of(&config::edit_update(&mut update, changes));
        let asked = self.ask("POST", &format!("/containers/{id}/update"), Some(&update)).await;
        asked.map(drop).map_err(|error| unavailable(&error))
    }
}

fn unavailable(error: &EngineError) -> Status {
    Status::unavailable(reeve_process::error_chain(error))
}
