/** One choice of a completion, normalized to the convention, and all of them assembled. */
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { CompletionChunk } from "../../protocol/openai/chat.ts";
import { finishReasonOf } from "./chat-choice.ts";

type Choice = CompletionChunk["choices"][number];

const FINISH_REASONS = ["stop", "length", "content_filter"] as const;

export interface TextPiece extends Choice {
  text: string;
  finish_reason: (typeof FINISH_REASONS)[number] | null;
  /** Lists of facts about each token. */
  logprobs: Record<string, unknown> | null;
}

export class CompletionChoice {
  readonly #index: number;
  #finished = false;

  constructor(index: number) {
    this.#index = index;
  }

  /** Returns the next piece. A finish reason is only in one; some servers send an empty one before. */
  piece({ text, finish_reason, logprobs, ...rest }: Choice): TextPiece {
    const reason = finish_reason && !this.#finished ? reasonOf(finish_reason) : null;
    this.#finished ||= reason !== null;
    return {
      ...withoutNulls(rest),
      text: text ?? "",
      logprobs: isObject(logprobs) ? logprobs : null,
      finish_reason: reason,
    };
  }

  /** Returns the final piece if the container sent none. @param cut whether the limit was reached */
  end(cut: boolean): TextPiece[] {
    if (this.#finished) return [];
    return [this.piece({ index: this.#index, text: "", finish_reason: cut ? "length" : "stop" })];
  }
}

function reasonOf(reason: string): (typeof FINISH_REASONS)[number] {
  const known = finishReasonOf(reason);
  return FINISH_REASONS.find((one) => one === known) ?? "stop";
}

export class TextAssembler {
  readonly #wholes = new Map<number, { texts: string[]; choice: TextPiece }>();

  add({ text, finish_reason, logprobs, ...rest }: TextPiece): void {
    const before = this.#wholes.get(rest.index);
    const texts = before?.texts ?? [];
    texts.push(text);
    const choice = {
      ...before?.choice,
      ...rest,
      text: "",
      finish_reason: finish_reason ?? before?.choice.finish_reason ?? null,
      logprobs: extended(before?.choice.logprobs ?? null, logprobs),
    };
    this.#wholes.set(rest.index, { texts, choice });
  }

  /** The choices so far. */
  get value(): object[] {
    return [...this.#wholes]
      .sort(([a], [b]) => a - b)
      .map(([, { texts, choice }]) => ({ ...choice, text: texts.join("") }));
  }
}

/** Appends in place: a copy per token would take quadratic time. */
function extended(
  logprobs: TextPiece["logprobs"],
  more: TextPiece["logprobs"],
): TextPiece["logprobs"] {
  if (!logprobs || !more) return more ? structuredClone(more) : logprobs;
  for (const [name, list] of Object.entries(more)) {
    const before = logprobs[name];
    if (Array.isArray(before) && Array.isArray(list)) for (const one of list) before.push(one);
    else logprobs[name] = list;
  }
  return logprobs;
}
