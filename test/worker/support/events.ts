/** Reads server-sent events. */

export interface ServerEvent {
  id: number;
  event: string;
  data: unknown;
}

/** Reads one stream, event by event, and counts the comments. */
export class EventReader {
  comments = 0;
  readonly #reader: ReadableStreamDefaultReader<string>;
  /** Whole events that `next` has not returned yet, and the pieces of the next one. */
  readonly #blocks: string[] = [];
  #pieces: string[] = [];

  constructor(body: ReadableStream<Uint8Array> | null) {
    if (!body) throw new Error("no body to read");
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Returns the next event, or undefined at the end. */
  async next(): Promise<ServerEvent | undefined> {
    for (;;) {
      const [block] = this.#blocks.splice(0, 1);
      if (block !== undefined) return parse(this.#withoutComments(block));
      const { value, done } = await this.#reader.read();
      if (done) {
        this.#withoutComments(this.#pieces.join(""));
        return undefined;
      }
      this.#add(value);
    }
  }

  /** Returns a block without its comments, which precede an event or follow the last one. */
  #withoutComments(block: string): string {
    const [comments = ""] = /^(?::.*\n)*/.exec(block) ?? [];
    this.comments += comments.split("\n").length - 1;
    return block.slice(comments.length);
  }

  /** Adds a piece to the blocks. Large events arrive in thousands of pieces, which are joined once. */
  #add(piece: string): void {
    const joint = (this.#pieces.at(-1) ?? "").slice(-1) + piece;
    this.#pieces.push(piece);
    if (!joint.includes("\n\n")) return;
    const blocks = this.#pieces.join("").split("\n\n");
    this.#pieces = [blocks.pop() ?? ""];
    this.#blocks.push(...blocks);
  }

  async take(count: number): Promise<ServerEvent[]> {
    const taken: ServerEvent[] = [];
    while (taken.length < count) {
      const event = await this.next();
      if (!event) throw new Error(`the stream ended after ${taken.length} events`);
      taken.push(event);
    }
    return taken;
  }

  async rest(): Promise<ServerEvent[]> {
    const all: ServerEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) all.push(event);
    return all;
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}

function parse(block: string): ServerEvent {
  const fields = new Map(
    block
      .split("\n")
      .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
  );
  return {
    id: Number(fields.get("id")),
    event: fields.get("event") ?? "",
    data: JSON.parse(fields.get("data") ?? "null"),
  };
}

/** Returns all events of a stream that ends. */
export const eventsOf = async (answering: Response | Promise<Response>): Promise<ServerEvent[]> =>
  new EventReader((await answering).body).rest();

export const named = (events: ServerEvent[], name: string) =>
  events.filter(({ event }) => event === name).map(({ data }) => data);
