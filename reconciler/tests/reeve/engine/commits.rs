//! Commits that cannot be used.

use reeve_crds::{GitSource, State};
use reeve_tests::until;

use super::scene::{Scene, config};

impl Scene {
    async fn refuses(&self, reason: &str) -> GitSource {
        let is_refused = |source: &GitSource| {
            let status = source.status.clone().unwrap_or_default();
            status.state == Some(State::Warning) && status.rejected.is_some_and(|rejected| rejected.reason == reason)
        };
        until(&self.api::<GitSource>(), "fleet", "the commit is refused", is_refused).await
    }
}

#[tokio::test]
async fn a_bad_commit_changes_nothing_and_the_last_good_one_stays_in_force() {
    let scene = Scene::new("bad").await;
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let reeve = scene.reeve();
    scene.applied(&first).await;

    scene.component("web", "1.1.0", "a: {{ Values.missing }}\n");
    let bad = scene.push();
    let source = scene.refuses("Invalid").await.status.unwrap();
    let rejected = source.rejected.unwrap();
    assert_eq!(rejected.commit.as_deref(), Some(bad.as_str()));
    assert!(rejected.message.contains("charts/web/1.1.0/templates/all.yaml.j2:1"), "{}", rejected.message);
    assert_eq!(source.commit.unwrap().id, first.as_str());
    scene.meddle("settings", "hand").await;
    scene.comes_to_say("settings", "one").await;

    reeve.terminate().await;
    let _reeve = scene.reeve();
    scene.meddle("settings", "hand").await;
    scene.comes_to_say("settings", "one").await;
    scene.refuses("Invalid").await;

    scene.component("web", "1.2.0", &config("settings", "two"));
    let good = scene.push();
    scene.applied(&good).await;
    let is_fine = |source: &GitSource| {
        let status = source.status.clone().unwrap_or_default();
        status.state == Some(State::Ready) && status.rejected.is_none()
    };
    until(&scene.api::<GitSource>(), "fleet", "it is fine again", is_fine).await;
}

#[tokio::test]
async fn a_released_chart_does_not_change() {
    let scene = Scene::new("released").await;
    scene.component("web", "1.0.0", &config("settings", "one"));
    let first = scene.push();
    scene.follow().await;
    let _reeve = scene.reeve();
    scene.applied(&first).await;
    scene.chart("web", "1.0.0", &config("settings", "two"));
    scene.push();
    scene.refuses("ReleasedChartChanged").await;
    assert_eq!(scene.says("settings").await.unwrap(), "one");
}
