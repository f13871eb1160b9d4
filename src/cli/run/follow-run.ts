/** Shows a prediction while it runs: what it waits for, its logs, its output. */
import { stripVTControlCharacters, styleText } from "node:util";
import { setupText } from "../../domain/predictions/setup-text.ts";
import type { Json } from "../../protocol/common.ts";
import type { SetupProgress } from "../../protocol/event.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type { PredictionEvent } from "../service/events.ts";
import type { Display } from "../ui/display.ts";
import { Status } from "../ui/status.ts";

/** How much of what was printed is compared with an error. */
const MAX_PRINTED = 64 * 1024;

interface FollowOptions {
  events: AsyncIterable<PredictionEvent>;
  display: Display;
  onCreated?: (id: string, url: string) => void;
  onSetup?: (progress: SetupProgress) => void;
  onOutput: (value: Json) => Promise<void>;
  /** Called before logs are shown. */
  onLogs?: () => void;
}

/** @returns it at its end */
export async function followRun(options: FollowOptions): Promise<Prediction> {
  const { events, display, onCreated, onSetup, onOutput, onLogs } = options;
  const status = new Status(display);
  let printed = "";
  const print = (logs: string) => {
    printed = (printed + logs).slice(-MAX_PRINTED);
    sayLogs(display, logs);
  };
  try {
    for await (const event of events) {
      switch (event.event) {
        case "status": {
          const { prediction, lost, returned } = event.data;
          if (prediction) onCreated?.(prediction.id, prediction.url);
          if (lost !== undefined || returned !== undefined)
            display.say("Its runner was lost: waiting for another.");
          if (event.data.status === "pending") status.set("Waiting for a runner");
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
          return withoutPrinted(event.data, printed);
      }
    }
    throw new Error("The stream ended before the prediction.");
  } finally {
    status.end();
  }
}

/** The error of a failed setup ends with its log, which has been printed by then. */
function withoutPrinted(done: Prediction, printed: string): Prediction {
  const { error } = done;
  const [, message, log = ""] = /^([^\n]*):\n(.+)$/s.exec(error?.message ?? "") ?? [];
  if (!error || !message || !printed.includes(log.trim())) return done;
  return { ...done, error: { ...error, message } };
}

/** In a log, each phase once: not every percent. */
const lineOf = ({ progress, ...rest }: SetupProgress): string =>
  progress === undefined || progress === 0 ? setupText(rest) : "";

/** What a container prints may not move the cursor of a terminal. */
function sayLogs(display: Display, logs: string): void {
  const text = stripVTControlCharacters(logs).replace(/\r\n?/g, "\n").replace(/\n$/, "");
  if (text !== "") display.say(styleText("dim", text, { stream: process.stderr }));
}
