// Loads a DHAT file in Valgrind's viewer and prints its page as JSON:
//     node dh_view_nodes.mjs dh_view.js FILE
// For each sort metric of its menu in turn, null where the file has too little for it, else the nodes in
// the order in which they stand on the page.
import fs from "node:fs";
import { openViewer } from "./dh_view_page.mjs";

const [script, file] = process.argv.slice(2);
const shown = [];
const see = (node, numbers, siblings) => shown.push({
  pp: numbers.join("."),
  of: siblings + 1,
  kind: node._kind,
  significance: node._sig,
  frames: node._frames,
  values: Object.fromEntries(Object.entries(node).filter(([, value]) => typeof value === "number")),
  accesses: node._accesses?.map((count) => (count === Infinity ? 65535 : count)),
});
const evaluate = openViewer(script, { see, text: fs.readFileSync(file, "utf8") });
evaluate(`
  onLoad();
  gFilename = "file";
  gData = JSON.parse(text);
  buildTree();
  const inner = appendTreeInner;
  appendTreeInner = (node, ...rest) => { see(node, rest[5], rest[6]); inner(node, ...rest); };
`);

const menu = evaluate("gSelect.childNodes");
const result = menu.map((option, index) => {
  if (option.disabled) {
    return null;
  }
  shown.length = 0;
  evaluate(`gSelect.selectedIndex = ${index}; displayTree();`);
  return structuredClone(shown);
});
const data = evaluate("gData");
console.log(JSON.stringify({
  sorts: result,
  bklt: data.bklt,
  bkacc: data.bkacc,
  ftbl: data.ftbl,
  leaf: evaluate("kLeaf"),
  merged: evaluate("kAgg"),
  self: evaluate("kSigSelf"),
}));
