/** The runner's log: one line per event on stderr, as text or JSON. */
import { RUNNER_LOG_LEVELS as LEVELS } from "../../../src/protocol/runner-log.ts";
import { type LogRing, OfRun } from "./log-ring.ts";

export { LEVELS };
export type Level = (typeof LEVELS)[number];

export type Fields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  with(fields: Fields): Log;
}

export interface LogOptions {
  level: Level;
  format: "text" | "json";
  write?: (line: string) => void;
  /** Keeps the last lines. */
  ring?: LogRing;
}

export function createLog(options: LogOptions, context: Fields = {}): Log {
  const { level: threshold, ring, write = (line) => process.stderr.write(line) } = options;
  const format = options.format === "json" ? jsonLine : textLine;
  const at = (level: Level) => (message: string, fields?: Fields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(threshold)) return;
    const [time, all] = [new Date(), { ...context, ...fields }];
    write(`${format(time, level, message, all)}\n`);
    ring?.add({ at: time.getTime(), level, text: messageText(message, outlined(all)) });
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => createLog(options, { ...context, ...fields }),
  };
}

const jsonLine = (time: Date, level: Level, message: string, fields: Fields) =>
  JSON.stringify({ time: time.toISOString(), level, message, ...fields }, (_name, value) => {
    const whole = value instanceof OfRun ? value.value : value;
    return whole instanceof Error ? whole.stack : whole;
  });

function textLine(time: Date, level: Level, message: string, fields: Fields): string {
  const clock = time.toISOString().slice(11, 23);
  return `${clock} ${level.padEnd(5)} ${messageText(message, fields)}`;
}

function messageText(message: string, fields: Fields): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${plain(value)}`);
  return plain(message, /\p{Cc}/u) + pairs.join("");
}

const outlined = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof OfRun ? value.outline : value,
    ]),
  );

/** Returns the field, quoted unless it is a single word, so that container output cannot forge a log line. */
function plain(field: unknown, unsafe = /[\s"=\p{Cc}]/u): string {
  const value = field instanceof OfRun ? field.value : field;
  const text = value instanceof Error ? (value.stack ?? value.message) : String(value);
  return text === "" || unsafe.test(text) ? JSON.stringify(text) : text;
}

/**
 * An unhandled rejection is a defect. By default it ends the process, and with it every prediction
 * on the machine. Uncaught exceptions (`uncaughtException`) still end the runner, since they leave
 * its state unknown.
 */
export function surviveUnhandledRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    const error = reason instanceof Error ? reason : String(reason);
    log.error("unhandled rejection; this is a bug in the runner", { error: new OfRun(error) });
  });
}
