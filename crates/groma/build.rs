//! Builds the files that browsers load (`web/dist`) if they are missing or older than their sources, and
//! writes the list of them that `src/web/assets.rs` embeds.
//!
//! Cargo runs this script again only after a change under `web/`, not after a change of Rust code.

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

/// The sources of `web/dist`, under `web/`.
const SOURCES: [&str; 4] = ["src", "build.mjs", "package.json", "package-lock.json"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Cargo shows this line even without `-vv`.
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?;
    let web = Path::new(&manifest_dir).join("../../web");
    let dist = web.join("dist");
    let manifest = dist.join("manifest.json");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    println!("cargo::rerun-if-changed={}", manifest.display());

    let mut newest = SystemTime::UNIX_EPOCH;
    for source in SOURCES {
        newest = newest.max(modified(&web.join(source)).map_err(with_path(&web.join(source)))?);
    }
    if modified(&manifest).map_or(true, |built| built < newest) {
        build(&web)?;
        // The manifest gets the time of its sources. Otherwise it would be newer than this run, and
        // cargo would run the script again next time.
        let file = File::options().append(true).open(&manifest).map_err(with_path(&manifest))?;
        file.set_modified(newest).map_err(with_path(&manifest))?;
    }

    let text = fs::read_to_string(&manifest).map_err(with_path(&manifest))?;
    let names: BTreeMap<String, String> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or("OUT_DIR is not set")?;
    let list = out.join("assets.rs");
    fs::write(&list, file_list(&dist, &names)?).map_err(with_path(&list))?;
    embed_locales(Path::new(&manifest_dir), &out)
}

/// Writes the list of the files in `locales/` with their language tags, for `src/web/i18n.rs`.
fn embed_locales(manifest_dir: &Path, out: &Path) -> Result<(), String> {
    let folder = manifest_dir.join("locales");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut tags = Vec::new();
    for entry in fs::read_dir(&folder).map_err(with_path(&folder))? {
        let name = entry.map_err(with_path(&folder))?.file_name();
        tags.extend(name.to_str().and_then(|name| name.strip_suffix(".ftl")).map(str::to_owned));
    }
    tags.sort_unstable();
    let mut text = String::from("const FILES: &[(&str, &str)] = &[\n");
    for tag in tags {
        let path = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/locales/{tag}.ftl\")");
        let _ = writeln!(text, "({tag:?}, include_str!({path})),");
    }
    text.push_str("];\n");
    let list = out.join("locales.rs");
    fs::write(&list, text).map_err(with_path(&list))
}

/// When a file, or the newest file in a folder, was modified.
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

/// Installs the npm packages if the lock file changed, and bundles.
fn build(web: &Path) -> Result<(), String> {
    let installed = modified(&web.join("node_modules/.package-lock.json"));
    let locked = modified(&web.join("package-lock.json"));
    let is_current =
        matches!((installed, locked), (Ok(installed), Ok(locked)) if installed >= locked);
    if !is_current {
        npm(web, &["ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"])?;
    }
    npm(web, &["run", "build", "--silent"])
}

fn npm(web: &Path, arguments: &[&str]) -> Result<(), String> {
    let command = format!("npm {} in web/", arguments[..1].join(" "));
    let output = Command::new("npm")
        .args(arguments)
        .current_dir(web)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "npm is not installed; install Node.js 20 or newer to build the web application (on \
                 Debian: scripts/setup build)"
                    .to_owned()
            }
            _ => format!("{command}: {error}"),
        })?;
    if output.status.success() {
        return Ok(());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!("{command} failed; its output is above"))
}

/// The Rust source of two lists: the files by name, and the file names by the names that pages use.
fn file_list(dist: &Path, names: &BTreeMap<String, String>) -> Result<String, String> {
    let mut files: Vec<&str> = names.values().map(String::as_str).collect();
    files.sort_unstable();
    let mut text = String::from("const FILES: &[File] = &[\n");
    for name in files {
        let kind =
            content_type(name).ok_or_else(|| format!("web/dist/{name}: unknown file type"))?;
        let compressed = |extension: &str| {
            let name = format!("{name}.{extension}");
            if dist.join(&name).exists() {
                format!("Some({})", include_bytes(&name))
            } else {
                "None".into()
            }
        };
        let (plain, br, gzip) = (include_bytes(name), compressed("br"), compressed("gz"));
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

fn include_bytes(name: &str) -> String {
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

fn with_path(path: &Path) -> impl Fn(io::Error) -> String + use<'_> {
    move |error| format!("{}: {error}", path.display())
}
