/* help.tsx - the sheet of all keys. */
import { Dialog } from "./dialog.tsx";
import { dialog } from "./dialogs.ts";
import { KEYS, VIEW_KEYS } from "./keys.ts";

const shown = (key: string) => (key === " " ? "Space" : key);

export function Help() {
	if (dialog.open.value !== "help") return null;
	const all = [...KEYS.filter(({ keys }) => keys.length > 0), ...VIEW_KEYS];
	const groups = [...new Set(all.map(({ group }) => group))];

	return (
		<Dialog title="Keys">
			<div class="help-groups">
				{groups.map((group) => (
					<section key={group}>
						<h3>{group}</h3>
						<dl>
							{all
								.filter((key) => key.group === group)
								.map(({ keys, title }) => (
									<div key={title}>
										<dt>
											{keys.map((key) => (
												<kbd key={key}>{shown(key)}</kbd>
											))}
										</dt>
										<dd>{title}</dd>
									</div>
								))}
						</dl>
					</section>
				))}
			</div>
			<p class="muted">
				Timeline: drag to select, click for a moment, wheel to zoom, double click to select between marks.
				Patterns: text, =WHOLE NAME, /REGEX/; fn:, file: and mod: restrict them.
			</p>
		</Dialog>
	);
}
