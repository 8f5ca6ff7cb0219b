/* stack_list.tsx - one stack, innermost call first, with places. */
import { type ComponentChildren, Fragment } from "preact";
import { callMenu } from "../call_actions.ts";
import type { Request } from "../engine.ts";
import { globalRequest, session } from "../session.ts";
import { openMenu } from "../shell/menu.tsx";
import { go } from "../state.ts";
import { useAsk } from "../use_ask.ts";
import { Place } from "./cells.tsx";

/* A long name may go on in the next line after "::". */
const breakable = (name: string) =>
	name.split(/(?<=::)/).map((part, i) => (
		<Fragment key={i}>
			{part}
			<wbr />
		</Fragment>
	));

/* `request` has the filters of the reply that numbered the stack. */
export function StackList({
	stack,
	title,
	request = globalRequest("stack", { stack }),
	children,
}: {
	stack: number;
	title: string;
	request?: Request;
	children?: ComponentChildren; // above the stack
}) {
	const { reply } = useAsk(stack ? request : undefined, ["call"]);
	const names = session.value!.names;
	const lines = reply?.u32("line");

	return (
		<aside class="stack" aria-label={title} data-testid="stack">
			{children}
			<h2>{title}</h2>
			<ol>
				{[...(reply?.u32("call") ?? [])].map((call, i) => {
					const { name, file, kind } = names.of(call);
					const place = file.slice(file.lastIndexOf("/") + 1);
					return (
						<li key={i}>
							<button
								type="button"
								class="plain"
								onClick={() => go({ view: "sandwich", call })}
								onContextMenu={(event) => {
									event.preventDefault();
									openMenu({ x: event.clientX, y: event.clientY, title: name, items: callMenu(call) });
								}}
							>
								<bdi class={kind === 0 ? "own" : ""}>{breakable(name)}</bdi>
							</button>
							<Place place={lines?.[i] ? `${place}:${lines[i]}` : place} path={file} />
						</li>
					);
				})}
			</ol>
		</aside>
	);
}
