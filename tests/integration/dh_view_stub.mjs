// Loads a DHAT file in Valgrind's own viewer, without a browser, and prints what it shows as JSON:
//     node dh_view_stub.mjs dh_view.js FILE
// For each sort metric of its menu in turn, null where the file has too little for it, else the nodes in
// the order in which they stand on the page.
import fs from "node:fs";
import vm from "node:vm";

// As much of a page as the viewer needs to believe in one.
class Element {
  constructor() {
    this.childNodes = [];
    this.selectedIndex = 0;
    this.classList = { toggle() {}, contains: () => true };
  }

  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }

  replaceChild(child, old) {
    this.childNodes.splice(this.childNodes.indexOf(old), 1, child);
    child.parentNode = this;
  }

  cloneNode() {
    return new Element();
  }
}

const page = {
  document: {
    body: new Element(),
    location: { search: "" },
    createElement: () => new Element(),
    createTextNode: () => new Element(),
  },
  performance,
  URLSearchParams,
};
vm.createContext(page);
const inPage = (code) => vm.runInContext(code, page);

const [script, file] = process.argv.slice(2);
inPage(fs.readFileSync(script, "utf8"));
page.text = fs.readFileSync(file, "utf8");
page.shown = [];
page.see = (node, numbers, siblings) => page.shown.push({
  pp: numbers.join("."),
  of: siblings + 1,
  kind: node._kind,
  significance: node._sig,
  frames: node._frames,
  values: Object.fromEntries(Object.entries(node).filter(([, value]) => typeof value === "number")),
  accesses: node._accesses?.map((count) => (count === Infinity ? 65535 : count)),
});
inPage(`
  onLoad();
  gFilename = "file";
  gData = JSON.parse(text);
  buildTree();
  const inner = appendTreeInner;
  appendTreeInner = (node, ...rest) => { see(node, rest[5], rest[6]); inner(node, ...rest); };
`);

const menu = inPage("gSelect.childNodes");
const result = menu.map((option, index) => {
  if (option.disabled) {
    return null;
  }
  page.shown.length = 0;
  inPage(`gSelect.selectedIndex = ${index}; displayTree();`);
  return structuredClone(page.shown);
});
const data = inPage("gData");
console.log(JSON.stringify({
  sorts: result,
  bklt: data.bklt,
  bkacc: data.bkacc,
  ftbl: data.ftbl,
  leaf: inPage("kLeaf"),
  merged: inPage("kAgg"),
  self: inPage("kSigSelf"),
}));
