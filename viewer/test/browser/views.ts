/* views.ts - the views that the fake engine answers, except those of source files and SQL. */
export const VIEWS = [
	"overview",
	"flame",
	"table",
	"tree",
	"sandwich",
	"leaks",
	"sizes",
	"lifetimes",
	"threads",
	"blocks",
];
