/* stack_list.tsx - one stack, innermost call first, with places. */
import { callMenu } from "../call_actions.ts";
import { globalRequest, session } from "../session.ts";
import { openMenu } from "../shell/menu.tsx";
import { go } from "../state.ts";
import { useAsk } from "../use_ask.ts";

export function StackList({ stack, title }: { stack: number; title: string }) {
	const { reply } = useAsk(stack ? globalRequest("stack", { stack }) : undefined, ["call"]);
	const names = session.value!.names;
	const lines = reply?.u32("line");

	return (
		<aside class="stack" aria-label={title} data-testid="stack">
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
								<bdi class={kind === 0 ? "own" : ""}>{name}</bdi>
								{place && <span class="place">{lines?.[i] ? `${place}:${lines[i]}` : place}</span>}
							</button>
						</li>
					);
				})}
			</ol>
		</aside>
	);
}
