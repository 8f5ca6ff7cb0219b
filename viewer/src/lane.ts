/*
 * lane.ts - one request in flight; the newest replaces the waiting one.
 *
 * A user who drags the brush makes requests faster than any engine answers.  Only the last one matters.
 */
export class Lane<Question, Answer> {
	private busy = false;
	private waiting: { question: Question; settle: (answer: Promise<Answer> | undefined) => void } | undefined;

	constructor(private readonly answer: (question: Question) => Promise<Answer>) {}

	/* The answer, or undefined if a newer question came first. */
	ask(question: Question): Promise<Answer | undefined> {
		return new Promise((resolve) => {
			this.waiting?.settle(undefined);
			this.waiting = { question, settle: resolve };
			if (!this.busy) void this.run();
		});
	}

	private async run(): Promise<void> {
		this.busy = true;
		while (this.waiting) {
			const { question, settle } = this.waiting;
			this.waiting = undefined;
			const answer = this.answer(question);
			settle(answer);
			await answer.catch(() => undefined);
		}
		this.busy = false;
	}
}
