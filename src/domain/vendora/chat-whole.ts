/** Pieces of a chat's choices, put together. */
import type { Said } from "../../protocol/vendora/chat.ts";
import type { Logprobs, StreamedChoice } from "./chat-choice.ts";

type Call = NonNullable<Said["tool_calls"]>[number];

const TEXTS = new Set(["content", "refusal", "reasoning_content", "reasoning"]);

/** The choices of an answer, put together of their pieces. */
export class WholeChoices {
  readonly #wholes = new Map<number, Whole>();

  add(piece: StreamedChoice): void {
    const whole = this.#wholes.get(piece.index) ?? new Whole();
    this.#wholes.set(piece.index, whole);
    whole.add(piece);
  }

  /** As far as they have come. */
  get value(): object[] {
    return [...this.#wholes].sort(([a], [b]) => a - b).map(([, whole]) => whole.choice());
  }
}

/** A choice in the making. */
class Whole {
  #choice: Partial<StreamedChoice> = {};
  #message: Said = {};
  readonly #calls = new Map<number, Call>();
  #logprobs: Logprobs | null = null;

  add({ delta, finish_reason, logprobs, ...rest }: StreamedChoice): void {
    Object.assign(this.#choice, rest, finish_reason && { finish_reason });
    const { tool_calls, ...said } = delta;
    for (const [name, value] of Object.entries(said)) this.#say(name, value);
    for (const call of tool_calls ?? []) this.#call(call);
    if (logprobs) {
      const content = grown(this.#logprobs?.content, logprobs.content);
      const refusal = grown(this.#logprobs?.refusal, logprobs.refusal);
      this.#logprobs = { ...logprobs, content, refusal };
    }
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
