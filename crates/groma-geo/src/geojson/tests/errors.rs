//! How errors are reported.

use super::*;

#[test]
fn invalid_feature_does_not_affect_the_next() {
    let invalid = r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,"x",{"y":[1]}]},"properties":{}}"#;
    let text = format!(
        r#"{{"features":[{},{invalid},{},3,{}],"type":"FeatureCollection"}}"#,
        with_id("1"),
        with_id("2"),
        with_id("3"),
    );
    let mut ids = Vec::new();
    let result = read(text.as_bytes(), &Options::default(), |feature| {
        ids.push((feature.external_id.clone().unwrap(), feature.pointer()));
        Ok::<_, Infallible>(())
    });
    assert_eq!(
        ids,
        [("1", 0), ("2", 2), ("3", 4)]
            .map(|(id, index)| { (id.to_owned(), format!("/features/{index}")) })
    );
    let Err(ReadError::Invalid(errors)) = result else { panic!("{result:?}") };
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/1/geometry/coordinates/1", "/features/3"]);
}

#[test]
fn reading_stops_after_twenty_errors() {
    let text =
        format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, vec!["0"; 50].join(","));
    let errors = errors(text.as_bytes());
    assert_eq!(errors.len(), MAX_ERRORS);
    assert_eq!(errors[19].pointer, "/features/19");
}

#[test]
fn syntax_error_is_reported_after_earlier_errors() {
    let errors = errors(&br#"{"type":"FeatureCollection","features":[0,{"type":"Feature","#[..]);
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/0", "/features/1"]);
}

#[test]
fn quoted_text_is_truncated() {
    let long = "x".repeat(15_000);
    let r#type = format!(r#"{{"type":"{long}"}}"#);
    let crs = format!(r#"{{"crs":{{"type":"name","properties":{{"name":"{long}"}}}}}}"#);
    let key = with_properties(&format!(r#"{{"{long}":{{"a":1,"a":1}}}}"#));
    let id = format!(
        r#"{{"features":[{},{}],"type":"FeatureCollection"}}"#,
        with_id(&format!("\"{}\"", "x".repeat(255))),
        with_id(&format!("\"{}\"", "x".repeat(255))),
    );
    for text in [r#type, crs, key, id] {
        let error = errors(text.as_bytes()).remove(0);
        assert!(error.pointer.len() < 200 && error.message.to_string().len() < 200, "{error:?}");
    }
}

#[test]
fn input_error_is_not_a_document_error() {
    struct FailingReader;
    impl io::Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB"))
        }
    }
    let text =
        io::Read::chain(&br#"{"type":"FeatureCollection","features":[0,"#[..], FailingReader);
    match read(text, &Options::default(), |_| Ok::<_, Infallible>(())) {
        Err(ReadError::Input(error)) => assert_eq!(error.kind(), io::ErrorKind::FileTooLarge),
        other => panic!("{other:?}"),
    }
}

#[test]
fn features_are_passed_on_while_the_document_is_read() {
    let endless = repeated(
        r#"{"type":"FeatureCollection","features":[*"#,
        &with_properties("null"),
        usize::MAX,
    );
    let mut count = 0;
    let result = read(endless, &Options::default(), |_| {
        count += 1;
        if count == 10_000 { Err("enough") } else { Ok(()) }
    });
    assert!(matches!(result, Err(ReadError::Stopped("enough"))), "{result:?}");
}
