//! Refuses schemas that lead back to themselves without going deeper into the value, and chains of them that are too
//! long: a check of either would never end, or not on this stack.

use crate::diagnostic::Diagnostic;

use super::locate::Catalog;
use super::rule::{Body, Compiled, Id};

/// How many schemas may look at the same value, one inside the other.
const LONGEST: u16 = 100;

/// How many cycles are shown.
const CIRCLES: usize = 20;

/// How many schemas of a cycle are shown.
const SHOWN: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done { chain: u16 },
}

/// Looks at all schemas. Without recursion: the chains are what is being measured.
pub(super) fn find(catalog: &mut Catalog<'_>, schemas: &[Compiled]) {
    let mut states = vec![State::New; schemas.len()];
    let mut circles = 0;
    for start in 0..schemas.len() {
        if states[start] == State::New && circles < CIRCLES {
            walk(catalog, schemas, &mut states, start, &mut circles);
        }
    }
}

fn below(schemas: &[Compiled], id: Id) -> Vec<Id> {
    match schemas.get(id).map(|schema| &schema.body) {
        Some(Body::Rules(rules)) => rules.iter().flat_map(|rule| rule.demand.in_place()).collect(),
        Some(Body::Anything | Body::Nothing) | None => Vec::new(),
    }
}

fn walk(catalog: &mut Catalog<'_>, schemas: &[Compiled], states: &mut [State], start: Id, circles: &mut usize) {
    // A schema, those below it that were not looked at yet, and the longest chain of those that were.
    let mut open: Vec<(Id, Vec<Id>, u16)> = vec![(start, below(schemas, start), 0)];
    states[start] = State::Open;
    while let Some((id, left, chain)) = open.last_mut() {
        let id = *id;
        let Some(next) = left.pop() else {
            let chain = chain.saturating_add(1);
            open.pop();
            states[id] = State::Done { chain };
            if let Some((_, _, longest)) = open.last_mut() {
                *longest = (*longest).max(chain);
            }
            if chain == LONGEST + 1 {
                let message = format!("more than {LONGEST} schemas apply to one value, one inside the other");
                catalog.report(finding(catalog, schemas, id, "schema-limit", message));
            }
            continue;
        };
        match states.get(next).copied() {
            Some(State::New) => {
                states[next] = State::Open;
                open.push((next, below(schemas, next), 0));
            }
            Some(State::Done { chain: known }) => *chain = (*chain).max(known),
            Some(State::Open) if *circles >= CIRCLES => return,
            Some(State::Open) => {
                *circles += 1;
                let cycle: Vec<Id> = open.iter().map(|(id, ..)| *id).skip_while(|id| *id != next).collect();
                let finding = in_circles(catalog, schemas, &cycle);
                catalog.report(finding);
            }
            None => {}
        }
    }
}

fn in_circles(catalog: &Catalog<'_>, schemas: &[Compiled], cycle: &[Id]) -> Diagnostic {
    let name = |id: Id| {
        let path = catalog.path(id).to_string();
        if path.is_empty() { "the root".to_owned() } else { path }
    };
    let first = cycle.first().copied().unwrap_or_default();
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(|id| name(*id)).collect();
    if cycle.len() > SHOWN {
        names.push(format!("{} more", cycle.len() - SHOWN));
    }
    names.push(name(first));
    let message = format!("the schema leads back to itself: {}", names.join(" -> "));
    finding(catalog, schemas, cycle.last().copied().unwrap_or(first), "schema-cycle", message)
        .help("a schema may refer to itself only from below `properties`, `items` and the like")
}

fn finding(catalog: &Catalog<'_>, schemas: &[Compiled], id: Id, code: &'static str, message: String) -> Diagnostic {
    let finding = Diagnostic::error(code, message).key(catalog.path(id));
    match schemas.get(id) {
        Some(schema) => finding.at(schema.span.in_file(&catalog.file)),
        None => finding,
    }
}
