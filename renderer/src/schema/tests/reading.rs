use super::*;

/// All findings, each as `line:column code key: message (help)`.
fn findings(text: &str) -> Vec<String> {
    let findings = match Schema::read(&file(), text) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    findings
        .iter()
        .map(|finding| {
            let location = finding.location.as_ref().expect("a location");
            let key = finding.key.as_deref().unwrap_or("-");
            let help = finding.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
            format!("{}:{} {} {key}: {}{help}", location.line, location.column, finding.code, finding.message)
        })
        .collect()
}

fn one(text: &str, expected: &str) {
    assert_eq!(findings(text), [expected], "{text}");
}

fn refused(text: &str) -> bool {
    Schema::read(&file(), text).is_err()
}

#[test]
fn text_that_is_not_json_is_refused_with_its_place() {
    one("{\"a\": 1,\n \"é\" 2}", "2:6 schema-syntax -: this is not JSON: expected `:`");
    one("", "1:1 schema-syntax -: this is not JSON: EOF while parsing a value");
    one("{\"a\": 1e999}", "1:7 schema-syntax -: this number is too large");
    one("{\"a\": \"\\ud800\"}", "1:7 schema-syntax -: this text holds half a character");
    one("{\"a\": 1, \"a\": 2}", "1:10 schema-duplicate-key -: `a` is there twice (keep one of the two)");
}

#[test]
fn all_of_json_is_read() {
    let text = "\u{feff}{\n\t\"const\": [1e3, -0, 1.5E-2, \"\\ud83d\\ude00\\u007f\\/\", true, null, {}, []],\n\t\"$comment\"\n:\n1}";
    let (schema, _) = Schema::read(&file(), text).expect("JSON");
    assert_eq!(schema.check(&value(&json!([1000, 0, 0.015, "😀\u{7f}/", true, null, {}, []]))), []);
}

#[test]
fn keywords_of_the_wrong_kind_are_refused_with_what_they_must_be() {
    let cases = [
        (
            "{\"type\": 3}",
            "1:10 schema-keyword type: `type` must be the name of a type or a list of them, not a whole number",
        ),
        ("{\"type\": \"int\"}", "1:10 schema-keyword type: `type` names no type: `int` (did you mean `integer`?)"),
        (
            "{\"type\": [\"string\", \"strin\"]}",
            "1:21 schema-keyword type: `type` names no type: `strin` (did you mean `string`?)",
        ),
        (
            "{\"type\": \"quux\"}",
            "1:10 schema-keyword type: `type` names no type: `quux` (the types are null, boolean, integer, number, string, array, object)",
        ),
        ("{\"required\": \"x\"}", "1:14 schema-keyword required: `required` must be a list of names, not text"),
        ("{\"required\": [1]}", "1:15 schema-keyword required[0]: `required` must hold names, not a whole number"),
        (
            "{\"properties\": {\"a\": {\"minLength\": -1}}}",
            "1:36 schema-keyword properties.a.minLength: `minLength` must be a whole number from 0",
        ),
        ("{\"properties\": []}", "1:16 schema-keyword properties: `properties` must be a map of schemas, not a list"),
        (
            "{\"properties\": {\"a\": 3}}",
            "1:22 schema-keyword properties.a: a schema must be a map, true or false, not a whole number",
        ),
        ("{\"allOf\": []}", "1:11 schema-keyword allOf: `allOf` must not be empty"),
        ("{\"allOf\": {}}", "1:11 schema-keyword allOf: `allOf` must be a list of schemas, not a map"),
        ("{\"multipleOf\": 0}", "1:16 schema-keyword multipleOf: `multipleOf` must be larger than 0"),
        (
            "{\"minimum\": 1, \"exclusiveMinimum\": true}",
            "1:36 schema-keyword exclusiveMinimum: `exclusiveMinimum` must be a number, not a boolean (draft 4 wrote it so; now the bound stands here instead of in `minimum`)",
        ),
        ("{\"enum\": 1}", "1:10 schema-keyword enum: `enum` must be a list of values, not a whole number"),
        (
            "{\"uniqueItems\": 1}",
            "1:17 schema-keyword uniqueItems: `uniqueItems` must be true or false, not a whole number",
        ),
        (
            "{\"dependentRequired\": {\"a\": [\"b\", 2]}}",
            "1:35 schema-keyword dependentRequired.a[1]: `a` must hold names, not a whole number",
        ),
        ("[]", "1:1 schema-keyword -: a schema must be a map, true or false, not a list"),
    ];
    for (text, expected) in cases {
        one(text, expected);
        assert!(refused(text), "{text}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    assert_eq!(
        findings("{\"properties\": {\"a\": {\"type\": 3},\n \"b\": {\"pattern\": \"(\"}}, \"requried\": []}"),
        [
            "1:31 schema-keyword properties.a.type: `type` must be the name of a type or a list of them, not a whole number",
            "2:19 schema-pattern properties.b.pattern: the pattern cannot be read: unclosed group",
            "2:26 schema-unknown-keyword requried: `requried` is no keyword, and has no effect (did you mean `required`?)"
        ]
    );
}

#[test]
fn an_unknown_draft_is_refused() {
    one(
        "{\"$schema\": \"http://json-schema.org/draft-03/schema#\"}",
        "1:13 schema-draft $schema: `$schema` names no draft that is known here (use https://json-schema.org/draft/2020-12/schema or http://json-schema.org/draft-07/schema#)",
    );
}

#[test]
fn keywords_that_do_nothing_are_warned_of_and_own_words_are_not() {
    one(
        "{\"propeties\": {}}",
        "1:2 schema-unknown-keyword propeties: `propeties` is no keyword, and has no effect (did you mean `properties`?)",
    );
    one(
        "{\"items\": {\"additionalPropeties\": false}}",
        "1:12 schema-unknown-keyword items.additionalPropeties: `additionalPropeties` is no keyword, and has no effect (did you mean `additionalProperties`?)",
    );
    one(
        "{\"$schema\": \"http://json-schema.org/draft-07/schema\", \"prefixItems\": []}",
        "1:55 schema-unknown-keyword prefixItems: `prefixItems` has no effect in draft 7 (it exists since 2020-12: name a later `$schema`, or none)",
    );
    one(
        "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"additionalItems\": false}",
        "1:61 schema-unknown-keyword additionalItems: `additionalItems` has no effect in 2020-12",
    );
    let own =
        "{\"x-required\": 1, \"note\": 1, \"example\": 1, \"id\": 1, \"nullable\": true, \"form\": {}, \"name\": 1}";
    assert_eq!(findings(own), Vec::<String>::new());
    assert!(!refused("{\"propeties\": {}}"));
}

#[test]
fn patterns_that_cannot_be_used_are_refused() {
    one(
        "{\"pattern\": \"^(?!a)\"}",
        "1:13 schema-pattern pattern: the pattern looks ahead or behind, which is not supported (write it as several patterns under `allOf`, with `not` for what must not match)",
    );
    one(
        "{\"patternProperties\": {\"(a)\\\\1\": {}}}",
        "1:24 schema-pattern patternProperties.\"(a)\\\\1\": the pattern refers back to a group, which is not supported",
    );
    assert!(findings("{\"pattern\": \"(a{1000}){1000}\"}")[0].contains("too large"));
}

#[test]
fn references_that_lead_nowhere_are_refused_with_what_was_meant() {
    one(
        "{\"$defs\": {\"image\": {}}, \"properties\": {\"a\": {\"$ref\": \"#/$defs/imgae\"}}}",
        "1:55 schema-reference properties.a.$ref: `#/$defs/imgae` leads nowhere: `$defs` has no `imgae` (did you mean `#/$defs/image`?)",
    );
    one(
        "{\"$ref\": \"https://example.org/x.json#/a\"}",
        "1:10 schema-reference $ref: `https://example.org/x.json#/a` is outside this file (only references within the file work: copy the definition under `$defs` and write `#/$defs/<name>`)",
    );
    one(
        "{\"items\": {\"$anchor\": \"port\"}, \"contains\": {\"$ref\": \"#prot\"}}",
        "1:53 schema-reference contains.$ref: `#prot` leads nowhere: the file has no anchor `prot` (did you mean `#port`?)",
    );
    one("{\"$ref\": \"#/a~\"}", "1:10 schema-reference $ref: `#/a~` has an escape that means nothing");
    one("{\"$ref\": 1}", "1:10 schema-keyword $ref: `$ref` must be text, not a whole number");
}

#[test]
fn references_in_circles_are_refused_unless_they_go_deeper() {
    let help = " (a schema may refer to itself only from below `properties`, `items` and the like)";
    one(
        "{\"$ref\": \"#\"}",
        &format!("1:1 schema-cycle -: the schema leads back to itself: the root -> the root{help}"),
    );
    one(
        "{\"$defs\": {\"a\": {\"allOf\": [{\"$ref\": \"#/$defs/b\"}]}, \"b\": {\"not\": {\"$ref\": \"#/$defs/a\"}}}}",
        &format!(
            "1:59 schema-cycle $defs.b.not: the schema leads back to itself: $defs.a -> $defs.a.allOf[0] -> $defs.b -> $defs.b.not -> $defs.a{help}"
        ),
    );
    for keyword in ["anyOf", "oneOf"] {
        assert!(refused(&format!("{{\"{keyword}\": [{{\"$ref\": \"#\"}}]}}")), "{keyword}");
    }
    for keyword in ["if", "not"] {
        assert!(refused(&format!("{{\"{keyword}\": {{\"$ref\": \"#\"}}}}")), "{keyword}");
    }
    assert!(refused("{\"if\": true, \"then\": {\"$ref\": \"#\"}}"));
    assert!(refused("{\"dependentSchemas\": {\"a\": {\"$ref\": \"#\"}}}"));
    for deeper in ["items", "additionalProperties", "contains", "propertyNames", "unevaluatedItems"] {
        assert!(!refused(&format!("{{\"{deeper}\": {{\"$ref\": \"#\"}}}}")), "{deeper}");
    }
}

#[test]
fn an_address_that_is_too_long_is_refused() {
    let text = format!("{{\"$id\": \"{}\"}}", "a/".repeat(3000));
    one(&text, "1:9 schema-keyword $id: `$id` must not lead to an address of more than 4096 bytes");
}

#[test]
fn two_schemas_of_one_name_are_refused() {
    let same = "is the same as that of another schema in this file";
    one(
        "{\"$defs\": {\"a\": {\"$anchor\": \"x\"}, \"b\": {\"$anchor\": \"x\"}}}",
        &format!("1:52 schema-keyword $defs.b.$anchor: `$anchor` {same}"),
    );
    one(
        "{\"$defs\": {\"a\": {\"$id\": \"x\"}, \"b\": {\"$id\": \"x\"}}}",
        &format!("1:44 schema-keyword $defs.b.$id: `$id` {same}"),
    );
}
