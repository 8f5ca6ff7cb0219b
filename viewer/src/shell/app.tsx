/* app.tsx - the frame around all views, and the states in which there is no view. */
import { useEffect } from "preact/hooks";
import { isDropping } from "../drop.ts";
import { formatCount } from "../format.ts";
import { failure, forgetReplies, isGone, progress, session } from "../session.ts";
import { linkTo, state } from "../state.ts";
import { Strip } from "../strip/strip.tsx";
import { VIEWS } from "../views/views.ts";
import { Controls } from "./controls.tsx";
import { DetailsBar } from "./details.tsx";
import { Help } from "./help.tsx";
import { Menu } from "./menu.tsx";
import { CommandPalette } from "./palette.tsx";
import { Failed, Missing, ServerOnly } from "./shown.tsx";
import { TopBar } from "./top_bar.tsx";

export function App() {
	const current = session.value;

	useEffect(() => {
		document.title = current ? `${current.open.file.name.replace(/.*\//, "")} \u2013 allo` : "allo";
	}, [current]);
	return (
		<>
			{current ? <Page /> : <Waiting />}
			{isDropping.value && <div class="drop-hint">Drop a recording or profile to open it</div>}
		</>
	);
}

function Page() {
	return (
		<div class="page">
			<TopBar />
			{isGone.value && <Gone />}
			<Gaps />
			<Strip />
			<Controls />
			<Navigation />
			<main>
				<CurrentView />
			</main>
			<DetailsBar />
			<Menu />
			<Help />
			<CommandPalette />
		</div>
	);
}

function Gone() {
	return (
		<div class="banner" role="alert" data-testid="gone">
			The server does not answer. The page shows its last data.
			<button type="button" onClick={forgetReplies}>
				Try again
			</button>
		</div>
	);
}

/* Numbers of a cut or damaged file look like any others, so every view says that data are missing. */
function Gaps() {
	const gaps = session.value!.open.notes.filter(({ gap }) => gap);

	if (gaps.length === 0) return null;
	return (
		<div class="banner" role="status" data-testid="gaps">
			Data are missing: {gaps.map(({ count, text }) => `${formatCount(count)} ${text}`).join("; ")}.
		</div>
	);
}

function Navigation() {
	return (
		<nav class="views" aria-label="Views">
			{VIEWS.map(({ name, title }, i) => (
				<a
					key={name}
					href={linkTo({ view: name })}
					aria-current={state.value.view === name ? "page" : undefined}
					title={i < 10 ? `Key ${(i + 1) % 10}` : undefined}
					data-testid={`view-${name}`}
				>
					{title}
				</a>
			))}
		</nav>
	);
}

function CurrentView() {
	const view = VIEWS.find(({ name }) => name === state.value.view) ?? VIEWS[0]!;
	const { open, engine } = session.value!;
	const Component = view.component;

	if (view.isServerOnly && !engine.isServer)
		return <ServerOnly title={view.title} command={view.isServerOnly} />;
	if (view.needs && !open.has[view.needs]) return <Missing data={view.needs} title={view.title} />;
	return <Component key={view.name} />;
}

/* Before there is a file. */
function Waiting() {
	if (failure.value)
		return (
			<main class="waiting">
				<Failed error={failure.value} />
			</main>
		);
	return (
		<main class="waiting" data-testid="waiting">
			{progress.value ? (
				<div class="notice" role="status">
					<h1>{progress.value}</h1>
					<div class="progress" />
				</div>
			) : (
				<div class="notice">
					<h1>Drop a heap profile here</h1>
					<p>
						Recordings of Allotrope, DHAT, pprof, heaptrack, massif, jemalloc, folded stacks and more. The
						file stays on this computer.
					</p>
				</div>
			)}
		</main>
	);
}
