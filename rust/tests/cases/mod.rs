//! Cases that each run in a process and a folder of their own, with an eye on how they end.

use std::path::{Path, PathBuf};
use std::process::{exit, Command, Output};
use std::{env, fs};

/// The name of a test case, the program to run, and the check of its result.
pub type Case = (&'static str, fn(), fn(&Ended));

pub struct Ended {
    pub folder: PathBuf,
    pub output: Output,
}

#[allow(dead_code)] // not all tests need all of it
impl Ended {
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub fn must_succeed(&self) {
        assert!(self.output.status.success(), "{}: {}", self.output.status, self.said());
    }

    pub fn must_leave(&self, names: &[&str]) {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut found: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        found.sort();
        assert_eq!(found, names, "{}", self.said());
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}: {}", self.said()))
    }
}

/// Runs `allo` and returns its standard output.
#[allow(dead_code)]
pub fn allo(folder: &Path, arguments: &[&str]) -> String {
    let program = env::var_os("ALLO_PROGRAM").unwrap_or_else(|| "allo".into());
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs one case if its name is an argument, and else each as a process.
pub fn run(cases: &[Case]) {
    let wanted = env::args().nth(1).unwrap_or_default();
    if let Some((_, work, _)) = cases.iter().find(|(name, ..)| *name == wanted) {
        return work();
    }
    let mut failed = 0;
    for (name, _, look) in cases {
        let ended = run_alone(name);
        let is_ok = std::panic::catch_unwind(|| look(&ended)).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        fs::remove_dir_all(&ended.folder).unwrap();
        failed += i32::from(!is_ok);
    }
    exit(failed.min(1));
}

fn run_alone(name: &str) -> Ended {
    let folder = env::temp_dir().join(format!("allotrope-{}-{name}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let output = Command::new(env::current_exe().unwrap())
        .arg(name)
        .current_dir(&folder)
        .env("TMPDIR", &folder)
        .output()
        .unwrap();
    Ended { folder, output }
}
