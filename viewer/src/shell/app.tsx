/* app.tsx - the frame around all views, and the states in which there is no view. */
import type { ComponentChild } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { chosenFile, isDropping } from "../drop.ts";
import { formatCount, formatMoment } from "../format.ts";
import { failure, forgetReplies, isGone, progress, session, unknownAsks } from "../session.ts";
import { linkTo, state } from "../state.ts";
import { Strip } from "../strip/strip.tsx";
import { VIEWS, type View, viewOf } from "../views/views.ts";
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
			<div class="banners">
				{isGone.value && <Gone />}
				{failure.value && <Refused />}
				<Gaps />
				<Bounded />
				<OtherRecordings />
			</div>
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

/* The page goes on with its file, such as after a drop that it cannot open. */
function Refused() {
	const { message, hint } = failure.value!;

	return (
		<div class="banner" role="alert" data-testid="refused">
			{message} {hint}
			<button type="button" onClick={() => (failure.value = undefined)}>
				Close
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

/* Totals of the whole run stand beside figures that begin later. */
function Bounded() {
	const { exact_ns, duration_ns } = session.value!.open;

	if (!exact_ns) return null;
	return (
		<div class="banner is-note" role="status" data-testid="bounded">
			Only sums are kept of the time before {formatMoment(exact_ns, (duration_ns ?? 0) / 1000)} (--ring). The
			totals of the overview cover the whole run; all views cover the time since then, with the blocks that
			were live at its start.
		</div>
	);
}

/* Of a directory of recordings, the largest is open. */
function OtherRecordings() {
	const { name, recordings = [] } = session.value!.open.file;
	const others = recordings.filter((path) => path !== name);

	if (others.length === 0) return null;
	return (
		<div class="banner is-note" role="status" data-testid="recordings">
			<details>
				<summary>
					<bdi>{name}</bdi> is the largest of {formatCount(recordings.length)} recordings of the run. How to
					open the others
				</summary>
				<ul>
					{others.map((path) => (
						<li key={path}>
							<code>allo view {path}</code>
						</li>
					))}
				</ul>
			</details>
		</div>
	);
}

function Navigation() {
	const nav = useRef<HTMLElement>(null);
	const { view } = state.value;

	/* On narrow screens, the row of views scrolls. */
	useEffect(() => {
		nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
	}, [view]);
	return (
		<nav class="views" aria-label="Views" ref={nav}>
			{VIEWS.map((each, i) => (
				<a
					key={each.name}
					class={whyMissing(each) ? "is-missing" : ""}
					href={linkTo({ view: each.name })}
					aria-current={view === each.name ? "page" : undefined}
					title={i < 10 ? `Key ${(i + 1) % 10}` : undefined}
					data-testid={`view-${each.name}`}
				>
					{each.title}
					{i < 10 && <kbd aria-hidden="true">{(i + 1) % 10}</kbd>}
				</a>
			))}
		</nav>
	);
}

/* What takes the place of a view that this file, or a report, has no data for. */
function whyMissing({ name, title, needs, isServerOnly, isInReport, reportOption }: View): ComponentChild {
	const { open, engine } = session.value!;

	const isOffered = engine.isServer && !unknownAsks.value.includes(name);

	if (isServerOnly && !isOffered && !isInReport?.())
		return <ServerOnly title={title} command={isServerOnly} option={reportOption} />;
	return needs && !open.has[needs] ? <Missing data={needs} title={title} /> : undefined;
}

function CurrentView() {
	const view = viewOf(state.value.view);
	const Component = view.component;

	return whyMissing(view) ?? <Component key={view.name} />;
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
					<span class="brand">allo</span>
					<h1>Drop a heap profile here</h1>
					<p>
						Recordings of Allotrope, DHAT, pprof, heaptrack, massif, jemalloc, folded stacks and more. The
						file stays on this computer.
					</p>
					<label class="choose">
						Choose a file
						<input
							type="file"
							class="hidden"
							data-testid="choose"
							onChange={(event) => {
								const file = event.currentTarget.files?.[0];
								if (file) chosenFile.value = file;
							}}
						/>
					</label>
				</div>
			)}
		</main>
	);
}
