//! Compiles the C runtime, which needs only libc, with `CC` or `cc` and the flags in `CFLAGS`, and archives it with
//! `AR` or `ar`.
//! Leaves out the functions that interpose malloc(): the global allocator reports Rust's allocations, and
//! other code's malloc() stays as it is.
//!
//! The feature `profiles` compiles liballotrope as well, which reads and writes profiles.

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

/// Files of src/base/ that the runtime uses.
const RUNTIME_BASE: &[&str] = &["assert.h", "text.c", "text.h", "utf8.c", "utf8.h"];

/// The folders of liballotrope, and the files of src/engine/ that need no database and no other process:
/// `engine_sources` of src/engine/meson.build.
const LIBRARY_FOLDERS: &[&str] =
    &["base", "profile", "replay", "analysis", "findings", "readers", "view", "writers", "symbols", "lib"];
const LIBRARY_ENGINE: &[&str] =
    &["changes.c", "convert.c", "cache/facts_cache.c", "cache/log_cache.c", "merged_profile.c", "open_dataset.c", "rows.c",
      "source.c", "view_text.c", "window_heap.c"];

/// Texts that liballotrope contains as strings.
const LIBRARY_TEXTS: &[&str] = &["base/picture.css", "writers/flamegraph.css", "writers/flamegraph.js"];

/// The libraries behind liballotrope.
const LIBRARY_NEEDS: &[&str] = &["deflate", "xxhash", "zstd", "z", "dw", "elf", "iberty"];

fn main() {
    let root = source_root();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());

    println!("cargo:rerun-if-env-changed=CC");
    println!("cargo:rerun-if-env-changed=CFLAGS");
    println!("cargo:rerun-if-env-changed=AR");
    println!("cargo:rerun-if-env-changed=OBJCOPY");
    println!("cargo:rustc-link-search=native={}", out.display());
    if env::var_os("CARGO_FEATURE_PROFILES").is_some() {
        build_library(&root, &out.join("profiles"), &out);
    }
    build_runtime(&root, &out.join("runtime"), &out);
}

/// The folder with the C sources: the tree around this crate, c/ of a package, or the tree that ALLOTROPE_SOURCE
/// or c/tree names. `cp -r` copies the links in c/ as links that lead nowhere, but it also copies c/tree.
fn source_root() -> PathBuf {
    println!("cargo:rerun-if-env-changed=ALLOTROPE_SOURCE");
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let around = own.parent().unwrap().to_path_buf();
    let note = own.join("c/tree");
    let given = env::var_os("ALLOTROPE_SOURCE").map(PathBuf::from);
    let noted = || fs::read_to_string(&note).ok().map(|tree| PathBuf::from(tree.trim_end()));
    if is_tree(&around) {
        note_tree(&around, &note);
    }
    let places = [given, Some(around), Some(own.join("c")), noted()];
    if let Some(found) = places.into_iter().flatten().find(|place| is_tree(place)) {
        return found;
    }
    eprintln!(
        "error: {} is a link to the C sources of Allotrope, and they are not there.\n\
         Copy the crate with 'cp -rL', depend on it where it is (path = \"allotrope/rust\"), or set\n\
         ALLOTROPE_SOURCE to the root of Allotrope's source tree.",
        own.join("c/capture").display()
    );
    std::process::exit(1);
}

fn is_tree(root: &Path) -> bool {
    root.join("capture").is_dir() && root.join("src/wire").is_dir() && root.join("include/allo.h").is_file()
}

/// Notes where the tree is, for copies of this crate, as 'meson setup' does. A tree that cannot be written stays
/// without a note.
fn note_tree(tree: &Path, note: &Path) {
    let line = format!("{}\n", tree.display());
    if fs::read_to_string(note).ok().as_ref() != Some(&line) {
        let _ = fs::write(note, line);
    }
}

fn build_runtime(root: &Path, work: &Path, out: &Path) {
    let mut sources = Vec::new();
    for folder in ["capture", "src/wire", "src/telemetry", "src/base", "include"] {
        let of_base = |file: &PathBuf| RUNTIME_BASE.iter().any(|name| file.ends_with(name));
        let files = files_below(&root.join(folder));
        sources.extend(files.into_iter().filter(|file| folder != "src/base" || of_base(file)));
    }
    tell_sources(&sources);
    sources.retain(|file| is_source(file));
    archive(&compile_all(&sources, root, work), &out.join("liballo.a"));
    println!("cargo:rustc-link-lib=static=allo");
}

/// The library and the runtime have functions of the same names, so the library's private ones become local.
fn build_library(root: &Path, work: &Path, out: &Path) {
    let mut sources = Vec::new();
    for folder in LIBRARY_FOLDERS {
        sources.extend(files_below(&root.join("src").join(folder)));
    }
    sources.extend(LIBRARY_ENGINE.iter().map(|name| root.join("src/engine").join(name)));
    tell_sources(&sources);
    sources.retain(|file| file.extension().map_or(false, |end| end == "c"));
    fs::create_dir_all(work).unwrap();
    for name in LIBRARY_TEXTS {
        sources.push(embed(&root.join("src").join(name), work));
    }
    let whole = work.join("allotrope-whole.o");
    let public = work.join("allotrope.o");
    let objects = compile_all(&sources, root, work);
    run(Command::new(tool("CC", "cc")).args(["-r", "-nostdlib", "-o"]).arg(&whole).args(&objects));
    run(Command::new(tool("OBJCOPY", "objcopy")).arg("--localize-hidden").arg(&whole).arg(&public));
    archive(&[public], &out.join("liballotrope.a"));
    println!("cargo:rustc-link-lib=static=allotrope");
    for name in LIBRARY_NEEDS {
        println!("cargo:rustc-link-lib=dylib={name}");
    }
}

/// Writes a C file with a text as a string, named allo_flamegraph_css and so on.
fn embed(text: &Path, work: &Path) -> PathBuf {
    let name = format!("allo_{}", text.file_name().unwrap().to_string_lossy().replace('.', "_"));
    let bytes = fs::read(text).unwrap_or_else(|error| panic!("{}: {error}", text.display()));
    let numbers: String = bytes.iter().map(|byte| format!("{byte},")).collect();
    let source = work.join(format!("{name}.c"));
    println!("cargo:rerun-if-changed={}", text.display());
    fs::write(&source, format!("extern const char {name}[];\nconst char {name}[] = {{{numbers}0}};\n"))
        .unwrap();
    source
}

fn tell_sources(sources: &[PathBuf]) {
    for file in sources {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}

fn archive(objects: &[PathBuf], library: &Path) {
    // `ar` would keep the objects of sources that no longer exist.
    let _ = fs::remove_file(library);
    run(Command::new(tool("AR", "ar")).arg("crs").arg(library).args(objects));
}

/// The files of a folder and of the folders in it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (folders, mut found): (Vec<_>, Vec<_>) = files(folder).into_iter().partition(|path| path.is_dir());
    found.extend(folders.iter().flat_map(|folder| files_below(folder)));
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Files that only the preloaded library has.
const PRELOADED: &[&str] = &["relaunch.c", "old_glibc.c", "loaded_symbol.c"];

/// All sources except the hooks, which interpose malloc() and its relatives.
fn is_source(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_string_lossy();
    name.ends_with(".c") && !name.starts_with("hooks") && !PRELOADED.contains(&name.as_ref())
}

fn compile_all(sources: &[PathBuf], root: &Path, out: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(out).unwrap();
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
    command.args(env::var("CFLAGS").unwrap_or_default().split_whitespace());
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
