// Loads a file in Valgrind's own DHAT viewer: node dh_view_load.mjs dh_view.js FILE
//
// Prints the viewer's state as JSON: its page, its sums, and its program points; or the
// error that it gave.
import fs from "node:fs";
import path from "node:path";
import { openViewer } from "./dh_view_page.mjs";

const [script, file] = process.argv.slice(2);
const evaluate = openViewer(script, {
  file: { name: path.basename(file), text: fs.readFileSync(file, "utf8") },
});

function sums(node) {
  const { _totalBytes: tb, _totalBlocks: tbk, _totalLifetimes: tl, _maxBytes: mb, _maxBlocks: mbk,
          _atTGmaxBytes: gb, _atTGmaxBlocks: gbk, _atTEndBytes: eb, _atTEndBlocks: ebk,
          _readsBytes: rb, _writesBytes: wb } = node;
  return { tb, tbk, tl, mb, mbk, gb, gbk, eb, ebk, rb, wb };
}

// The leaves of the viewer's tree, which are the program points.
function* points(node, frames, data) {
  const all = [...frames, ...node._frames];
  if (!node._kids) {
    const texts = all.slice(1).map(index => data.ftbl[index]);
    yield { frames: texts, ...sums(node), acc: node._accesses };
    return;
  }
  for (const kid of node._kids) {
    yield* points(kid, all, data);
  }
}

// The page for each sort order that the viewer offers for this file.
function shown() {
  const select = evaluate("gSelect");
  const texts = {};
  for (const [index, option] of select.childNodes.entries()) {
    if (!option.disabled) {
      option.selected = true;
      evaluate("changeSortMetric()");
      texts[option.label] = evaluate("gMainDiv").textContent;
    }
  }
  return texts;
}

function view() {
  evaluate("onLoad(); gInput.files = [file]; loadFile();");
  return {
    shown: shown(),
    sums: sums(evaluate("gRoot")),
    points: [...points(evaluate("gRoot"), [], evaluate("gData"))],
  };
}

// Access counts that have run over are infinite there, which JSON has no word for.
function replace(key, value) {
  return value === Infinity ? "infinite" : value;
}

try {
  console.log(JSON.stringify(view(), replace));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
