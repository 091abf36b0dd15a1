use super::*;

#[test]
fn by_routes_the_services_slices_stay_and_nothing_is_trusted_before_the_routes_are_followed() {
    let settle = Duration::from_secs(20);
    let by_routes = || Observed { routes_settle: Some(settle), direct_pods: 3, ..captured() };
    let mut machine = machine(TrafficMode::Entering, at(0));
    let seen = Observed { capture: Extent::None, ..by_routes() };
    assert_eq!(step(&mut machine, &seen, at(0)), [Effect::Capture], "pods in the Services' slices are in nobody's way");
    assert_eq!(step(&mut machine, &by_routes(), at(1))[0], Effect::Probe);
    machine.step(Event::Probed { proven: true }, at(20));
    assert_eq!(step(&mut machine, &by_routes(), at(20)), turned(TrafficMode::Proxied));

    let leave = Policy { intent: Intent::Leave { finish: true }, ..direct().policy };
    let seen = Observed { policy: leave, ..by_routes() };
    assert_eq!(step(&mut machine, &seen, at(21)), turned(TrafficMode::HandingOver));
    assert_eq!(step(&mut machine, &seen, at(21)), [Effect::Release]);
    let released = Observed { capture: Extent::None, ..seen };
    assert_eq!(step(&mut machine, &released, at(22)), turned(TrafficMode::Untouched), "what the doors have stays");
    assert_eq!(step(&mut machine, &released, at(22)), [Effect::LookAt(at(42))], "proxies may still lead here");
    assert_eq!(step(&mut machine, &released, at(42)), [Effect::Finish]);
    let recovered = Machine::recover(None, None, &released, at(43));
    assert_eq!(recovered.mode(), TrafficMode::Direct);
}
