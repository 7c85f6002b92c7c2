//! The built program: its commands, run to completion.

use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The program with the environment and working directory to run it in.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    directory: Option<PathBuf>,
    environment: Vec<(String, String)>,
}

impl Program {
    /// The program that Cargo built beside this executable.
    pub fn built() -> Self {
        let executable = std::env::current_exe().unwrap();
        let directory = executable.parent().unwrap();
        // Test executables are one level deeper.
        let is_test = directory.file_name().is_some_and(|name| name == "deps");
        let directory = if is_test { directory.parent().unwrap() } else { directory };
        Self::at(&directory.join("groma"))
    }

    /// The program at this path.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), directory: None, environment: Vec::new() }
    }

    /// The path of the executable.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.set_env(name, value);
        self
    }

    /// Sets environment variables.
    pub fn envs(self, variables: &[(&str, &str)]) -> Self {
        variables.iter().fold(self, |program, (name, value)| program.env(name, value))
    }

    /// Sets an environment variable.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Sets the working directory.
    pub fn directory(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self }
    }

    /// A command with these arguments. It inherits only `PATH` from this environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Runs a command to completion.
    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with_input("", arguments)
    }

    /// Runs a command to completion with this standard input.
    pub fn run_with_input(&self, input: &str, arguments: &[&str]) -> CommandOutput {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        // A command that reads no input may have exited already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs a command in an empty directory with these environment variables.
pub fn run(environment: &[(&str, &str)], input: &str, arguments: &[&str]) -> CommandOutput {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::built().directory(directory.path()).envs(environment);
    program.run_with_input(input, arguments)
}

/// The outcome of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandOutput {
    /// Standard output without its final line break, or standard error as the error.
    pub fn into_result(self) -> crate::Result<String> {
        match self.code {
            Some(0) => Ok(self.stdout.trim_end_matches('\n').to_owned()),
            _ => Err(self.stderr.trim().into()),
        }
    }

    /// Asserts success without anything on standard error, and returns standard output.
    #[track_caller]
    pub fn expect_success(&self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout.trim_end_matches('\n').to_owned()
    }

    /// Asserts success and returns standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.expect_success()).unwrap()
    }

    /// Asserts failure with one line on standard error, and returns it without the prefix `groma: `.
    #[track_caller]
    pub fn expect_failure(&self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        let line = self.stderr.strip_suffix('\n').expect("a line on standard error");
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("groma: ").expect("the prefix `groma: `").to_owned()
    }

    /// Asserts failure with this message.
    #[track_caller]
    pub fn expect_error(&self, message: &str) {
        assert_eq!(self.expect_failure(), message);
    }

    /// Asserts that the arguments were rejected.
    #[track_caller]
    pub fn expect_usage_error(&self) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""), "{self:?}");
        assert!(!self.stderr.is_empty());
    }

    /// The line number and message of each rejected row of an import, which standard error must
    /// repeat.
    #[track_caller]
    pub fn rejected_rows(&self) -> Vec<(u64, String)> {
        let report: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let rows = report["rejected"].as_array().unwrap().iter();
        let rows: Vec<_> = rows
            .map(|row| (row["line"].as_u64().unwrap(), row["message"].as_str().unwrap().to_owned()))
            .collect();
        for (line, message) in &rows {
            let expected = format!(":{line}: {message}\n");
            assert!(self.stderr.contains(&expected), "{expected} is not in {}", self.stderr);
        }
        rows
    }
}
