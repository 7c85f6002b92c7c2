//! Limits of what slow and hostile clients can occupy: time, memory, connections, uploads.

use crate::{
    on_both_engines,
    web::{Browser, password},
};
use groma_testkit::{
    API, Client, Engine, Response, TestServer,
    http::percent_encode,
    server::{ADMIN_LISTENER, NO_RATE_LIMIT, OWNER, WORKSPACE},
    wait::{PATIENCE, wait_until},
};
use std::{
    io::{BufReader, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream, UdpSocket},
    time::Duration,
};

const BODY_SECONDS: (&str, &str) = ("GROMA_LIMITS__BODY_SECONDS", "1");
const PROXY: (&str, &str) = ("GROMA_SERVER__TRUSTED_PROXIES", "127.0.0.1");
const TOO_SLOW: &str = "The body was not received in time";

/// The head of a login form of a stranger at this address.
fn login_head(client: &Client, address: &str, length: usize) -> String {
    let authority = client.authority();
    format!(
        "POST /login HTTP/1.1\r\nHost: {authority}\r\nOrigin: http://{authority}\r\n\
         X-Forwarded-For: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Sends the beginning of a login form of 62,000 bytes.
fn begin_login(client: &Client, address: &str, sent: usize) -> TcpStream {
    let mut stream = client.connect();
    stream.write_all(login_head(client, address, 62_000).as_bytes()).unwrap();
    stream.write_all(&vec![b'a'; sent]).unwrap();
    stream
}

/// The response, if the server has sent it.
fn early_response(stream: &TcpStream) -> Option<Response> {
    response_within(stream, Duration::from_millis(1))
}

fn response_within(stream: &TcpStream, time: Duration) -> Option<Response> {
    stream.set_read_timeout(Some(time)).unwrap();
    let is_there = stream.peek(&mut [0]).is_ok();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    is_there.then(|| Response::read(&mut BufReader::new(stream)))
}

/// Opens connections until the server rejects one. The others stay open.
fn open_until_rejected(open: impl Fn() -> TcpStream) -> (Vec<TcpStream>, Response) {
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let stream = open();
        if let Some(response) = response_within(&stream, Duration::from_secs(2)) {
            return (stalled, response);
        }
        stalled.push(stream);
    }
    panic!("no connection was rejected");
}

/// The head of a GeoJSON post.
fn post_head(token: &str, length: usize) -> String {
    format!(
        "POST {API}/geometries/geojson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Begins to post a large body.
fn begin_post(server: &TestServer, token: &str) -> TcpStream {
    let mut stream = server.geo().connect();
    stream.write_all(post_head(token, 1 << 20).as_bytes()).unwrap();
    stream.write_all(&vec![b' '; 100 << 10]).unwrap();
    stream
}

/// A point with spaces after it.
fn point(length: usize) -> Vec<u8> {
    let mut body = br#"{"type":"Point","coordinates":[2.0,48.0]}"#.to_vec();
    body.resize(length, b' ');
    body
}

/// Sends pieces until all are sent or the server responds.
fn send_slowly(mut stream: TcpStream, body: &[u8], piece: usize) -> Response {
    for piece in body.chunks(piece) {
        if let Some(response) = early_response(&stream) {
            return response;
        }
        if stream.write_all(piece).is_err() {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    Response::read(&mut BufReader::new(stream))
}

#[test]
fn form_has_a_total_deadline() {
    let server = TestServer::start_with(Engine::Sqlite, &[BODY_SECONDS]);
    let stalled = begin_login(server.main(), "192.0.2.1", 100);
    let response = Response::read(&mut BufReader::new(stalled));
    assert_eq!(response.status, 408);
    assert_eq!(response.header("connection"), Some("close"));
    // A form that never pauses has the same deadline.
    let dripping = begin_login(server.main(), "192.0.2.1", 100);
    assert_eq!(send_slowly(dripping, &[b'a'; 50_000], 10).status, 408);
}

#[test]
fn upload_must_keep_its_pace() {
    let rate = ("GROMA_LIMITS__MIN_UPLOAD_RATE", "20000");
    let server = TestServer::start_with(Engine::Sqlite, &[BODY_SECONDS, rate]);
    let token = server.create_token(&[]);
    let post = |length: usize| {
        let mut stream = server.geo().connect();
        stream.write_all(post_head(&token, length).as_bytes()).unwrap();
        stream
    };
    // 200 bytes per second at most.
    send_slowly(post(10_000), &point(10_000), 10).assert_error(400, TOO_SLOW);
    let mut paused = post(200_000);
    paused.write_all(&point(100_000)).unwrap();
    Response::read(&mut BufReader::new(paused)).assert_error(400, TOO_SLOW);
    // Longer than the deadline of forms, at a sufficient rate.
    assert_eq!(send_slowly(post(300_000), &point(300_000), 10_000).status, 200);
}

#[test]
fn forms_of_strangers_are_small() {
    let server = TestServer::start_with(Engine::Sqlite, &[]);
    let stranger = Browser::new(server.main());
    let fill = |length: usize| "x".repeat(length);
    let accepted = stranger.log_in(OWNER, &fill(60_000));
    assert_eq!(accepted.response.status, 400, "{}", accepted.text);
    assert_eq!(stranger.log_in(OWNER, &fill(64 << 10)).response.status, 413);
    let member = Browser::of_owner(&server);
    let description = fill(100_000);
    let fields = [("name", "Folder"), ("description", description.as_str())];
    let saved = member.send_form("/folders/new", "/folders/new", &fields);
    assert!([303, 400].contains(&saved.response.status), "{}", saved.response.status);
}

#[test]
fn forms_of_strangers_share_a_memory_limit() {
    let server = TestServer::start_with(Engine::Sqlite, &[PROXY]);
    let login = |address: &str| begin_login(server.main(), address, 61_000);
    // One address can use a sixteenth of the memory: 10 of these forms, with 40 KB for each request.
    let mut stalled: Vec<_> = (0..9).map(|_| login("192.0.2.1")).collect();
    let (more, response) = open_until_rejected(|| login("192.0.2.1"));
    assert_eq!((more.len(), response.status), (1, 429));
    // All together, strangers can use it for 163 or 164 forms.
    // The others can still log in.
    let stranger = Browser::new(server.main());
    assert_eq!(stranger.log_in(OWNER, "wrong").response.status, 400);
    stalled.extend(more);
    for n in 2..=16 {
        stalled.extend((0..10).map(|_| login(&format!("192.0.2.{n}"))));
    }
    let (more, response) = open_until_rejected(|| login("198.51.100.7"));
    assert!([3, 4].contains(&more.len()), "{}", more.len());
    assert_eq!(response.status, 429);
    assert!(stalled.iter().all(|stream| early_response(stream).is_none()));
    // A form that arrives at once is not affected.
    assert_eq!(stranger.log_in(OWNER, "wrong").response.status, 400);
    drop((stalled, more));
    wait_until(PATIENCE, || match stranger.log_in(OWNER, "wrong").response.status {
        400 => Ok(()),
        status => Err(format!("status {status}")),
    });
}

#[test]
fn shapes_of_members_on_their_way_are_limited() {
    let limit = ("GROMA_LIMITS__UPLOADS_PER_TOKEN", "2");
    let server = TestServer::start_with(Engine::Sqlite, &[limit]);
    let add = ["user", "add", "viewer@example.test", "--workspace", WORKSPACE, "--role", "viewer"];
    server.run_with_input("tripod and prism 71\n", &add).expect_success();
    let begin = |browser: &Browser| {
        let (client, cookie) = (server.main(), browser.cookie("groma").unwrap());
        let authority = client.authority();
        let head = format!(
            "POST /map/geometries HTTP/1.1\r\nHost: {authority}\r\nOrigin: http://{authority}\r\n\
             Cookie: groma={cookie}\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n"
        );
        let mut stream = client.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&[b' '; 1_000]).unwrap();
        stream
    };
    let owner = Browser::of_owner(&server);
    let (stalled, response) = open_until_rejected(|| begin(&owner));
    assert_eq!((stalled.len(), response.status), (2, 429));
    // Nothing is received from those who may not save it.
    let viewer = Browser::logged_in(&server, "viewer@example.test", "tripod and prism 71");
    assert_eq!(Response::read(&mut BufReader::new(begin(&viewer))).status, 403);
}

#[test]
fn connections_are_limited_in_all() {
    let limit = ("GROMA_LIMITS__CONNECTIONS", "4");
    let server = TestServer::start_with(Engine::Sqlite, &[limit, ADMIN_LISTENER]);
    let mut open: Vec<_> = (0..3).map(|_| connect(server.main().address())).collect();
    open.push(connect(server.geo().address()));
    for connection in &mut open {
        assert!(is_served(connection));
    }
    assert!(!is_served(&mut connect(server.main().address())));
    assert!(!is_served(&mut connect(server.geo().address())));
    let metrics = server.admin().request("GET", "/metrics").send().text();
    assert!(metrics.contains("groma_connections_rejected_total 2"), "{metrics}");
    open.pop();
    wait_until(PATIENCE, || {
        let is_served = is_served(&mut connect(server.main().address()));
        is_served.then_some(()).ok_or("still rejected".to_owned())
    });
}

#[test]
fn connections_of_one_address_are_limited() {
    let Some(address) = own_address() else {
        eprintln!("skipped: this machine has only a loopback address");
        return;
    };
    let settings =
        [("GROMA_LIMITS__CONNECTIONS_PER_ADDRESS", "2"), ("GROMA_SERVER__LISTEN", "0.0.0.0:0")];
    let server = TestServer::start_with(Engine::Sqlite, &settings);
    let port = server.main().address().port();
    let mut open: Vec<_> = (0..2).map(|_| connect((address, port).into())).collect();
    assert!(open.iter_mut().all(is_served));
    assert!(!is_served(&mut connect((address, port).into())));
    // Programs on the same machine are not limited.
    let mut local: Vec<_> = (0..5).map(|_| connect(([127, 0, 0, 1], port).into())).collect();
    assert!(local.iter_mut().all(is_served));
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the server responds on this connection, which stays open.
fn is_served(stream: &mut TcpStream) -> bool {
    let sent = stream.write_all(b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n");
    sent.is_ok() && stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0)
}

/// An address of this machine that is not a loopback address. Connecting a UDP socket sends nothing.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

fn post_encoded(server: &TestServer, token: &str, encoding: &str, body: Vec<u8>) -> Response {
    let path = format!("{API}/geometries/geojson");
    let request = server.geo().request("POST", &path).token(token).body(body);
    request.header("Content-Type", "application/json").header("Content-Encoding", encoding).send()
}

#[test]
fn window_of_a_compressed_body_is_limited() {
    let server = TestServer::start_with(Engine::Sqlite, &[NO_RATE_LIMIT]);
    let token = server.create_token(&[]);
    let zstd = |window: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(window).unwrap();
        encoder.write_all(&point(1_000)).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(post_encoded(&server, &token, "zstd", zstd(23)).status, 200);
    let message = "The body is incomplete, or is not encoded as Content-Encoding says";
    for window in [24, 27] {
        post_encoded(&server, &token, "zstd", zstd(window)).assert_error(400, message);
    }
    let brotli = |large_window: bool, lgwin: i32| {
        let params = brotli::enc::BrotliEncoderParams {
            large_window,
            lgwin,
            quality: 2,
            ..Default::default()
        };
        let mut packed = Vec::new();
        brotli::BrotliCompress(&mut point(1_000).as_slice(), &mut packed, &params).unwrap();
        packed
    };
    assert_eq!(post_encoded(&server, &token, "br", brotli(false, 24)).status, 200);
    post_encoded(&server, &token, "br", brotli(true, 28)).assert_error(400, message);
}

on_both_engines! {
    fn uploads_at_the_same_time_are_limited(engine: Engine) {
        let limits = [("GROMA_LIMITS__UPLOADS_PER_TOKEN", "2"), ("GROMA_LIMITS__UPLOADS", "3")];
        let server = TestServer::start_with(engine, &[&limits[..], &[NO_RATE_LIMIT]].concat());
        let (one, other) = (server.create_token(&[]), server.create_token(&[]));
        let stall = |token: &str| {
            let (stalled, response) = open_until_rejected(|| begin_post(&server, token));
            let message = "Too many uploads at the same time; wait until one of them is complete";
            response.assert_error(429, message);
            assert_eq!(response.header("retry-after"), Some("1"));
            stalled
        };
        let stalled = [stall(&one), stall(&other)];
        assert_eq!([stalled[0].len(), stalled[1].len()], [2, 1]);
        // A body that arrives at once needs no place.
        let post = |token: &str, length: usize| {
            let path = format!("{API}/geometries/geojson");
            let request = server.geo().request("POST", &path).token(token);
            request.header("Content-Type", "application/json").body(point(length)).send().status
        };
        assert_eq!(post(&one, 50_000), 200);
        drop(stalled);
        wait_until(PATIENCE, || match post(&one, 3 << 20) {
            200 => Ok(()),
            status => Err(format!("status {status}")),
        });
    }
}

#[test]
fn excess_of_logins_is_rejected_and_pages_are_served() {
    let server = TestServer::start_with(Engine::Sqlite, &[PROXY]);
    let stranger = Browser::new(server.main());
    let token = stranger.get("/login").token();
    let cookie = stranger.cookie("groma").unwrap();
    let body = format!("_csrf={token}&email={}&password=wrong", percent_encode(OWNER));
    let origin = format!("http://{}", server.main().authority());
    let member = Browser::of_owner(&server);
    member.submit("/folders", "/logout", &[]);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let log_in = |n: usize| {
            let request = server.main().request("POST", "/login");
            let request = request.header("X-Forwarded-For", format!("198.51.100.{}", n % 4));
            let request =
                request.header("Origin", &origin).header("Cookie", format!("groma={cookie}"));
            let request = request.header("Content-Type", "application/x-www-form-urlencoded");
            request.body(body.clone()).send().status
        };
        let threads: Vec<_> = (0..120).map(|n| scope.spawn(move || log_in(n))).collect();
        assert_eq!(stranger.get("/login").response.status, 200);
        // A browser that the account has logged in with before waits apart from strangers.
        for _ in 0..3 {
            assert_eq!(member.log_in(OWNER, password()).response.status, 303);
            member.submit("/folders", "/logout", &[]);
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| [400, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&400) && statuses.contains(&429), "{statuses:?}");
}
