/**
 * Promises about outputs: a succeeded prediction has the requested output, and so has a chat that was read to
 * its end.
 */
import { isDeepStrictEqual } from "node:util";
import { wordsOf } from "../callers/chat.ts";
import type { End, History, MadeCall } from "../history.ts";
import type { Call } from "../plan/calls.ts";
import { type Breach, callIn, endOf, type StormPromise, short } from "./promise.ts";

/** @param pictures hashes of the expected pictures, one for each choice of colours */
export const outputsAreRight = (pictures: string[]): StormPromise => ({
  name: "what succeeded has the output that was asked for",
  check(history) {
    const calls = new Map(history.calls.map((made) => [made.call.n, made]));
    const succeeded = history.ends.filter(({ object }) => object?.status === "succeeded");
    const texts = new Map<number, string[]>();
    const breaches = succeeded.flatMap((end) => {
      const n = callIn(end);
      const made = n === undefined ? undefined : calls.get(n);
      if (!made) return [];
      const fault = faultOf(end, made.call, pictures, texts);
      return fault === undefined ? [] : [{ id: end.id, n, what: fault }];
    });
    return { checked: succeeded.length, breaches };
  },
});

function faultOf(
  end: End,
  { mark, work }: Call,
  pictures: string[],
  texts: Map<number, string[]>,
): string | undefined {
  const { object, picture } = end;
  const output = object?.output ?? null;
  const wrong = (expected: unknown) => `it put out ${short(output)}, not ${short(expected)}`;
  switch (work.kind) {
    case "hello":
      return output === `Hello, ${mark}!` ? undefined : wrong(`Hello, ${mark}!`);
    case "sums": {
      const result = work.numbers.reduce((sum, number) => sum + number, 0);
      const expected = { operation: "sum", count: work.numbers.length, result };
      return isDeepStrictEqual(output, expected) ? undefined : wrong(expected);
    }
    case "large": {
      const isRight = typeof output === "string" && output.length === work.letters;
      return isRight ? undefined : wrong(`${work.letters} letters`);
    }
    case "picture":
      return picture === pictures[work.colours] ? undefined : `its picture is ${picture}`;
    case "stream":
      return wrongText(output, end, work.text, texts);
    default:
      return undefined;
  }
}

/**
 * Returns the fault in a text. One seed writes one text, at several lengths, and the output is that of the
 * log.
 */
function wrongText(
  output: unknown,
  { log }: End,
  seed: number,
  texts: Map<number, string[]>,
): string | undefined {
  const pieces = log.filter(({ event }) => event === "output").map(({ data }) => data);
  if (!Array.isArray(output) || !isDeepStrictEqual(output, pieces))
    return `it put out ${short(output)}, and its log has ${short(pieces)}`;
  const known = texts.get(seed) ?? [];
  const length = Math.min(known.length, output.length);
  if (!isDeepStrictEqual(known.slice(0, length), output.slice(0, length)))
    return `it put out ${short(output)}, another of its seed ${short(known)}`;
  if (output.length > known.length) texts.set(seed, output.map(String));
  return undefined;
}

export const chatsAreHeard: StormPromise = {
  name: "a chat or response that was heard to its end was heard whole",
  check(history) {
    const heard = history.calls.filter((made) => made.heard !== undefined);
    return { checked: heard.length, breaches: heard.flatMap((made) => mishearing(made, history)) };
  },
};

function mishearing({ call, heard, accepted }: MadeCall, history: History): Breach[] {
  if (call.work.kind !== "chat" && call.work.kind !== "response") return [];
  const id = accepted.at(-1)?.id ?? "";
  const said = wordsOf(call, call.work.words).join("");
  const status = endOf(history, id)?.object?.status;
  return [
    ...(heard === said
      ? []
      : [{ id, n: call.n, what: `it heard ${short(heard)}, not ${short(said)}` }]),
    ...(status === "succeeded"
      ? []
      : [{ id, n: call.n, what: `it was heard whole, and is ${status}` }]),
  ];
}
