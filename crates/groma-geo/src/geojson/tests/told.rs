//! How faults are told.

use super::*;

#[test]
fn a_bad_feature_does_not_hold_back_the_next() {
    let good = |id: &str| with_id(id);
    let bad = r#"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,"x",{"y":[1]}]},"properties":{}}"#;
    let text = format!(
        r#"{{"features":[{},{bad},{},3,{}],"type":"FeatureCollection"}}"#,
        good("1"),
        good("2"),
        good("3"),
    );
    let mut ids = Vec::new();
    let outcome = read(text.as_bytes(), &Options::default(), |feature| {
        ids.push((feature.external_id.clone().unwrap(), feature.pointer()));
        Ok::<_, Infallible>(())
    });
    assert_eq!(
        ids,
        [("1", 0), ("2", 2), ("3", 4)]
            .map(|(id, index)| { (id.to_owned(), format!("/features/{index}")) })
    );
    let Err(ReadError::Refused(spots)) = outcome else { panic!("{outcome:?}") };
    let pointers: Vec<&str> = spots.iter().map(|spot| spot.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/1/geometry/coordinates/1", "/features/3"]);
}

#[test]
fn twenty_faults_are_enough() {
    let text =
        format!(r#"{{"type":"FeatureCollection","features":[{}]}}"#, vec!["0"; 50].join(","));
    let spots = spots(text.as_bytes());
    assert_eq!(spots.len(), MAX_SPOTS);
    assert_eq!(spots[19].pointer, "/features/19");
}

#[test]
fn broken_text_is_told_after_the_faults_before_it() {
    let spots = spots(&br#"{"type":"FeatureCollection","features":[0,{"type":"Feature","#[..]);
    let pointers: Vec<&str> = spots.iter().map(|spot| spot.pointer.as_str()).collect();
    assert_eq!(pointers, ["/features/0", "/features/1"]);
}

#[test]
fn what_is_repeated_to_the_sender_is_short() {
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
        let spot = spots(text.as_bytes()).remove(0);
        assert!(spot.pointer.len() < 200 && spot.message.len() < 200, "{spot:?}");
    }
}

#[test]
fn failing_input_is_no_fault_of_the_document() {
    struct Fails;
    impl io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 64 MiB"))
        }
    }
    let text = io::Read::chain(&br#"{"type":"FeatureCollection","features":[0,"#[..], Fails);
    match read(text, &Options::default(), |_| Ok::<_, Infallible>(())) {
        Err(ReadError::Input(error)) => assert_eq!(error.kind(), io::ErrorKind::FileTooLarge),
        other => panic!("{other:?}"),
    }
}

#[test]
fn features_are_handed_on_while_the_rest_is_still_to_come() {
    let endless = repeated(
        r#"{"type":"FeatureCollection","features":[*"#,
        &with_properties("null"),
        usize::MAX,
    );
    let mut count = 0;
    let outcome = read(endless, &Options::default(), |_| {
        count += 1;
        if count == 10_000 { Err("enough") } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(ReadError::Stopped("enough"))), "{outcome:?}");
}
