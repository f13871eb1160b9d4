/** A reader of a response in the background by the official client, which resumes with starting_after. */
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";

type Event = OpenAI.Responses.ResponseStreamEvent;

/** Between two tries while the control plane is away, ms. */
const RETRY_MS = 50;
const END = /^response\.(completed|incomplete|failed)$/;

export class ResponseWatch {
  readonly events: Event[] = [];
  readonly ended: Promise<void>;
  readonly #openai: OpenAI;

  constructor({ url, token }: { url: string; token: string }, model: string, input: string) {
    this.#openai = new OpenAI({ apiKey: token, baseURL: `${url}/v1/vendora`, maxRetries: 0 });
    this.ended = this.#follow(model, input);
    this.ended.catch(() => {});
  }

  get text(): string {
    return this.events
      .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
      .join("");
  }

  async #follow(model: string, input: string): Promise<void> {
    const { responses } = this.#openai;
    let stream: AsyncIterable<Event> | undefined = await responses.create({
      model,
      input,
      background: true,
      stream: true,
    });
    for (;;) {
      try {
        for await (const event of stream ?? (await this.#resume())) this.events.push(event);
      } catch {
        // The control plane is away.
      }
      if (END.test(this.events.at(-1)?.type ?? "")) return;
      stream = undefined;
      await sleep(RETRY_MS);
    }
  }

  #resume(): Promise<AsyncIterable<Event>> {
    const [first] = this.events;
    if (first?.type !== "response.created") throw new Error("it was never created");
    // An error on the stream is not an event of the response, and has none of its sequence numbers.
    const last = this.events.findLast(({ type }) => type !== "error");
    const starting_after = last?.sequence_number ?? 0;
    return this.#openai.responses.retrieve(first.response.id, { stream: true, starting_after });
  }
}
