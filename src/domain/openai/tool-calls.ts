/** Reads the tool calls of a chat from their pieces, for all conventions. */
import type { ChatDelta } from "../../protocol/openai/chat.ts";
import { TranslationFailed } from "./translation.ts";

/** The most calls of a chat, each of whose pieces is compared with all. Models make tens. */
const MAX_CALLS = 1_000;

type GivenCall = NonNullable<ChatDelta["tool_calls"]>[number];

export class ToolCall {
  /** The number of the call among the calls: the server's index, unless another call has the same. */
  readonly number: number;
  /** The id; empty if the server gave none, or gave it to an earlier call as well. */
  readonly id: string;
  readonly given: { id: string; index: number | undefined };
  name = "";
  readonly #arguments = new ObjectScan();

  constructor(number: number, id: string, given: ToolCall["given"]) {
    this.number = number;
    this.id = id;
    this.given = given;
  }

  get isWhole(): boolean {
    return this.#arguments.isWhole;
  }

  append(piece: string): void {
    this.#arguments.take(piece);
  }
}

export interface CallPiece {
  call: ToolCall;
  isFirst: boolean;
  /** The name; undefined if it was known before, or still is not. */
  name: string | undefined;
  arguments: string;
  given: GivenCall;
}

export class ToolCallReader {
  readonly #calls: ToolCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  take(given: readonly GivenCall[]): CallPiece[] {
    const seen = new Set<ToolCall>();
    return given.map((one) => {
      const known = this.#find(one, seen);
      const call = known ?? this.#begin(one);
      seen.add(call);
      const name = call.name === "" ? nameIn(one) : "";
      call.name ||= name;
      const args = one.function?.arguments ?? "";
      call.append(args);
      return { call, isFirst: !known, name: name || undefined, arguments: args, given: one };
    });
  }

  /**
   * Finds the call that a piece continues. Some servers give all calls the same index or none, others a new
   * id to each piece of one call, and others repeat its name in each.
   */
  #find(given: GivenCall, seen: ReadonlySet<ToolCall>): ToolCall | undefined {
    const near = this.#calls.filter(
      ({ given: { index } }) => given.index == null || index === undefined || index === given.index,
    );
    const known = given.id ? near.findLast((call) => call.given.id === given.id) : undefined;
    const call = known ?? near.at(-1);
    return call && !isOther(given, call, seen.has(call)) ? call : undefined;
  }

  #begin({ id, index }: GivenCall): ToolCall {
    if (this.#calls.length === MAX_CALLS)
      throw new TranslationFailed(`the model called more than ${MAX_CALLS} tools at once`);
    const isTaken = this.#calls.some((call) => call.given.id === id);
    const given = { id: id ?? "", index: index ?? undefined };
    const numbers = this.#calls.map((call) => call.number);
    const isFree = index != null && !numbers.includes(index);
    const number = isFree ? index : Math.max(-1, ...numbers) + 1;
    const call = new ToolCall(number, isTaken ? "" : given.id, given);
    this.#calls.push(call);
    return call;
  }
}

/** @param isSeen whether the same delta has a piece of this call already */
function isOther(given: GivenCall, call: ToolCall, isSeen: boolean): boolean {
  const name = nameIn(given);
  if (name && call.name && name !== call.name) return true;
  const hasOtherId = !!given.id && given.id !== call.given.id;
  if (isSeen && (name !== "" || hasOtherId)) return true;
  // A piece with the same name may repeat it: it begins another call only once this one is complete.
  const hasSameId = !!given.id && !hasOtherId;
  if (name === "" || hasSameId || !call.isWhole) return false;
  return hasOtherId || !!given.function?.arguments;
}

const nameIn = ({ function: called, custom }: GivenCall): string =>
  called?.name || custom?.name || "";

/** Finds whether the text of an object is complete, by its braces. Each character is read once. */
class ObjectScan {
  #depth = 0;
  #hasBegun = false;
  #isText = false;
  #isEscaped = false;

  get isWhole(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  take(piece: string): void {
    for (const character of piece) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '"') this.#isText = !this.#isText;
      else if (this.#isText) this.#isEscaped = character === "\\";
      else if (character === "{") {
        this.#hasBegun = true;
        this.#depth++;
      } else if (character === "}") this.#depth--;
    }
  }
}
