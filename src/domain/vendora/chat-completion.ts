/** A chat completion in one piece: its stream, put together. */
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { Said } from "../../protocol/vendora/chat.ts";
import type { Logprobs, StreamedChoice } from "./chat-choice.ts";
import { type ChatAsked, ChatStream } from "./chat-stream.ts";

/**
 * The answer of a prediction that has succeeded, from all that it has put out: pieces, whole
 * completions, or nothing, which is an empty message. Throws Untranslatable.
 */
export function completionOf(asked: ChatAsked, outputs: Json[], metrics: Metrics | null): object {
  const stream = new ChatStream({ ...asked, includeUsage: true });
  const wholes = new Map<number, Whole>();
  let answer = {};
  const add = (event: string, data: Json) => {
    for (const { choices, ...rest } of stream.take({ event, data })) {
      answer = { ...answer, ...rest };
      for (const piece of choices) {
        const whole = wholes.get(piece.index) ?? new Whole();
        wholes.set(piece.index, whole.add(piece));
      }
    }
  };
  for (const output of outputs) add("output", output);
  add("done", { status: "succeeded", metrics });
  const choices = [...wholes].sort(([a], [b]) => a - b).map(([, whole]) => whole.choice());
  return { ...answer, object: "chat.completion", choices };
}

type Call = NonNullable<Said["tool_calls"]>[number];

const TEXTS = new Set(["content", "refusal", "reasoning_content", "reasoning"]);

/** A choice in the making. */
class Whole {
  #choice: Partial<StreamedChoice> = {};
  #message: Said = {};
  readonly #calls = new Map<number, Call>();
  #logprobs: Logprobs | null = null;

  add({ delta, finish_reason, logprobs, ...rest }: StreamedChoice): this {
    Object.assign(this.#choice, rest, finish_reason && { finish_reason });
    const { tool_calls, ...said } = delta;
    for (const [name, value] of Object.entries(said)) this.#say(name, value);
    for (const call of tool_calls ?? []) this.#call(call);
    if (logprobs) {
      const content = grown(this.#logprobs?.content, logprobs.content);
      const refusal = grown(this.#logprobs?.refusal, logprobs.refusal);
      this.#logprobs = { ...logprobs, content, refusal };
    }
    return this;
  }

  choice(): object {
    const { role, content, refusal = null, annotations, ...rest } = this.#message;
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    const silent = content === "" && (calls.length > 0 || refusal !== null);
    return {
      ...this.#choice,
      message: {
        ...rest,
        role,
        content: silent ? null : content,
        refusal,
        ...(annotations ? { annotations } : {}),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: this.#logprobs,
    };
  }

  /** Text goes on; of all else the last word counts. */
  #say(name: string, value: unknown) {
    const before = this.#message[name];
    this.#message[name] =
      TEXTS.has(name) && typeof before === "string" ? `${before}${value ?? ""}` : value;
  }

  #call({ index = 0, function: called, ...piece }: Call) {
    const call = this.#calls.get(index);
    const before = call?.function;
    this.#calls.set(index, {
      ...call,
      ...piece,
      ...(called && {
        function: {
          name: before?.name || (called.name ?? ""),
          arguments: `${before?.arguments ?? ""}${called.arguments ?? ""}`,
        },
      }),
    });
  }
}

/** A list with more at its end. Both are the stream's own: copies for each token would be squares. */
function grown(list: object[] | null | undefined, more: object[] | null): object[] | null {
  if (!list || !more) return more ?? list ?? null;
  for (const token of more) list.push(token);
  return list;
}
