/** Chat completions: plain and streamed. */
import { completionOf } from "../../domain/vendora/chat-completion.ts";
import { ChatStream } from "../../domain/vendora/chat-stream.ts";
import { chatIdOf } from "../../domain/vendora/ids.ts";
import { VendoraProblem } from "../../errors-vendora.ts";
import { prediction as predictionShape } from "../../protocol/prediction.ts";
import type { ChatRequest } from "../../protocol/vendora/chat.ts";
import type { Created } from "../create-prediction.ts";
import type { Services } from "../services.ts";
import { type EndedCall, readerOf, secondsOf } from "./calls.ts";
import { failureOf, timedOut, translated, untranslatable } from "./failure.ts";
import type { LogReader, NumberedEntry } from "./log-reader.ts";
import { eventText, timer, type Writer, writtenStream } from "./streams.ts";

/**
 * Until then a stream that has nothing to say yet may still become an error with a status of its
 * own; after that it begins, so that nobody on the way takes the connection for dead.
 */
const HOLD_MS = 15_000;

export function chatCompletion(
  { settings }: Services,
  model: string,
  { prediction, outputs }: EndedCall,
): object {
  const failure = failureOf(prediction, settings.vendoraTimeoutSeconds);
  if (failure) throw failure;
  const { id, created_at, metrics } = prediction;
  const head = { id: chatIdOf(id), created: secondsOf(created_at), model };
  return translated(() => completionOf(head, outputs, metrics));
}

/**
 * The stream of a completion; leaving it cancels the prediction.
 * @throws VendoraProblem when it fails before its first word
 */
export async function chatStream(
  services: Services,
  begun: Created,
  { model, stream_options }: ChatRequest,
): Promise<ReadableStream<Uint8Array>> {
  const seconds = services.settings.vendoraTimeoutSeconds;
  const late = timer(seconds, timedOut(seconds));
  const { snapshot } = begun;
  const reader = readerOf(services, begun, "cancel");
  const held = await firstWords(reader, late).catch(async (error: unknown) => {
    await reader.cancel();
    throw error;
  });
  const last = held.at(-1);
  const failure = last?.event === "done" ? failureIn(last, seconds) : undefined;
  if (failure && !held.some(isOutput)) throw failure;
  const includeUsage = stream_options?.include_usage === true;
  const head = { id: chatIdOf(snapshot.id), created: secondsOf(snapshot.created_at), model };
  const translation = new ChatStream({ ...head, includeUsage });
  return writtenStream(reader, new ChatWriter(translation, seconds), held, late);
}

const isOutput = ({ event }: NumberedEntry) => event === "output";

/** What the log says up to the first output, or to the end, or until the hold is over. */
async function firstWords(reader: LogReader, late: Promise<never>) {
  const entries: NumberedEntry[] = [];
  const { promise: over, resolve } = Promise.withResolvers<"over">();
  const hold = setTimeout(() => resolve("over"), HOLD_MS);
  try {
    for (;;) {
      const next = await Promise.race([reader.peek(), over, late]);
      if (next === "over" || next === undefined) break;
      reader.take();
      entries.push(...next);
      if (next.some((entry) => isOutput(entry) || entry.event === "done")) break;
    }
  } finally {
    clearTimeout(hold);
  }
  return entries;
}

const failureIn = ({ data }: NumberedEntry, seconds: number) =>
  failureOf(predictionShape.parse(data), seconds);

class ChatWriter implements Writer {
  readonly #translation: ChatStream;
  readonly #seconds: number;

  constructor(translation: ChatStream, seconds: number) {
    this.#translation = translation;
    this.#seconds = seconds;
  }

  write(entry: NumberedEntry): string {
    const failure = entry.event === "done" ? failureIn(entry, this.#seconds) : undefined;
    if (failure) throw failure;
    const data = this.#translation.take(entry).map((chunk) => JSON.stringify(chunk));
    if (entry.event === "done") data.push("[DONE]");
    const last = data.length - 1;
    return data.map((text, n) => eventText(text, n === last ? entry.id : undefined)).join("");
  }

  fail(error: unknown): string {
    const problem = untranslatable(error);
    if (problem instanceof VendoraProblem)
      return eventText(JSON.stringify({ error: problem.error }));
    console.error("stream broken off", { error: String(error) });
    const message =
      "The stream broke off on our side: the event log of the prediction has all of it.";
    const broken = new VendoraProblem(500, { message, code: "server_error" });
    return eventText(JSON.stringify({ error: broken.error }));
  }
}
