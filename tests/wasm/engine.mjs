// The engine under node: its imports, and files that are compressed as a whole.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Decompress, decompress } from "fzstd";

const ZSTD_MAGIC = 0xfd2fb528;

/// The size that the head of a zstd frame states, or -1: recordings always state it.
function statedSize(frame) {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 6) return -1;
  if (view.getUint32(0, true) !== ZSTD_MAGIC) return -1;
  const flags = frame[4];
  const isSingle = (flags >> 5) & 1;
  const at = 5 + (1 - isSingle) + [0, 1, 2, 4][flags & 3];
  const width = flags >> 6 === 0 ? isSingle : 1 << (flags >> 6);
  if (width === 0 || frame.length < at + width) return -1;
  if (width === 1) return frame[at];
  if (width === 2) return view.getUint16(at, true) + 256;
  return width === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

/// Unpacks one frame.  fzstd trusts the stated size, so it is compared before memory is taken for it.
function unpackFrame(frame, size) {
  if (statedSize(frame) !== size) return null;
  try {
    const made = decompress(frame);
    return made.length === size ? made : null;
  } catch {
    return null;
  }
}

/// An instance of the engine, with the two functions that it imports.
export function openEngine(path) {
  const engine = { bytes: () => new Uint8Array(engine.exports.memory.buffer) };
  const imports = {
    random: () => crypto.getRandomValues(new BigUint64Array(1))[0],
    // Writing into the engine's memory at once took more than twice as long as this copy.
    unpack_zstd: (frame, length, out, size) => {
      const made = unpackFrame(engine.bytes().slice(frame, frame + length), size >>> 0);
      if (made) engine.bytes().set(made, out);
      return made ? 1 : 0;
    },
  };
  const module = new WebAssembly.Module(unpackWhole(readFileSync(path)));
  engine.module = module;
  engine.exports = new WebAssembly.Instance(module, { allo: imports }).exports;
  engine.exports._initialize();
  return engine;
}

/// Copies bytes into the engine; the caller frees them.
export function give(engine, bytes) {
  const at = engine.exports.allo_engine_alloc(bytes.length || 1) >>> 0;
  if (at === 0) throw new Error("the engine is out of memory");
  engine.bytes().set(bytes, at);
  return at;
}

/// A copy of the bytes behind a pointer to struct allo_engine_bytes.
export function takeBytes(engine, pointer) {
  const [at, length] = new Uint32Array(engine.exports.memory.buffer, pointer >>> 0, 2);
  return engine.bytes().slice(at, at + length);
}

function unpackZstd(bytes) {
  const pieces = [];
  new Decompress((piece) => pieces.push(piece.slice())).push(bytes, true);
  return Buffer.concat(pieces);
}

/// The contents of a file.  Throws if it is compressed and damaged.
export function unpackWhole(bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes);
  if (bytes.length >= 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC) return unpackZstd(bytes);
  return bytes;
}
