// Loads a file in DHAT's own viewer, without a browser: node dhat_viewer.js DH_VIEW_JS FILE
//
// Prints as JSON what the viewer made of it: what it shows, its sums, and its program points.  The
// document below does just what the viewer asks of one.
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");

class Element {
  constructor(tag) {
    this.tag = tag;
    this.className = "";
    this.childNodes = [];
    this.parentNode = null;
    this.text = "";
    this.selectedIndex = 0;
  }
  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
    return child;
  }
  replaceChild(child, old) {
    child.parentNode = this;
    this.childNodes[this.childNodes.indexOf(old)] = child;
  }
  cloneNode() {
    const clone = new Element(this.tag);
    clone.className = this.className;
    return clone;
  }
  set selected(isSelected) {
    if (isSelected) {
      this.parentNode.selectedIndex = this.parentNode.childNodes.indexOf(this);
    }
  }
  set textContent(text) {
    this.childNodes = [];
    this.text = text;
  }
  get textContent() {
    return this.text + this.childNodes.map(child => child.textContent).join("");
  }
}

class FileReader {
  readAsText(file) {
    this.onload({ target: { result: file.text } });
  }
}

function textNode(text) {
  const node = new Element("#text");
  node.textContent = text;
  return node;
}

const context = vm.createContext({
  document: {
    title: "",
    body: new Element("body"),
    location: { search: "" },
    createElement: tag => new Element(tag),
    createTextNode: textNode,
  },
  performance,
  URLSearchParams,
  FileReader,
});

function evaluate(expression) {
  return vm.runInContext(expression, context);
}

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

// What is shown for each way of sorting that the viewer offers for this file.
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

function view(file) {
  context.file = { name: path.basename(file), text: fs.readFileSync(file, "utf8") };
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

vm.runInContext(fs.readFileSync(process.argv[2], "utf8"), context);
try {
  console.log(JSON.stringify(view(process.argv[3]), replace));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
}
