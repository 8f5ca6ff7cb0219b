//! Builds trees whose nodes refer to their parents with Rc instead of Weak: a cycle, which leaks.
//!
//!     rustc -g -O tree.rs && ./tree

use std::cell::RefCell;
use std::rc::Rc;

struct Node {
    name: String,
    parent: RefCell<Option<Rc<Node>>>,
    children: RefCell<Vec<Rc<Node>>>,
}

fn new_node(name: String) -> Rc<Node> {
    Rc::new(Node { name, parent: RefCell::new(None), children: RefCell::new(Vec::new()) })
}

fn add_child(parent: &Rc<Node>, name: String) {
    let child = new_node(name);
    *child.parent.borrow_mut() = Some(Rc::clone(parent)); // Rc::downgrade(parent) would not leak
    parent.children.borrow_mut().push(child);
}

fn build_tree(number: usize) -> usize {
    let root = new_node(format!("the root of tree {number}"));
    for child in 0..10 {
        add_child(&root, format!("child {child} of tree {number}"));
    }
    let children = root.children.borrow();
    children.iter().map(|child| child.name.len()).sum()
}

fn main() {
    let letters: usize = (0..100).map(build_tree).sum();
    println!("{letters} letters in the names of nodes");
}
