/* painter.ts - draws the boxes of a flame graph on a 2D canvas: fills grouped by colour, then texts. */
import { elide } from "../elide.ts";
import type { Palette } from "../palette.ts";
import type { Colouring } from "./colours.ts";
import { type Boxes, Culler, type Tree } from "./layout.ts";

export const ROW = 20;
const FONT = "11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const TEXT_X = 5;
const LEAST_TEXT = 30; /* pixels: three characters and the margins */
const DIMMED = 0.22;

export interface FlamePicture {
	tree: Tree;
	root: number;
	ancestors: readonly number[]; // calls above the root, outermost first
	colouring: Colouring;
	palette: Palette;
	width: number;
	height: number;
	scroll: number;
	content: number; // height of all rows in pixels, at least that of the view
	isUpward: boolean;
	hovered: number | undefined;
	cursor: number | undefined;
	matches: Uint8Array | undefined; // by node: 1 for search results
	nameOf: (node: number) => string;
	ancestorName: (call: number) => string;
	noteOf: (node: number) => string; // size and share, for wide boxes
}

/* The top edge of a row on the canvas. */
export function rowTop(picture: FlamePicture, row: number): number {
	const y = picture.isUpward ? picture.content - (row + 1) * ROW : row * ROW;
	return y - picture.scroll;
}

export function rowAt(picture: FlamePicture, y: number): number {
	const distance = picture.isUpward ? picture.content - (y + picture.scroll) : y + picture.scroll;
	return Math.floor(distance / ROW);
}

export class FlamePainter {
	private readonly culler = new Culler();
	private hatch: CanvasPattern | null = null;
	private newHatch: CanvasPattern | null = null;
	private hatchColour = "";
	private charWidth = 0;
	boxes: Boxes | undefined;

	constructor(private readonly g: CanvasRenderingContext2D) {}

	paint(picture: FlamePicture, ratio: number): void {
		const { g } = this;
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = picture.palette.background;
		g.fillRect(0, 0, picture.width, picture.height);
		g.font = FONT;
		g.textBaseline = "middle";
		this.charWidth ||= g.measureText("0000000000").width / 10;
		const [firstRow, lastRow] = this.visibleRows(picture);
		this.boxes = this.culler.cull(picture.tree, {
			root: picture.root,
			pixels: picture.width,
			firstRow,
			lastRow,
		});
		this.fillBoxes(picture, this.boxes);
		if (picture.tree.before) this.markChanges(picture, this.boxes, picture.tree.before);
		this.fillAncestors(picture);
		this.writeTexts(picture, this.boxes);
		this.outline(picture, this.boxes);
	}

	/* Rows of the tree on screen; ancestors take the first rows of the picture. */
	private visibleRows(picture: FlamePicture): [number, number] {
		const a = rowAt(picture, 0) - picture.ancestors.length;
		const b = rowAt(picture, picture.height) - picture.ancestors.length;
		return [Math.max(0, Math.min(a, b)), Math.max(a, b)];
	}

	private fillBoxes(picture: FlamePicture, boxes: Boxes): void {
		const { g } = this;
		const { colours, index } = picture.colouring;
		const above = picture.ancestors.length;
		const groups: number[][] = colours.map(() => []);
		const rests: number[] = [];

		for (let i = 0; i < boxes.count; i++) {
			const node = boxes.node[i]!;
			if (node < 0) rests.push(i);
			else groups[index[node]!]!.push(i);
		}
		groups.forEach((group, colour) => {
			g.fillStyle = colours[colour]!;
			for (const i of group) {
				if (picture.matches) g.globalAlpha = picture.matches[boxes.node[i]!] ? 1 : DIMMED;
				g.fillRect(boxes.x[i]!, rowTop(picture, boxes.row[i]! + above), boxWidth(boxes.width[i]!), ROW - 1);
			}
		});
		g.globalAlpha = picture.matches ? DIMMED : 1;
		g.fillStyle = this.hatchOf(picture.palette) ?? picture.palette.line;
		for (const i of rests)
			g.fillRect(boxes.x[i]!, rowTop(picture, boxes.row[i]! + above), boxWidth(boxes.width[i]!), ROW - 1);
		g.globalAlpha = 1;
	}

	/* Boxes that only one side has: hatched if they are new, with a dotted outline if they are gone. */
	private markChanges(picture: FlamePicture, boxes: Boxes, before: Float64Array): void {
		const { g } = this;
		const { total } = picture.tree;

		g.fillStyle = this.newHatchOf(picture.palette) ?? "transparent";
		g.strokeStyle = picture.palette.text;
		g.lineWidth = 1;
		g.setLineDash([1, 2]);
		for (let i = 0; i < boxes.count; i++) {
			const node = boxes.node[i]!;
			if (node < 0) continue;
			const y = rowTop(picture, boxes.row[i]! + picture.ancestors.length);
			const width = boxWidth(boxes.width[i]!);
			if (total[node]! > 0 && before[node] === 0) g.fillRect(boxes.x[i]!, y, width, ROW - 1);
			if (total[node] === 0 && before[node]! > 0 && width > 2)
				g.strokeRect(boxes.x[i]! + 0.5, y + 0.5, width - 1, ROW - 2);
		}
		g.setLineDash([]);
	}

	/* Calls above the zoomed one: as wide as the view, without colour. */
	private fillAncestors(picture: FlamePicture): void {
		const { g } = this;

		picture.ancestors.forEach((call, row) => {
			const y = rowTop(picture, row);
			if (y <= -ROW || y > picture.height) return;
			g.fillStyle = picture.palette.line;
			g.fillRect(0, y, picture.width, ROW - 1);
			g.fillStyle = picture.palette.text;
			g.fillText(elide(picture.ancestorName(call), this.room(picture.width)), TEXT_X, y + ROW / 2);
		});
	}

	private room(width: number): number {
		return Math.floor((width - 2 * TEXT_X) / this.charWidth);
	}

	private writeTexts(picture: FlamePicture, boxes: Boxes): void {
		const { g } = this;
		const above = picture.ancestors.length;

		g.fillStyle = picture.palette.text;
		for (let i = 0; i < boxes.count; i++) {
			if (boxes.width[i]! < LEAST_TEXT) continue;
			const node = boxes.node[i]!;
			const y = rowTop(picture, boxes.row[i]! + above) + ROW / 2;
			const isDim = picture.matches && (node < 0 || !picture.matches[node]);
			if (isDim) g.globalAlpha = 0.55;
			this.writeText(picture, node, boxes.x[i]!, y, boxes.width[i]!);
			if (isDim) g.globalAlpha = 1;
		}
	}

	private writeText(picture: FlamePicture, node: number, x: number, y: number, width: number): void {
		const room = this.room(width);
		const name = picture.nameOf(node);
		const note = node >= 0 ? picture.noteOf(node) : "";

		this.g.fillText(elide(name, room), x + TEXT_X, y);
		if (note && name.length + note.length + 3 <= room)
			this.g.fillText(note, x + width - TEXT_X - note.length * this.charWidth, y);
	}

	/* The box under the pointer, the same function elsewhere, and the keyboard's cursor. */
	private outline(picture: FlamePicture, boxes: Boxes): void {
		const { g } = this;
		const { hovered, cursor, tree } = picture;
		const call = hovered !== undefined && hovered > 0 ? tree.call[hovered] : undefined;

		g.strokeStyle = picture.palette.outline;
		for (let i = 0; i < boxes.count; i++) {
			const node = boxes.node[i]!;
			const isSame = node > 0 && call !== undefined && call !== 0 && tree.call[node] === call;
			if (node !== hovered && node !== cursor && !isSame) continue;
			const y = rowTop(picture, boxes.row[i]! + picture.ancestors.length);
			g.lineWidth = node === cursor ? 2 : 1;
			g.setLineDash(isSame && node !== hovered ? [3, 2] : []);
			g.strokeRect(boxes.x[i]! + 0.5, y + 0.5, Math.max(boxWidth(boxes.width[i]!) - 1, 0.5), ROW - 2);
		}
		g.setLineDash([]);
	}

	private hatchOf(palette: Palette): CanvasPattern | null {
		if (this.hatchColour !== palette.line) {
			this.hatchColour = palette.line;
			this.hatch = this.makeHatch(palette.line, palette.background);
			this.newHatch = this.makeHatch(`${palette.text}38`, undefined);
		}
		return this.hatch;
	}

	private newHatchOf(palette: Palette): CanvasPattern | null {
		this.hatchOf(palette);
		return this.newHatch;
	}

	private makeHatch(colour: string, background: string | undefined): CanvasPattern | null {
		const tile = document.createElement("canvas");
		tile.width = tile.height = 6;
		const g = tile.getContext("2d");
		if (!g) return null;
		if (background) {
			g.fillStyle = background;
			g.fillRect(0, 0, 6, 6);
		}
		g.strokeStyle = colour;
		g.lineWidth = 1.5;
		for (const x of [-3, 3, 9]) {
			g.beginPath();
			g.moveTo(x - 4, 7);
			g.lineTo(x + 4, -1);
			g.stroke();
		}
		return this.g.createPattern(tile, "repeat");
	}
}

/* A gap of a pixel between wide boxes; narrow ones keep their width, or they would vanish. */
const boxWidth = (width: number) => (width > 3 ? width - 1 : Math.max(width, 0.5));
