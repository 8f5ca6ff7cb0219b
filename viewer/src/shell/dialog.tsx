/* dialog.tsx - a modal dialog; the browser keeps the focus inside and closes it with Escape. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "./dialogs.ts";

export function Dialog({ title, children }: { title: string; children: ComponentChildren }) {
	const element = useRef<HTMLDialogElement>(null);

	// Before the next key: it belongs to the dialog.
	useLayoutEffect(() => {
		element.current?.showModal();
	}, []);
	return (
		<dialog
			ref={element}
			class="dialog"
			aria-label={title}
			onClose={() => dialog.close()}
			onClick={(event) => event.target === element.current && element.current?.close()}
			onKeyDown={(event) => event.key === "?" && element.current?.close()}
		>
			<header>
				<h2>{title}</h2>
				<button type="button" aria-label="Close" onClick={() => element.current?.close()}>
					{"\u00d7"}
				</button>
			</header>
			{children}
		</dialog>
	);
}
