/** Reads the tool calls of a chat from their pieces, for all conventions. */
import type { ChatDelta } from "../../protocol/openai/chat.ts";
import { TranslationFailed } from "./translation.ts";

/**
 * The most calls of a chat, since each piece is compared with all calls. Models call tens of tools at a time.
 */
const MAX_CALLS = 1_000;

type Told = NonNullable<ChatDelta["tool_calls"]>[number];

export class ToolCall {
  /** The number of the call among the calls: the server's index, unless another call has the same. */
  readonly number: number;
  /** The id; empty if the server gave none, or gave it to an earlier call as well. */
  readonly id: string;
  readonly told: { id: string; index: number | undefined };
  name = "";
  readonly #arguments = new ObjectScan();

  constructor(number: number, id: string, told: ToolCall["told"]) {
    this.number = number;
    this.id = id;
    this.told = told;
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
  told: Told;
}

export class ToolCallReader {
  readonly #calls: ToolCall[] = [];

  get size(): number {
    return this.#calls.length;
  }

  /** Takes the pieces of one delta, or all calls of a whole message. */
  take(told: readonly Told[]): CallPiece[] {
    const seen = new Set<ToolCall>();
    return told.map((one) => {
      const known = this.#find(one, seen);
      const call = known ?? this.#begin(one);
      seen.add(call);
      const name = call.name === "" ? nameIn(one) : "";
      call.name ||= name;
      const args = one.function?.arguments ?? "";
      call.append(args);
      return { call, isFirst: !known, name: name || undefined, arguments: args, told: one };
    });
  }

  /**
   * Finds the call that a piece continues. Some servers give all calls the same index or none, others a new
   * id to each piece of one call, and others repeat its name in each.
   */
  #find(told: Told, seen: ReadonlySet<ToolCall>): ToolCall | undefined {
    const near = this.#calls.filter(
      ({ told: { index } }) => told.index == null || index === undefined || index === told.index,
    );
    const known = told.id ? near.findLast((call) => call.told.id === told.id) : undefined;
    const call = known ?? near.at(-1);
    return call && !isOther(told, call, seen.has(call)) ? call : undefined;
  }

  #begin({ id, index }: Told): ToolCall {
    if (this.#calls.length === MAX_CALLS)
      throw new TranslationFailed(`the model called more than ${MAX_CALLS} tools at once`);
    const isTaken = this.#calls.some((call) => call.told.id === id);
    const told = { id: id ?? "", index: index ?? undefined };
    const numbers = this.#calls.map((call) => call.number);
    const isFree = index != null && !numbers.includes(index);
    const number = isFree ? index : Math.max(-1, ...numbers) + 1;
    const call = new ToolCall(number, isTaken ? "" : told.id, told);
    this.#calls.push(call);
    return call;
  }
}

/** @param isSeen whether the same delta has a piece of this call already */
function isOther(told: Told, call: ToolCall, isSeen: boolean): boolean {
  const name = nameIn(told);
  if (name && call.name && name !== call.name) return true;
  const hasOtherId = !!told.id && told.id !== call.told.id;
  if (isSeen && (name !== "" || hasOtherId)) return true;
  // A piece with the same name may repeat it: it begins another call only once this one is complete.
  const hasSameId = !!told.id && !hasOtherId;
  if (name === "" || hasSameId || !call.isWhole) return false;
  return hasOtherId || !!told.function?.arguments;
}

const nameIn = ({ function: called, custom }: Told): string => called?.name || custom?.name || "";

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
