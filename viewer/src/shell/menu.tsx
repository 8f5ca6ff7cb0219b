/* menu.tsx - a context menu with keyboard control. */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
	label: string;
	key?: string;
	run: () => void;
	isFirst?: boolean; // of its group
}

export interface OpenMenu {
	x: number;
	y: number;
	title: string;
	items: MenuItem[];
}

export const menu = signal<OpenMenu | undefined>(undefined);

export const isMenuKey = (event: KeyboardEvent): boolean =>
	event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);

let before: Element | null = null;

export function openMenu(next: OpenMenu): void {
	before = document.activeElement;
	menu.value = next;
}

export function closeMenu(): void {
	menu.value = undefined;
	if (before instanceof HTMLElement) before.focus({ preventScroll: true });
}

function moveFocus(list: HTMLElement, step: number): void {
	const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]")];
	const at = items.indexOf(document.activeElement as HTMLElement);

	items[(at + step + items.length) % items.length]?.focus();
}

export function Menu() {
	const list = useRef<HTMLDivElement>(null);
	const current = menu.value;

	useLayoutEffect(() => {
		const box = list.current;
		if (!current || !box) return;
		box.style.left = `${Math.max(4, Math.min(current.x, innerWidth - box.offsetWidth - 8))}px`;
		box.style.top = `${Math.max(4, Math.min(current.y, innerHeight - box.offsetHeight - 8))}px`;
		box.querySelector<HTMLElement>("[role=menuitem]")?.focus();
	}, [current]);
	useEffect(() => {
		const close = (event: Event) =>
			!list.current?.contains(event.target as Node) && menu.peek() && closeMenu();
		addEventListener("pointerdown", close, true);
		return () => removeEventListener("pointerdown", close, true);
	}, []);
	if (!current) return null;
	return (
		<div
			class="menu"
			role="menu"
			aria-label={current.title}
			ref={list}
			data-testid="menu"
			onKeyDown={(event) => {
				if (event.key === "Escape" || event.key === "Tab") closeMenu();
				else if (event.key === "ArrowDown") moveFocus(event.currentTarget, 1);
				else if (event.key === "ArrowUp") moveFocus(event.currentTarget, -1);
				else return;
				event.preventDefault();
				event.stopPropagation();
			}}
		>
			<div class="menu-title" role="presentation">
				{current.title}
			</div>
			{current.items.map((item) => (
				<button
					type="button"
					key={item.label}
					role="menuitem"
					tabIndex={-1}
					class={item.isFirst ? "menu-first" : ""}
					onClick={() => {
						closeMenu();
						item.run();
					}}
				>
					<span>{item.label}</span>
					{item.key && <kbd>{item.key}</kbd>}
				</button>
			))}
		</div>
	);
}
