use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{fields, markdown};
use crate::definitions;

#[test]
fn the_checked_in_page_is_what_the_types_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/crds.md");
    let page = markdown(&definitions::all().unwrap()).unwrap();
    assert!(fs::read_to_string(file).unwrap() == page, "docs/crds.md is stale: run `make crds`");
}

#[test]
fn a_field_has_its_type_default_limits_and_text() {
    let schema = json!({
        "required": ["a"],
        "properties": {
            "a": { "type": "string", "minLength": 1, "maxLength": 63, "description": "A | <B." },
            "b": { "type": "integer", "minimum": 0, "maximum": 2_147_483_647, "default": 8, "description": "B. Default: 8." },
            "c": {
                "type": "array", "maxItems": 3, "description": "C.",
                "items": {
                    "type": "object",
                    "properties": { "d": { "type": "string", "enum": ["X", "Y"], "description": "D.\n\nX: x." } },
                    "x-kubernetes-validations": [{ "rule": "true", "message": "write d" }],
                },
            },
            "e": { "type": "object", "maxProperties": 2, "additionalProperties": { "type": "string" }, "description": "E." },
        },
    });
    let (mut text, mut rules) = (String::new(), Vec::new());
    fields(&schema, "spec", &mut text, &mut rules);
    let wanted = "\
| `spec.a` | string |  | required, 1 to 63 characters | A \\| &lt;B. |
| `spec.b` | integer | `8` | at least 0 | B. |
| `spec.c` | list of object |  | at most 3 items | C. |
| `spec.c[].d` | enum |  | `X` `Y` | D.<br>X: x. |
| `spec.e` | map of string |  | at most 2 keys | E. |
";
    assert_eq!(text, wanted);
    assert_eq!(rules, [("spec.c[]".to_owned(), "write d".to_owned())]);
}

#[test]
fn every_field_of_every_kind_is_on_the_page() {
    let crds = definitions::all().unwrap();
    let page = markdown(&crds).unwrap();
    for crd in &crds {
        let kind = &crd.spec.names.kind;
        let (_, rest) = page.split_once(&format!("\n## {kind}\n")).unwrap();
        let section = rest.split("\n## ").next().unwrap();
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        for part in ["spec", "status"] {
            let fields = schema.pointer(&format!("/openAPIV3Schema/properties/{part}/properties"));
            for name in fields.and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys()) {
                assert!(section.contains(&format!("| `{part}.{name}` |")), "{kind} has no {part}.{name}");
            }
        }
    }
}
