/** Completions of several prompts, for servers that take one prompt at a time. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** The prompts of a list, as text or as tokens; undefined if there is no list of them. */
export function severalPrompts(prompt: Json | undefined): Json[] | undefined {
  if (!Array.isArray(prompt)) return undefined;
  return prompt.every((one) => typeof one === "number") ? undefined : prompt;
}

/** llama.cpp answers several prompts with a list of completions. Any other answer stays as it is. */
export function joinedAnswers(answer: Json | undefined): Json | undefined {
  if (!Array.isArray(answer)) return answer;
  const answers = answer.filter(hasChoices);
  const [first] = answers;
  if (!first || answers.length < answer.length) return answer;
  const joined = new JoinedCompletions(first.choices.length);
  for (const [number, one] of answers.entries()) {
    const choices = one.choices.map((choice, index) =>
      isObject(choice) ? { ...choice, index } : choice,
    );
    joined.add({ ...one, choices }, number);
  }
  return joined.whole;
}

type Body = Record<string, Json>;

const hasChoices = (value: Json): value is Body & { choices: Json[] } =>
  isObject(value) && Array.isArray(value.choices);

const COUNTS = ["prompt_tokens", "completion_tokens", "total_tokens"];

export class JoinedCompletions {
  readonly #choicesEach: number;
  /** The latest usage of each prompt, which are added up. */
  readonly #usages: Body[] = [];
  readonly #sums: Record<string, number> = Object.fromEntries(COUNTS.map((name) => [name, 0]));
  readonly #choices: Json[] = [];
  #last: Body = {};

  /** @param choicesEach of each prompt */
  constructor(choicesEach: number) {
    this.#choicesEach = choicesEach;
  }

  /**
   * Returns a chunk or a completion of one prompt as that of the list, with the usage of all prompts so far.
   */
  numbered(value: Json, prompt: number): Body {
    const { usage, ...rest } = isObject(value) ? value : {};
    if (isObject(usage)) this.#count(usage, prompt);
    return {
      ...rest,
      ...(hasChoices(rest) && { choices: rest.choices.map((one) => this.#choice(one, prompt)) }),
      ...(isObject(usage) && { usage: { ...this.#sums } }),
    };
  }

  /** Adds a completion to the whole. */
  add(value: Json, prompt: number): void {
    this.#last = this.numbered(value, prompt);
    if (hasChoices(this.#last)) this.#choices.push(...this.#last.choices);
  }

  get whole(): Json {
    return { ...this.#last, choices: this.#choices };
  }

  #choice(choice: Json, prompt: number): Json {
    if (!isObject(choice)) return choice;
    const index = typeof choice.index === "number" ? choice.index : 0;
    return { ...choice, index: prompt * this.#choicesEach + index };
  }

  /** A server may report a usage with each chunk, and a request may have many prompts. */
  #count(usage: Body, prompt: number): void {
    const before = this.#usages[prompt] ?? {};
    for (const name of COUNTS)
      this.#sums[name] =
        (this.#sums[name] ?? 0) + Number(usage[name] ?? 0) - Number(before[name] ?? 0);
    this.#usages[prompt] = usage;
  }
}
