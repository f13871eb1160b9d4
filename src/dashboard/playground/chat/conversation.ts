/** A conversation in the playground: its turns, and the turns that may follow. */
import { isObject } from "../../../lib/json.ts";

export interface Picture {
  /** URL of the upload; the model gets the file. */
  url: string;
  name: string;
  /** A small data URL, as pages cannot load uploads; empty for one of another place, which is not loaded. */
  preview: string;
}

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, as far as it has come. */
  arguments: string;
  result?: string;
}

export interface UserTurn {
  role: "user";
  text: string;
  pictures: Picture[];
}

export interface Usage {
  input?: number;
  output?: number;
}

export interface AssistantTurn {
  role: "assistant";
  /** The prediction that writes the answer; undefined when none was made. */
  prediction?: string;
  state: "running" | "done" | "stopped" | "failed";
  text: string;
  reasoning: string;
  calls: ToolCall[];
  /** The reason why the answer failed, or ended early. */
  problem?: string;
  usage?: Usage;
  /** Unix ms; 0 for an answer that was not requested here. */
  sentAt: number;
  /** Time from sending to the first output, ms; `totalMs` is the time to the end. */
  firstMs?: number;
  totalMs?: number;
}

export type Turn = UserTurn | AssistantTurn;

export const newAnswer = (sentAt: number): AssistantTurn => ({
  role: "assistant",
  state: "running",
  text: "",
  reasoning: "",
  calls: [],
  sentAt,
});

export const isBusy = (turns: Turn[]): boolean => {
  const last = turns.at(-1);
  return last?.role === "assistant" && last.state === "running";
};

/** Calls of the last answer that wait for a result. */
export function openCalls(turns: Turn[]): ToolCall[] {
  const last = turns.at(-1);
  if (last?.role !== "assistant" || last.state !== "done") return [];
  return last.calls.filter(({ result }) => result === undefined);
}

/**
 * Without the last answer, to ask for another. An answer that continues one with calls leaves that one
 * and its results.
 */
export const withoutAnswer = (turns: Turn[]): Turn[] =>
  turns.at(-1)?.role === "assistant" ? turns.slice(0, -1) : turns;

/** Returns the last message of the user, to edit it, and the turns before it. */
export function beforeLastMessage(
  turns: Turn[],
): { before: Turn[]; message: UserTurn } | undefined {
  const at = turns.findLastIndex(({ role }) => role === "user");
  const message = turns[at];
  return message?.role === "user" ? { before: turns.slice(0, at), message } : undefined;
}

export interface Kept {
  system: string;
  tools: string;
  turns: Turn[];
}

/** A browser keeps some 5 million characters for all pages of a tab. */
const MAX_CHARS = 1_000_000;

/** Returns the conversation as text, without the oldest turns if it is too long. */
export function historyText({ turns, ...kept }: Kept): string {
  for (let from = 0; ; from++) {
    const text = JSON.stringify({ ...kept, turns: turns.slice(from) });
    if (text.length <= MAX_CHARS || from >= turns.length) return text;
  }
}

/** Reads the text of `historyText`. @returns undefined for any other text */
export function readHistory(text: string | null): Kept | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
  return isKept(value) ? { ...value, turns: value.turns.map(resumed) } : undefined;
}

/** The turns are not checked: only this page writes them, under keys that have the number of the format. */
const isKept = (value: unknown): value is Kept =>
  isObject(value) &&
  typeof value.system === "string" &&
  typeof value.tools === "string" &&
  Array.isArray(value.turns);

/** A user who left before the prediction was made cannot come back to it. */
const resumed = (turn: Turn): Turn =>
  turn.role === "assistant" && turn.state === "running" && turn.prediction === undefined
    ? { ...turn, state: "stopped" }
    : turn;
