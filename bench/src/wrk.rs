//! Load with wrk: one thread, and paths from a list or requests from a script.

use crate::Result;
use std::{fmt::Write as _, net::SocketAddr, path::Path, process::Command};

/// Prints the figures of a measurement.
const DONE: &str = "
done = function(summary, latency, r)
  print('PER_SECOND ' .. summary.requests / (summary.duration / 1e6))
  print('MILLIS ' .. latency.mean / 1e3)
end
";

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    /// The average latency in milliseconds.
    pub(crate) millis: f64,
}

/// Sends requests for some seconds.
pub(crate) fn run(
    address: SocketAddr,
    token: &str,
    paths: &[String],
    connections: u32,
    seconds: u32,
) -> Result<Rate> {
    run_with(address, &[token], &[], paths, connections, seconds)
}

/// Sends requests with several tokens in turn and with headers.
pub(crate) fn run_with(
    address: SocketAddr,
    tokens: &[&str],
    headers: &[(&str, &str)],
    paths: &[String],
    connections: u32,
    seconds: u32,
) -> Result<Rate> {
    run_script(address, &lua(tokens, headers, paths)?, connections, seconds)
}

/// Sends the requests that the function `request` of a Lua script returns.
pub(crate) fn run_script(
    address: SocketAddr,
    script: &str,
    connections: u32,
    seconds: u32,
) -> Result<Rate> {
    let path = Path::new("target/bench/wrk.lua");
    std::fs::create_dir_all("target/bench")?;
    std::fs::write(path, format!("{script}{DONE}"))?;
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "--timeout", "60s"])
        .args([Path::new("-s"), path])
        .arg(format!("http://{address}"))
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!("requests failed:\n{text}").into());
    }
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let per_second = field("PER_SECOND").ok_or_else(|| format!("wrk printed:\n{text}"))?.parse()?;
    let millis = field("MILLIS").ok_or("no latency")?.parse()?;
    Ok(Rate { per_second, millis })
}

/// Requests are formatted once, so that the load has the same cost for every server.
fn lua(tokens: &[&str], headers: &[(&str, &str)], paths: &[String]) -> Result<String> {
    let mut script = String::from("local requests = {}\nlocal headers = {}\nlocal tokens = {\n");
    for token in tokens {
        writeln!(script, "'Bearer {token}',")?;
    }
    script.push_str("}\n");
    for (name, value) in headers {
        writeln!(script, "headers['{name}'] = '{value}'")?;
    }
    script.push_str("local paths = {\n");
    for path in paths {
        writeln!(script, "'{path}',")?;
    }
    script.push_str(
        "}\ninit = function(args)\n  for i, path in ipairs(paths) do\n    headers['Authorization'] = tokens[i % #tokens + 1]\n    requests[i] = wrk.format('GET', path, headers)\n  end\nend\n\
         local n = 0\nrequest = function()\n  n = n % #requests + 1\n  return requests[n]\nend\n",
    );
    Ok(script)
}
