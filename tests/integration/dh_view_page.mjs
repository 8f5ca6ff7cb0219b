// A page without a browser, for Valgrind's DHAT viewer: it has only the functions that the viewer calls.
import fs from "node:fs";
import vm from "node:vm";

class Element {
  constructor(tag) {
    this.tag = tag;
    this.className = "";
    this.classList = { toggle() {}, contains: () => true };
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

// Runs the viewer's script in a new page.  Names given in `more` are there for the code that is
// evaluated later.
export function openViewer(script, more = {}) {
  const page = vm.createContext({
    document: {
      title: "",
      body: new Element("body"),
      location: { search: "" },
      createElement: (tag) => new Element(tag),
      createTextNode: textNode,
    },
    performance,
    URLSearchParams,
    FileReader,
    ...more,
  });
  const evaluate = (code) => vm.runInContext(code, page);
  evaluate(fs.readFileSync(script, "utf8"));
  return evaluate;
}
