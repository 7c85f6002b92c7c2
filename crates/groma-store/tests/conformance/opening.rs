//! Opening databases: migrations, missing and private files, and several servers on one database.

use crate::Fixture;
use groma_store::{DatabaseUrl, Error, Store};
use groma_testkit::{Engine, postgres::PostgresDatabase};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_opening_migrates_a_new_database_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = PostgresDatabase::create().unwrap();
    for url in
        [DatabaseUrl::Sqlite(folder.path().join("groma.db")), DatabaseUrl::Postgres(database.url())]
    {
        let tasks = (0..6).map(|_| {
            let url = url.clone();
            tokio::spawn(async move {
                let store = Store::open(&url).await.unwrap();
                assert_eq!(store.workspaces().await.unwrap().len(), 0);
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    }
}

#[test]
fn database_url_has_engine_and_location() {
    let sqlite = |path: &str| DatabaseUrl::Sqlite(path.into());
    for (text, url) in [
        ("sqlite:data/groma.db", sqlite("data/groma.db")),
        ("sqlite://data/groma.db", sqlite("data/groma.db")),
        ("sqlite:/var/groma.db", sqlite("/var/groma.db")),
        ("sqlite:///var/groma.db", sqlite("/var/groma.db")),
        ("postgres://h/d", DatabaseUrl::Postgres("postgres://h/d".into())),
        ("postgresql://h/d", DatabaseUrl::Postgres("postgresql://h/d".into())),
    ] {
        assert_eq!(text.parse::<DatabaseUrl>().unwrap(), url, "{text}");
    }
    for text in ["", "sqlite:", "sqlite://", "mysql://h/d", "data/groma.db", "sqlite:/a?mode=ro"] {
        assert!(matches!(text.parse::<DatabaseUrl>(), Err(Error::Url(_))), "{text}");
    }
}

#[tokio::test]
async fn unreachable_database_is_an_error() {
    let nobody = DatabaseUrl::Postgres("postgres://nobody@127.0.0.1:1/nothing".into());
    assert!(Store::open(&nobody).await.is_err());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "not a directory").unwrap();
    let inside_a_file = DatabaseUrl::Sqlite(folder.path().join("file/groma.db"));
    assert!(Store::open(&inside_a_file).await.is_err());
    std::fs::write(folder.path().join("groma.db"), "not a database, but long enough").unwrap();
    let no_database = DatabaseUrl::Sqlite(folder.path().join("groma.db"));
    assert!(Store::open(&no_database).await.is_err());
}

#[tokio::test]
async fn missing_sqlite_file_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::Sqlite(folder.path().join("new/groma.db"));
    assert!(matches!(Store::open_existing(&url).await, Err(Error::Missing(_))));
    assert!(matches!(Store::pending_migrations(&url).await, Err(Error::Missing(_))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(Store::open(&url).await.unwrap());
    drop(Store::open_existing(&url).await.unwrap());
}

#[tokio::test]
async fn sqlite_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::open(Engine::Sqlite).await;
    let DatabaseUrl::Sqlite(path) = &fixture.url else { panic!("a SQLite file expected") };
    for beside in ["", "-wal", "-shm"] {
        let file = std::fs::metadata(format!("{}{beside}", path.display())).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{beside}");
    }
}

#[tokio::test]
async fn pending_migrations_are_reported_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groma.db");
    let url = DatabaseUrl::Sqlite(path.clone());
    std::fs::write(&path, "").unwrap();
    let pending = Store::pending_migrations(&url).await.unwrap();
    assert_eq!(pending.first().map(String::as_str), Some("V1__schema"));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    drop(Store::open(&url).await.unwrap());
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), [""; 0]);
    let blank = PostgresDatabase::create().unwrap();
    let url = DatabaseUrl::Postgres(blank.url());
    for _ in 0..2 {
        let pending = Store::pending_migrations(&url).await.unwrap();
        assert_eq!(pending.first().map(String::as_str), Some("V1__schema"));
    }
    drop(Store::open(&url).await.unwrap());
    assert_eq!(Store::pending_migrations(&url).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn sqlite_file_has_only_one_server() {
    let fixture = Fixture::open(Engine::Sqlite).await;
    let second = Store::open(&fixture.url).await.unwrap();
    fixture.store.claim().unwrap();
    let error = second.claim().unwrap_err();
    assert!(matches!(error, Error::AlreadyServed(_)), "{error}");
    // It can still be opened beside the server.
    second.ping().await.unwrap();
    assert_eq!(second.workspaces().await.unwrap().len(), 1);
}

#[tokio::test]
async fn sqlite_file_can_be_served_again_after_its_server_exits() {
    let folder = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::Sqlite(folder.path().join("new/folder/groma.db"));
    let first = Store::open(&url).await.unwrap();
    first.claim().unwrap();
    drop(first);
    Store::open(&url).await.unwrap().claim().unwrap();
}

#[tokio::test]
async fn postgres_database_can_have_several_servers() {
    let fixture = Fixture::open(Engine::Postgres).await;
    let second = fixture.reopen().await;
    fixture.store.claim().unwrap();
    second.store.claim().unwrap();
}
