/** Translates a prediction's log into a stream of choices, such as that of a chat. */
import type { z } from "zod";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { Cost } from "../../protocol/money.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";
import {
  type Assembler,
  costIn,
  ended,
  isAtLimit,
  type LogEntry,
  NO_COST,
  type Translation,
} from "./translation.ts";

interface Head {
  /** `chatcmpl-…` or `cmpl-…` */
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
}

interface HeadOptions extends Head {
  /** The most tokens that each choice may have, if the request has a limit. */
  limit?: number | undefined;
}

interface Chunk<Choice> {
  choices: Choice[];
  usage?: ChatUsage | null | undefined;
  [field: string]: unknown;
}

/** One choice of a stream, normalized to the convention. */
interface ChoicePieces<Choice, Piece> {
  piece(choice: Choice): Piece;
  /** Returns the final piece if the container sent none. @param cut whether the limit was reached */
  end(cut: boolean): Piece[];
}

/** The format of a call's answers. */
export interface ChoiceFormat<Choice, Piece> {
  whole: string;
  chunk: string;
  /** @throws TranslationFailed for an output that is no answer to the call */
  chunksOf(output: Json): Chunk<Choice>[];
  /** @param callPrefix the prefix of ids for tool calls that have none */
  begin(index: number, callPrefix: string): ChoicePieces<Choice, Piece>;
  wholes(): { add(piece: Piece): void; readonly value: object[] };
}

interface StreamedChunk<Piece> extends Head {
  object: string;
  choices: Piece[];
  /** The usage: null before the last chunk; absent unless requested. */
  usage?: FullChatUsage | null;
  [field: string]: unknown;
}

export class ChoiceStream<Choice extends { index: number }, Piece> implements Translation {
  readonly #format: ChoiceFormat<Choice, Piece>;
  readonly #head: Head & { object: string };
  readonly #before: { usage?: null };
  readonly #limit: number | undefined;
  readonly #choices = new Map<number, ChoicePieces<Choice, Piece>>();
  #usage: ChatUsage | undefined;
  #last: object = {};

  constructor(
    format: ChoiceFormat<Choice, Piece>,
    { includeUsage, limit, ...head }: HeadOptions & { includeUsage: boolean },
  ) {
    this.#format = format;
    this.#head = { ...head, object: format.chunk };
    this.#before = includeUsage ? { usage: null } : {};
    this.#limit = limit;
  }

  /**
   * Translates an entry. A failed or canceled prediction ends without a closing chunk: an error is sent
   * instead.
   * @throws TranslationFailed for an output that is no answer to the call
   */
  take({ event, data }: LogEntry): StreamedChunk<Piece>[] {
    if (event === "output")
      return this.#format.chunksOf(data).flatMap((chunk) => this.#passed(chunk));
    if (event !== "done") return [];
    const { status, ...end } = ended.parse(data);
    return status === "succeeded" ? this.#end(end) : [];
  }

  /** Returns a chunk without usage, which is sent at the end; a chunk that has nothing else is dropped. */
  #passed({ usage, choices, ...rest }: Chunk<Choice>): StreamedChunk<Piece>[] {
    const fields = withoutNulls(rest);
    if (usage) {
      this.#usage = usage;
      if (choices.length === 0) {
        this.#last = fields;
        return [];
      }
    }
    const pieces = choices.map((choice) => this.#choice(choice.index).piece(choice));
    return [{ ...fields, ...this.#head, choices: pieces, ...this.#before }];
  }

  #end({ metrics, cost }: Omit<z.infer<typeof ended>, "status">): StreamedChunk<Piece>[] {
    if (this.#choices.size === 0) this.#choice(0);
    const cut = isAtLimit(this.#limit, metrics, this.#choices.size);
    const closing: StreamedChunk<Piece>[] = [...this.#choices.values()]
      .flatMap((choice) => choice.end(cut))
      .map((piece) => ({ ...this.#head, choices: [piece], ...this.#before }));
    if (this.#before.usage === null) {
      const usage = { ...chatUsageOf(this.#usage, metrics), ...NO_COST, ...costIn(cost) };
      closing.push({ ...this.#last, ...this.#head, choices: [], usage });
    }
    return closing;
  }

  #choice(index: number): ChoicePieces<Choice, Piece> {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = this.#format.begin(index, `call_${this.#head.id.slice(-16)}_${index}`);
      this.#choices.set(index, choice);
    }
    return choice;
  }
}

/** The whole answer of a succeeded prediction, from its outputs. @throws TranslationFailed */
export function wholeOf<Choice extends { index: number }, Piece>(
  format: ChoiceFormat<Choice, Piece>,
  options: HeadOptions,
  outputs: Json[],
  metrics: Metrics | null,
  cost: Cost | null = null,
): object {
  const stream = new ChoiceStream(format, { ...options, includeUsage: true });
  const wholes = format.wholes();
  let answer = {};
  const add = (event: string, data: Json) => {
    for (const { choices, ...rest } of stream.take({ event, data })) {
      answer = { ...answer, ...rest };
      for (const piece of choices) wholes.add(piece);
    }
  };
  for (const output of outputs) add("output", output);
  add("done", { status: "succeeded", metrics, cost });
  return { ...answer, object: format.whole, choices: wholes.value };
}

export class ChoicesAssembler<Choice extends { index: number }, Piece> implements Assembler {
  readonly #format: ChoiceFormat<Choice, Piece>;
  readonly #callPrefix: string;
  /** Other fields of the chunks; the last value counts. */
  readonly #fields = new Map<string, unknown>();
  readonly #choices = new Map<number, ChoicePieces<Choice, Piece>>();
  readonly #wholes: ReturnType<ChoiceFormat<Choice, Piece>["wholes"]>;

  constructor(format: ChoiceFormat<Choice, Piece>, callPrefix: string) {
    this.#format = format;
    this.#callPrefix = callPrefix;
    this.#wholes = format.wholes();
  }

  take(event: Json): void {
    for (const { choices, ...rest } of this.#format.chunksOf(event)) {
      // vLLM sends `usage: null` until the last chunk.
      for (const [name, value] of Object.entries(rest)) {
        if (value !== null && value !== undefined) this.#fields.set(name, value);
      }
      for (const choice of choices) this.#wholes.add(this.#piece(choice));
    }
  }

  get value(): object | undefined {
    const choices = this.#wholes.value;
    if (choices.length === 0 && this.#fields.size === 0) return undefined;
    return { ...Object.fromEntries(this.#fields), object: this.#format.whole, choices };
  }

  #piece(choice: Choice): Piece {
    const { index } = choice;
    const begun =
      this.#choices.get(index) ?? this.#format.begin(index, `${this.#callPrefix}_${index}`);
    this.#choices.set(index, begun);
    return begun.piece(choice);
  }
}

interface FullChatUsage extends ChatUsage {
  completion_tokens: number;
  total_tokens: number;
}

/** The container's own usage, or else the prediction's metrics; 0 where unknown. */
function chatUsageOf(
  usage: ChatUsage | undefined,
  metrics: Metrics | null | undefined,
): FullChatUsage {
  const {
    prompt_tokens = metrics?.input_tokens ?? 0,
    completion_tokens = metrics?.output_tokens ?? 0,
    total_tokens = prompt_tokens + completion_tokens,
    ...details
  } = usage ?? {};
  const known = Object.entries(withoutNulls(details)).map(([name, detail]) => [
    name,
    isObject(detail) ? withoutNulls(detail) : detail,
  ]);
  return { ...Object.fromEntries(known), prompt_tokens, completion_tokens, total_tokens };
}
