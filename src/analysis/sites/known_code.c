/* known_code.c - the tables: wrappers of allocators, containers and language runtimes. */
#include "analysis/sites/known_code.h"

#include "analysis/sites/allocator.h"
#include "analysis/sites/function_names.h"
#include "analysis/sites/rust_names.h"
#include "analysis/sites/startup.h"
#include "profile/naming.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* A table of names, without parameters; one that ends in '*' is a prefix. */
struct family {
	enum allo_role role;
	const char *library; /* NULL: the functions themselves are named */
	const char *const *names;
};

/* clang-format off */

/* Malloc that ends the program on failure, or counts, in many projects. */
static const char *const checked[] = {
	"xmalloc*", "xcalloc*", "xrealloc*", "xstrdup*", "xstrndup*", "xmemdup*", "xzalloc*", "xasprintf",
	"xvasprintf", "xstrfmt", "xstrvfmt", "xnmalloc", "xnrealloc", "x2realloc", "x2nrealloc", "xpalloc",
	"xcharalloc", "xicalloc", "ximalloc", "xizalloc", "do_xmalloc*", "sh_xmalloc", "sh_xrealloc",
	"emalloc", "ecalloc", "erealloc", "estrdup", "safe_malloc", "safe_calloc", "safe_realloc",
	"safe_strdup", "checked_malloc", "checked_calloc", "checked_realloc", "zalloc", "mallocz",
	"my_malloc", "my_calloc", "my_realloc", "my_strdup", "malloc_or_die", "safemalloc", "saferealloc",
	NULL,
};

/* Allocators of well-known programs and libraries. */
static const char *const projects[] = {
	/* jq */
	"jv_mem_*",
	/* redis, valkey and their strings */
	"zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*", "ztryrealloc*", "zstrdup",
	"extend_to_usable", "sdsnew*", "_sdsnew*", "sdstrynew*", "sdsdup", "sdsempty", "sdscat*", "sdscpy*",
	"sdsMakeRoomFor*", "_sdsMakeRoomFor", "sdsResize", "sdsgrowzero", "sdsfrom*", "s_malloc*",
	"s_realloc*", "s_trymalloc*", "hi_malloc", "hi_calloc", "hi_realloc", "hi_sds*", "hi_strdup",
	/* SQLite */
	"sqlite3Malloc*", "sqlite3MemMalloc", "sqlite3MemRealloc", "sqlite3DbMalloc*", "sqlite3DbRealloc*",
	"sqlite3DbStr*", "sqlite3Realloc", "sqlite3_malloc*", "sqlite3_realloc*", "sqlite3_mprintf",
	"sqlite3_vmprintf", "sqlite3MPrintf", "sqlite3VMPrintf", "sqlite3_str_*", "sqlite3StrAccum*",
	"sqlite3PageMalloc", "dbMallocRawFinish", "dbReallocFinish", "mallocWithAlarm", "pcache1Alloc*",
	/* Perl's allocator and values */
	"Perl_safesys*", "Perl_savepv*", "Perl_savesv*", "Perl_sv_grow*", "Perl_sv_upgrade", "Perl_newSV*",
	"Perl_more_sv", "Perl_more_bodies", "Perl_sv_setsv*", "Perl_sv_setpv*", "Perl_sv_catpv*",
	"Perl_av_extend*", "Perl_av_make", "Perl_sv_newmortal", "Perl_sv_mortalcopy*", "Perl_sv_catsv*",
	/* nginx, APR, PostgreSQL, MySQL, PHP, Ruby, Lua */
	"ngx_alloc", "ngx_calloc", "ngx_memalign", "ngx_palloc*", "ngx_pcalloc", "ngx_pnalloc",
	"ngx_pmemalign", "ngx_create_pool", "ngx_array_push*", "ngx_array_create", "ngx_list_push",
	"apr_palloc*", "apr_pcalloc*", "apr_pstr*", "palloc", "palloc0", "palloc_extended", "repalloc",
	"pstrdup", "AllocSet*", "MemoryContextAlloc*", "my_raw_malloc", "_emalloc*", "_ecalloc*",
	"_erealloc*", "_estrdup*", "ruby_xmalloc*", "ruby_xcalloc*", "ruby_xrealloc*", "objspace_xmalloc*",
	"objspace_xcalloc", "objspace_xrealloc*", "l_alloc", "luaM_*",
	/* OpenSSL, libuv, Node, V8, FFmpeg, talloc, libxml2, GnuTLS, obstacks, GCC's collector */
	"CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_realloc*", "CRYPTO_strdup", "CRYPTO_strndup",
	"CRYPTO_memdup", "CRYPTO_clear_realloc", "OPENSSL_strdup", "uv__malloc", "uv__calloc",
	"uv__realloc*", "uv__strdup", "node::Malloc*", "node::Calloc*", "node::Realloc*",
	"node::UncheckedMalloc*", "node::UncheckedCalloc*", "node::UncheckedRealloc*",
	"node::NodeArrayBufferAllocator::*", "v8::ArrayBuffer::Allocator::*", "v8::internal::Malloced::*",
	"v8::internal::AllocWithRetry*", "v8::internal::AlignedAlloc*", "v8::internal::AccountingAllocator::*",
	"v8::internal::Zone::*", "v8::internal::NewArray*", "v8::base::Malloc*", "v8::base::AlignedAlloc*",
	"av_malloc*", "av_realloc*", "av_calloc", "av_strdup", "av_fast_*", "_talloc*", "talloc_*",
	"xmlMalloc*", "xmlRealloc*", "xmlStrdup", "xmlStrndup", "_obstack_begin*", "_obstack_newchunk",
	"ggc_alloc*", "ggc_internal_alloc*", "ggc_internal_cleared_alloc*", "ggc_realloc*",
	"alloc_page", "mempool_alloc*",
	/* GCC and binutils: hash tables of libiberty, and the memory of BFD */
	"htab_create*", "htab_find_slot*", "htab_expand", "objalloc_create", "_objalloc_alloc",
	"bfd_malloc*", "bfd_zmalloc*", "bfd_realloc*", "bfd_alloc*", "bfd_zalloc*", "bfd_hash_allocate",
	"bfd_hash_table_init*",
	NULL,
};

static const char *const glib[] = {
	"g_malloc*", "g_try_malloc*", "g_realloc*", "g_try_realloc*", "g_aligned_alloc*", "g_slice_*",
	"g_strdup*", "g_strndup", "g_strconcat", "g_strjoin*", "g_strsplit*", "g_memdup*", "g_array_*",
	"g_ptr_array_*", "g_byte_array_*", "g_string_*", "g_list_*", "g_slist_*", "g_queue_*",
	"g_hash_table_*", "g_tree_*",
	NULL,
};

static const char *const qt[] = {
	"QArrayData::*", "QTypedArrayData<*", "QArrayDataPointer<*", "QString::*", "QByteArray::*", "QList<*",
	"QListData::*", "QVector<*", "QHash<*", "QHashData::*", "QHashPrivate::*", "QMap<*", "QMapData*",
	"QMultiMap<*", "QMultiHash<*", "QSet<*", "QStringList::*", "QVarLengthArray<*", "QtPrivate::*",
	NULL,
};

static const char *const llvm[] = {
	"llvm::SmallVector*", "llvm::SmallPtrSet*", "llvm::DenseMap*", "llvm::DenseSet*", "llvm::detail::DenseSet*",
	"llvm::StringMap*", "llvm::StringSet*", "llvm::FoldingSet*", "llvm::MapVector*", "llvm::SetVector*",
	"llvm::BumpPtrAllocator*", "llvm::MallocAllocator::*", "llvm::SpecificBumpPtrAllocator*",
	"llvm::allocate_buffer", "llvm::safe_malloc", "llvm::safe_calloc", "llvm::safe_realloc", "llvm::BitVector::*",
	NULL,
};

static const char *const cpython[] = {
	"_PyMem_*", "PyMem_*", "_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc", "PyObject_Malloc",
	"PyObject_Calloc", "PyObject_Realloc", "_PyObject_MallocWithType", "pymalloc_alloc", "allocate_from_new_pool", "new_arena",
	"_PyObject_Arena*", "_PyObject_GC_*", "PyObject_GC_*", "_PyObject_New*", "PyObject_New*", "gc_alloc",
	"PyType_GenericAlloc", "_PyType_AllocNoTrack",
	NULL,
};

static const char *const go[] = {
	"runtime.*", "bytes.growSlice", "bytes.(*Buffer).*", "strings.(*Builder).*", "internal/runtime/*",
	NULL,
};

/* For formats that have no modules, and for programs that contain the C library. */
static const char *const libc[] = {
	"asprintf", "vasprintf", "__asprintf*", "__vasprintf*", "getline", "getdelim", "__getdelim", "fopen*",
	"fdopen*", "freopen*", "__fopen_internal", "open_memstream", "_IO_*", "__underflow", "__uflow",
	"__overflow", "printf", "puts", "putchar", "fputs", "fwrite", "fprintf", "vfprintf", "__vfprintf*",
	"__printf*", "fgets", "fread", "opendir*", "__opendir*", "__alloc_dir", "fdopendir", "scandir*",
	"setlocale", "newlocale", "_nl_*", "regcomp", "re_compile_*", "qsort", "qsort_r", "realpath",
	"__realpath*", "getcwd", "setenv", "putenv", "__add_to_environ", "tzset", "localtime", "strftime*",
	"getaddrinfo", "gaih_inet*", "getpwnam*", "getpwuid*", "dlopen*", "_dl_*", "dl_open_worker*",
	"pthread_create*", "__pthread_create*", "allocate_stack", "pthread_getattr_np*", "atexit",
	"__cxa_atexit", "__new_exitfn", "__cxa_thread_atexit_impl", "tsearch", "wcsdup", "timer_create",
	"iconv_open", "__gconv_*", "bindtextdomain", "textdomain", "dcigettext", "__dcigettext", "posix_spawn*",
	NULL,
};

static const char *const cpp[] = {
	"std::*", "__gnu_cxx::*", "__gnu_debug::*", "__cxxabiv1::*", "__cxa_allocate_*", "boost::container::*",
	"boost::unordered*", "absl::container_internal::*", "absl::*::container_internal::*",
	NULL,
};
/* clang-format on */

static const struct family families[] = {
	{ ALLO_ROLE_WRAPPER, NULL, checked },
	{ ALLO_ROLE_WRAPPER, NULL, projects },
	{ ALLO_ROLE_LIBRARY, "GLib", glib },
	{ ALLO_ROLE_LIBRARY, "Qt containers", qt },
	{ ALLO_ROLE_LIBRARY, "LLVM's containers", llvm },
	{ ALLO_ROLE_LIBRARY, "CPython's allocators", cpython },
	{ ALLO_ROLE_LIBRARY, "Go runtime", go },
	{ ALLO_ROLE_LIBRARY, "C library", libc },
	{ ALLO_ROLE_LIBRARY, "C++ standard library", cpp },
};

static const struct allo_known_code rust = { ALLO_ROLE_LIBRARY, "Rust standard library" };

/* Crates of Rust's standard library, and containers in its style. */
static const struct allo_text crates[] = {
	ALLO_TEXT_INIT("alloc"),     ALLO_TEXT_INIT("core"),     ALLO_TEXT_INIT("std"),
	ALLO_TEXT_INIT("hashbrown"), ALLO_TEXT_INIT("indexmap"), ALLO_TEXT_INIT("smallvec"),
};

/* Files of C++ containers, for Valgrind, which names no folders.  Debug information has no
 * namespaces of inlined functions. */
static const struct allo_text cpp_files[] = {
	ALLO_TEXT_INIT("basic_string.h"),      ALLO_TEXT_INIT("basic_string.tcc"),
	ALLO_TEXT_INIT("stl_vector.h"),        ALLO_TEXT_INIT("vector.tcc"),
	ALLO_TEXT_INIT("stl_tree.h"),          ALLO_TEXT_INIT("stl_map.h"),
	ALLO_TEXT_INIT("stl_deque.h"),         ALLO_TEXT_INIT("deque.tcc"),
	ALLO_TEXT_INIT("stl_list.h"),          ALLO_TEXT_INIT("hashtable_policy.h"),
	ALLO_TEXT_INIT("stl_uninitialized.h"), ALLO_TEXT_INIT("stl_construct.h"),
	ALLO_TEXT_INIT("unique_ptr.h"),        ALLO_TEXT_INIT("shared_ptr_base.h"),
};

/* Folders of the C++ libraries' headers: libstdc++, also in Debian's folder of a processor
 * (/usr/include/x86_64-linux-gnu/c++/12), and libc++ (/usr/lib/llvm-14/include/c++/v1). */
static const struct allo_text cpp_folders[] = {
	ALLO_TEXT_INIT("/include/c++/"),
	ALLO_TEXT_INIT("-linux-gnu/c++/"),
};

/* Folders of Rust's standard library: as built by its makers, and as installed with its sources. */
static const struct allo_text rust_folders[] = {
	ALLO_TEXT_INIT("/library/alloc/src/"),
	ALLO_TEXT_INIT("/library/core/src/"),
	ALLO_TEXT_INIT("/library/std/src/"),
	ALLO_TEXT_INIT("/rust/deps/"),
};

/* Interpreters' names for functions of their programs, in perf maps. */
static const struct allo_text scripts[] = {
	ALLO_TEXT_INIT("py::"),
	ALLO_TEXT_INIT("JS:"),
	ALLO_TEXT_INIT("LazyCompile:"),
};

/* Libraries that only act for their callers, up to the version. */
static const struct {
	struct allo_text name;
	const char *library;
} runtimes[] = {
	{ ALLO_TEXT_INIT("libc.so"), "C library" },
	{ ALLO_TEXT_INIT("libc-2."), "C library" },
	{ ALLO_TEXT_INIT("ld-linux"), "C library" },
	{ ALLO_TEXT_INIT("ld-musl-"), "C library" },
	{ ALLO_TEXT_INIT("libc.musl-"), "C library" },
	{ ALLO_TEXT_INIT("libpthread"), "C library" },
	{ ALLO_TEXT_INIT("libdl.so"), "C library" },
	{ ALLO_TEXT_INIT("libdl-2."), "C library" },
	{ ALLO_TEXT_INIT("librt.so"), "C library" },
	{ ALLO_TEXT_INIT("liballo.so"), "C library" }, /* calls it for the program */
	{ ALLO_TEXT_INIT("liballo-musl.so"), "C library" },
	{ ALLO_TEXT_INIT("libstdc++.so"), "C++ standard library" },
	{ ALLO_TEXT_INIT("libc++.so"), "C++ standard library" },
	{ ALLO_TEXT_INIT("libc++abi.so"), "C++ standard library" },
	{ ALLO_TEXT_INIT("libgcc_s.so"), "C++ standard library" },
	{ ALLO_TEXT_INIT("libz.so"), "zlib" },
	{ ALLO_TEXT_INIT("libbz2.so"), "bzip2" },
	{ ALLO_TEXT_INIT("liblzma.so"), "liblzma" },
	{ ALLO_TEXT_INIT("libzstd.so"), "Zstandard" },
	{ ALLO_TEXT_INIT("liblz4.so"), "LZ4" },
};

/* A pattern of a table: '*' matches anything, also in the middle. */
static bool matches(const char *pattern, struct allo_text name)
{
	struct allo_text rest = allo_text_of(pattern), part, after;

	if (name.len == 0 || pattern[0] != name.data[0])
		return false;
	if (!allo_text_cut(rest, '*', &part, &after))
		return allo_text_equal(name, rest);
	if (!allo_text_starts(name, part))
		return false;
	if (after.len > 0)
		after.len--; /* the last '*' */
	return after.len == 0 || allo_text_find(allo_text_from(name, part.len), after) < name.len;
}

/* The crate of a path: "core" of "core::iter::Map<I>::next".  Empty: it has none. */
static struct allo_text crate_of(struct allo_text path)
{
	size_t len = 0;

	while (path.len > 0 && memchr("<&*[(", path.data[0], 5))
		path = allo_text_from(path, 1);
	allo_text_skip(&path, ALLO_TEXT("mut "));
	allo_text_skip(&path, ALLO_TEXT("dyn "));
	while (len < path.len && (path.data[len] == '_' || allo_is_digit(path.data[len]) ||
				  (path.data[len] >= 'a' && path.data[len] <= 'z')))
		len++;
	if (!allo_text_starts(allo_text_from(path, len), ALLO_TEXT("::")))
		len = 0;
	return (struct allo_text){ path.data, len };
}

static bool is_standard(struct allo_text crate)
{
	for (size_t i = 0; i < COUNT(crates); i++) {
		if (allo_text_equal(crate, crates[i]))
			return true;
	}
	return false;
}

/* Of "<A as B>::f", neither type may be of another crate: T and u8 are of none. */
static bool is_standard_rust(struct allo_text name)
{
	struct allo_text type = crate_of(name), trait = { "", 0 };
	size_t as = name.len > 0 && name.data[0] == '<' ? allo_text_find(name, ALLO_TEXT(" as "))
							: (size_t)-1;

	if (as == (size_t)-1)
		return is_standard(type);
	trait = crate_of(allo_text_from(name, as + strlen(" as ")));
	return (type.len == 0 || is_standard(type)) && is_standard(trait);
}

bool allo_is_rust_function(struct allo_text name, struct allo_text file)
{
	return allo_text_ends(file, ALLO_TEXT(".rs")) ||
	       allo_text_starts(name, ALLO_TEXT("__rust_")) ||
	       allo_text_starts(name, ALLO_TEXT("__rustc")) ||
	       allo_text_starts(name, ALLO_TEXT("std::rt::lang_start")) ||
	       allo_text_find(name, ALLO_TEXT("::__rust_begin_short_backtrace")) < name.len;
}

bool allo_is_script_function(struct allo_text name)
{
	for (size_t i = 0; i < COUNT(scripts); i++) {
		if (allo_text_starts(name, scripts[i]))
			return true;
	}
	return false;
}

/* JavaScript of Node.js itself: "JS:alloc node:buffer:391:30". */
static bool is_of_node(struct allo_text name)
{
	return allo_text_starts(name, ALLO_TEXT("JS:")) &&
	       allo_text_find(name, ALLO_TEXT(" node:")) < name.len;
}

struct allo_text allo_judged_name(const struct allo_profile *profile,
				  const struct allo_function *function)
{
	struct allo_text linkage = allo_profile_text(profile, function->system_name);

	return allo_is_script_function(linkage) ? linkage
						: allo_profile_text(profile, function->name);
}

/* A module of Python's standard library, by its file: "/usr/lib/python3.11/json/decoder.py",
 * "<frozen importlib._bootstrap>".  Maps for perf have the file in the name. */
static bool is_of_python(struct allo_text name, struct allo_text file)
{
	static const struct allo_text folder = ALLO_TEXT_INIT("/lib/python3.");
	struct allo_text before;

	if (!allo_text_starts(name, ALLO_TEXT("py::")))
		return false;
	if (file.len == 0 && !allo_text_cut_last(name, ':', &before, &file))
		return false;
	return allo_text_starts(file, ALLO_TEXT("<frozen ")) ||
	       (allo_text_find(file, folder) < file.len &&
		allo_text_find(file, ALLO_TEXT("/site-packages/")) >= file.len &&
		allo_text_find(file, ALLO_TEXT("/dist-packages/")) >= file.len);
}

/* Programs have functions that are called clone(), too; the C library's is an assembly file. */
static bool is_startup(struct allo_text name, struct allo_text file)
{
	if (allo_text_equal(name, ALLO_TEXT("clone")) && file.len > 0 &&
	    !allo_text_ends(file, ALLO_TEXT(".S")))
		return false;
	return allo_is_startup(name) || allo_is_startup_border(name);
}

static bool is_in_folder(struct allo_text file, const struct allo_text *folders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (allo_text_find(file, folders[i]) < file.len)
			return true;
	}
	return false;
}

enum allo_file_library allo_known_file(struct allo_text path)
{
	if (is_in_folder(path, cpp_folders, COUNT(cpp_folders)))
		return ALLO_FILE_OF_CPP;
	if (allo_text_ends(path, ALLO_TEXT(".rs")) &&
	    is_in_folder(path, rust_folders, COUNT(rust_folders)))
		return ALLO_FILE_OF_RUST;
	return ALLO_FILE_OF_NONE;
}

static bool is_cpp_file(struct allo_text file)
{
	struct allo_text name = allo_basename(file);

	for (size_t i = 0; i < COUNT(cpp_files); i++) {
		if (allo_text_equal(name, cpp_files[i]))
			return true;
	}
	return false;
}

static struct allo_known_code find_family(struct allo_text name)
{
	for (size_t i = 0; i < COUNT(families); i++) {
		for (const char *const *at = families[i].names; *at; at++) {
			if (matches(*at, name))
				return (struct allo_known_code){ families[i].role,
								 families[i].library };
		}
	}
	return (struct allo_known_code){ ALLO_ROLE_CODE, NULL };
}

struct allo_known_code allo_known_function(struct allo_text given, struct allo_text file,
					   bool is_rust)
{
	char room[ALLO_PLAIN_NAME_MAX];
	struct allo_text name = allo_rust_name_plain(given, room);
	bool has_other_file = file.len > 0 && !allo_text_ends(file, ALLO_TEXT(".rs"));
	enum allo_file_library of = allo_known_file(file);

	if (is_of_node(name))
		return (struct allo_known_code){ ALLO_ROLE_LIBRARY, "Node.js" };
	if (is_of_python(name, file))
		return (struct allo_known_code){ ALLO_ROLE_SCRIPT_LIBRARY,
						 "Python standard library" };
	if (allo_is_script_function(name))
		return (struct allo_known_code){ ALLO_ROLE_SCRIPT, NULL };
	if (allo_is_allocator(name, file))
		return (struct allo_known_code){ ALLO_ROLE_ALLOCATOR, NULL };
	if (is_startup(name, file))
		return (struct allo_known_code){ ALLO_ROLE_STARTUP, NULL };
	if (of == ALLO_FILE_OF_RUST || (is_rust && !has_other_file && is_standard_rust(name)) ||
	    allo_text_equal(name, ALLO_TEXT("__rust_try")))
		return rust;
	if (of == ALLO_FILE_OF_CPP || is_cpp_file(file))
		return (struct allo_known_code){ ALLO_ROLE_LIBRARY, "C++ standard library" };
	return find_family(allo_qualified_name(name));
}

bool allo_is_interpreter(struct allo_text module)
{
	static const struct allo_text modules[] = {
		ALLO_TEXT_INIT("python3"),
		ALLO_TEXT_INIT("libpython3"),
		ALLO_TEXT_INIT("libnode.so"),
	};
	struct allo_text name = allo_basename(module);

	for (size_t i = 0; i < COUNT(modules); i++) {
		if (allo_text_starts(name, modules[i]))
			return true;
	}
	return allo_text_equal(name, ALLO_TEXT("node"));
}

struct allo_known_code allo_known_module(struct allo_text path)
{
	struct allo_text name = allo_basename(path);

	for (size_t i = 0; i < COUNT(runtimes); i++) {
		if (allo_text_starts(name, runtimes[i].name))
			return (struct allo_known_code){ ALLO_ROLE_LIBRARY, runtimes[i].library };
	}
	return (struct allo_known_code){ ALLO_ROLE_CODE, NULL };
}
