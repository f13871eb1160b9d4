/** Shows a prediction while it runs: the reason why it waits, its logs, its output. */
import { stripVTControlCharacters, styleText } from "node:util";
import { withoutLog } from "../../domain/predictions/log-text.ts";
import { messageText } from "../../domain/predictions/output-text.ts";
import { setupText } from "../../domain/predictions/timeline.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { numberIn } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import type { SetupProgress } from "../../protocol/event.ts";
import type { Schemas } from "../../protocol/model.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { PredictionEvent } from "../service/events.ts";
import { type Display, Status } from "../ui/display.ts";
import type { OutputFiles } from "./output-files.ts";

/** Characters of printed logs that are compared with an error. */
const MAX_PRINTED = 64 * 1024;

/** Most predictions start sooner: the text would only flash. */
const SHOWN_AFTER_MS = 1_000;

interface FollowOptions {
  events: AsyncIterable<PredictionEvent>;
  display: Display;
  onCreated?: (id: string, url: string) => void;
  onSetup?: (progress: SetupProgress) => void;
  onOutput: (value: Json) => Promise<void>;
  /** Called before logs are shown. */
  onLogs?: () => void;
}

/** @returns the prediction at its end */
export async function followRun(options: FollowOptions): Promise<Prediction> {
  const { events, display, onCreated, onSetup, onOutput, onLogs } = options;
  const status = new Status(display);
  let printed = "";
  let waiting: NodeJS.Timeout | undefined;
  const print = (logs: string) => {
    printed = (printed + logs).slice(-MAX_PRINTED);
    sayLogs(display, logs);
  };
  try {
    for await (const event of events) {
      clearTimeout(waiting);
      switch (event.event) {
        case "status": {
          const { prediction, lost, returned } = event.data;
          if (prediction) onCreated?.(prediction.id, prediction.url);
          if (lost !== undefined || returned !== undefined)
            display.say("Lost the runner. Waiting for another.");
          if (event.data.status === "pending")
            waiting = setTimeout(() => status.set("Waiting for a runner"), SHOWN_AFTER_MS);
          if (event.data.status === "started") status.set("Assigned to a runner", "");
          break;
        }
        case "setup":
          onSetup?.(event.data);
          if (event.data.logs) print(event.data.logs);
          if (event.data.phase === "ready") status.set("Running", "");
          else status.set(setupText(event.data), lineOf(event.data));
          break;
        case "logs":
          onLogs?.();
          print(event.data);
          break;
        case "output":
          status.end();
          await onOutput(event.data);
          break;
        case "done":
          return {
            ...event.data,
            error: event.data.error && withoutLog(event.data.error, printed),
          };
      }
    }
    throw new Error("The stream ended before the prediction finished.");
  } finally {
    clearTimeout(waiting);
    status.end();
  }
}

/** A log has each phase once, without every percent. */
const lineOf = ({ progress, ...rest }: SetupProgress): string =>
  progress === undefined || progress === 0 ? setupText(rest) : "";

/** `stripVTControlCharacters` removes sequences that move the cursor of a terminal. */
function sayLogs(display: Display, logs: string): void {
  const text = stripVTControlCharacters(logs).replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (text !== "") display.say(styleText("dim", text, { stream: process.stderr }));
}

export class Printer {
  readonly #write: (text: string) => void;
  readonly #files: OutputFiles;
  readonly #joins: boolean;
  #isFirst = true;
  /** Whether the last line has not ended. */
  #isOpen = false;

  constructor(write: (text: string) => void, files: OutputFiles, schemas: Schemas | undefined) {
    this.#write = write;
    this.#files = files;
    this.#joins = joinsText(schemas);
  }

  async add(value: Json): Promise<void> {
    const text = numberIn(value) === undefined ? messageText(value, this.#isFirst) : undefined;
    if (text !== undefined) this.#piece(text);
    else if (isText(value)) await this.#text(value);
    else if (Array.isArray(value) && value.every(isText))
      for (const item of value) await this.#text(item);
    else this.#line(readableJson(await this.#files.save(value)));
    this.#isFirst = false;
  }

  /** Ends the last line. */
  end(): void {
    if (this.#isOpen) this.#write("\n");
    this.#isOpen = false;
  }

  async #text(value: string): Promise<void> {
    const saved = await this.#files.save(value);
    if (saved === value && this.#joins) this.#piece(value);
    else this.#line(String(saved));
  }

  #piece(text: string): void {
    if (text === "") return;
    this.#write(text);
    this.#isOpen = !text.endsWith("\n");
  }

  #line(text: string): void {
    this.end();
    this.#write(`${text}\n`);
  }
}

/** Whether a value is a text, and not the marked string of a number, whose digits are printed. */
const isText = (value: Json): value is string =>
  typeof value === "string" && numberIn(value) === undefined;

/** Whether its strings are pieces of one text: those of a list are, if the schema says so. */
function joinsText(schemas: Schemas | undefined): boolean {
  if (!schemas) return true;
  const { type, ...keywords } = rootKeywords(schemas, "output");
  return type !== "array" || keywords["x-cog-array-display"] === "concatenate";
}
