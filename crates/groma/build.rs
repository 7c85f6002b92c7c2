//! Makes what browsers load of the web application (`web/dist`) when it is missing or older than its
//! sources, and writes the list of its files, which `src/web/assets.rs` embeds.
//!
//! Cargo runs this again only when something under `web/` changed: a change of Rust code costs nothing.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::SystemTime,
};

/// What `web/dist` is made from, under `web/`.
const SOURCES: [&str; 4] = ["src", "build.mjs", "package.json", "package-lock.json"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // The one line that cargo shows of a build script without being asked for more.
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let dist = web.join("dist");
    let manifest = dist.join("manifest.json");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    println!("cargo::rerun-if-changed={}", manifest.display());

    let mut newest = SystemTime::UNIX_EPOCH;
    for source in SOURCES {
        newest = newest.max(modified(&web.join(source)).map_err(said(&web.join(source)))?);
    }
    if modified(&manifest).map_or(true, |made| made < newest) {
        make(&web)?;
        // As old as what it was made from, not as this run: to cargo, a file that is younger than the
        // run that watches it has changed.
        let file = File::options().append(true).open(&manifest).map_err(said(&manifest))?;
        file.set_modified(newest).map_err(said(&manifest))?;
    }

    let text = fs::read_to_string(&manifest).map_err(said(&manifest))?;
    let names: BTreeMap<String, String> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo gives no OUT_DIR")?;
    let list = out.join("assets.rs");
    fs::write(&list, listed(&dist, &names)?).map_err(said(&list))
}

/// When the youngest file of a folder, or a file, was changed.
fn modified(path: &Path) -> io::Result<SystemTime> {
    let metadata = fs::metadata(path)?;
    let mut newest = metadata.modified()?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            newest = newest.max(modified(&entry?.path())?);
        }
    }
    Ok(newest)
}

/// Installs the packages, unless they are those of the lock file, and bundles.
fn make(web: &Path) -> Result<(), String> {
    let installed = modified(&web.join("node_modules/.package-lock.json"));
    let wanted = modified(&web.join("package-lock.json"));
    let current = matches!((installed, wanted), (Ok(installed), Ok(wanted)) if installed >= wanted);
    if !current {
        npm(web, &["ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"])?;
    }
    npm(web, &["run", "build", "--silent"])
}

fn npm(web: &Path, arguments: &[&str]) -> Result<(), String> {
    let what = format!("npm {} in web/", arguments[..1].join(" "));
    let output = Command::new("npm")
        .args(arguments)
        .current_dir(web)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "the web application is built with npm, which is missing: install Node.js 20 or newer \
                 (scripts/setup build does it on Debian)"
                    .to_owned()
            }
            _ => format!("{what}: {error}"),
        })?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!("{what} failed; what it said is above"))
}

/// The Rust source of two lists: the files by name, and the names by what they are called in pages.
fn listed(dist: &Path, names: &BTreeMap<String, String>) -> Result<String, String> {
    let mut files: Vec<&str> = names.values().map(String::as_str).collect();
    files.sort_unstable();
    let mut text = String::from("const FILES: &[File] = &[\n");
    for name in files {
        let kind =
            content_type(name).ok_or_else(|| format!("web/dist/{name}: of no known kind"))?;
        let compressed = |ending: &str| {
            let name = format!("{name}.{ending}");
            if dist.join(&name).exists() {
                format!("Some({})", included(&name))
            } else {
                "None".into()
            }
        };
        let (plain, br, gzip) = (included(name), compressed("br"), compressed("gz"));
        let _ = writeln!(
            text,
            "File {{ name: {name:?}, content_type: {kind:?}, plain: {plain}, br: {br}, gzip: {gzip} }},"
        );
    }
    text.push_str("];\nconst NAMES: &[(&str, &str)] = &[\n");
    for (logical, name) in names {
        let _ = writeln!(text, "({logical:?}, {name:?}),");
    }
    text.push_str("];\n");
    Ok(text)
}

fn included(name: &str) -> String {
    format!("include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../web/dist/{name}\"))")
}

fn content_type(name: &str) -> Option<&'static str> {
    Some(match Path::new(name).extension()?.to_str()? {
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

fn said(path: &Path) -> impl Fn(io::Error) -> String + use<'_> {
    move |error| format!("{}: {error}", path.display())
}
