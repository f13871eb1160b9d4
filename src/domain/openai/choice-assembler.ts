/** Assembles the choices of a chat from their pieces. */
import { isObject } from "../../lib/json.ts";
import type { ChatDelta } from "../../protocol/openai/chat.ts";
import type { Logprobs, StreamedChoice } from "./chat-choice.ts";

type Call = NonNullable<ChatDelta["tool_calls"]>[number];

const TEXTS = new Set(["content", "refusal", "reasoning_content", "reasoning"]);

/** All choices of a chat. */
export class ChoiceAssembler {
  readonly #wholes = new Map<number, Whole>();

  add(piece: StreamedChoice): void {
    const whole = this.#wholes.get(piece.index) ?? new Whole();
    this.#wholes.set(piece.index, whole);
    whole.add(piece);
  }

  /** The choices so far. */
  get value(): object[] {
    return [...this.#wholes].sort(([a], [b]) => a - b).map(([, whole]) => whole.choice());
  }
}

/** One choice. */
class Whole {
  #choice: Partial<StreamedChoice> = {};
  #message: ChatDelta = {};
  readonly #calls = new Map<number, Call>();
  #logprobs: Logprobs | null = null;

  add({ delta, finish_reason, logprobs, ...rest }: StreamedChoice): void {
    Object.assign(this.#choice, rest, finish_reason && { finish_reason });
    const { tool_calls, ...fields } = delta;
    for (const [name, value] of Object.entries(fields)) this.#merge(name, value);
    for (const call of tool_calls ?? []) this.#call(call);
    if (logprobs) {
      const content = extended(this.#logprobs?.content, logprobs.content);
      const refusal = extended(this.#logprobs?.refusal, logprobs.refusal);
      this.#logprobs = { ...logprobs, content, refusal };
    }
  }

  choice(): object {
    const { role, content, refusal = null, ...rest } = this.#message;
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    const silent = content === "" && (calls.length > 0 || refusal !== null);
    return {
      ...this.#choice,
      message: {
        ...rest,
        role,
        content: silent ? null : content,
        refusal,
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: this.#logprobs,
    };
  }

  /** Adds a value of a delta: strings are appended; of other values the last one counts. */
  #merge(name: string, value: unknown) {
    const before = this.#message[name];
    if (name === "function_call" && isObject(before) && isObject(value)) {
      const args = [before, value].map((one) => one.arguments ?? "").join("");
      this.#message[name] = { name: before.name || value.name, arguments: args };
    } else
      this.#message[name] =
        TEXTS.has(name) && typeof before === "string" ? `${before}${value ?? ""}` : value;
  }

  #call({ index: told, function: called, ...piece }: Call) {
    const index = told ?? 0;
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

/** Appends in place: a copy per token would take quadratic time. */
function extended(list: object[] | null | undefined, more: object[] | null): object[] | null {
  if (!list || !more) return more ?? list ?? null;
  for (const token of more) list.push(token);
  return list;
}
