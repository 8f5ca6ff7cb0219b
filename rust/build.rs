//! Compiles the C runtime, which needs only libc, with `CC` or `cc`, and archives it with `AR` or `ar`.
//! Leaves out the functions that interpose malloc(): the global allocator reports Rust's allocations, and
//! other code's malloc() stays as it is.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The flags of the runtime's own build (capture/meson.build).
const FLAGS: &[&str] = &[
    "-std=gnu17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-tree-slp-vectorize",
    "-ftls-model=initial-exec",
    "-fno-stack-protector",
    "-fno-builtin-malloc",
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    "-D_GNU_SOURCE",
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("c");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());

    println!("cargo:rerun-if-env-changed=CC");
    println!("cargo:rerun-if-env-changed=AR");
    for folder in ["capture", "src/wire", "src/telemetry", "src/base", "include"] {
        for file in files(&root.join(folder)) {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
    let sources: Vec<PathBuf> = ["capture", "src/telemetry", "src/base"]
        .iter()
        .flat_map(|folder| files(&root.join(folder)))
        .filter(|file| is_source(file))
        .collect();
    let objects = compile_all(&sources, &root, &out);
    let library = out.join("liballo.a");
    // `ar` would keep the objects of sources that no longer exist.
    let _ = fs::remove_file(&library);
    run(Command::new(tool("AR", "ar")).arg("crs").arg(&library).args(&objects));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=allo");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// All sources except the hooks, which interpose malloc() and its relatives.
fn is_source(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_string_lossy();
    name.ends_with(".c") && !name.starts_with("hooks")
}

fn compile_all(sources: &[PathBuf], root: &Path, out: &Path) -> Vec<PathBuf> {
    let workers = thread::available_parallelism().map_or(1, |count| count.get());
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let own = sources.iter().skip(worker).step_by(workers);
                    own.map(|source| compile(source, root, out)).collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

fn compile(source: &Path, root: &Path, out: &Path) -> PathBuf {
    let object = out.join(source.with_extension("o").file_name().unwrap());
    let mut command = Command::new(tool("CC", "cc"));
    command.args(FLAGS);
    command.arg(format!("-DALLO_VERSION=\"{}\"", env::var("CARGO_PKG_VERSION").unwrap()));
    command.arg("-I").arg(root).arg("-I").arg(root.join("src"));
    command.arg("-I").arg(root.join("include"));
    command.arg("-c").arg(source).arg("-o").arg(&object);
    run(&mut command);
    object
}

fn tool(variable: &str, usual: &str) -> OsString {
    env::var_os(variable).filter(|name| !name.is_empty()).unwrap_or_else(|| usual.into())
}

fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{command:?}: {status}"),
        Err(error) => panic!("{command:?}: {error}"),
    }
}
