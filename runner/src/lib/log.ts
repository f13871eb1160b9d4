/** The runner's log: one line per event on stderr, as text or JSON. */
export const LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

export type Fields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A log that adds these fields to every line. */
  with(fields: Fields): Log;
}

export interface LogOptions {
  level: Level;
  format: "text" | "json";
  write?: (line: string) => void;
}

export function createLog(options: LogOptions, context: Fields = {}): Log {
  const { level: threshold, write = (line) => process.stderr.write(line) } = options;
  const format = options.format === "json" ? jsonLine : textLine;
  const at = (level: Level) => (message: string, fields?: Fields) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(threshold)) return;
    write(`${format(new Date(), level, message, { ...context, ...fields })}\n`);
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
  JSON.stringify({ time: time.toISOString(), level, message, ...fields }, (_name, value) =>
    value instanceof Error ? value.stack : value,
  );

function textLine(time: Date, level: Level, message: string, fields: Fields): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${plain(value)}`);
  const clock = time.toISOString().slice(11, 23);
  return `${clock} ${level.padEnd(5)} ${plain(message, /\p{Cc}/u)}${pairs.join("")}`;
}

/** Quoted unless it is a single word, so that container output cannot forge a log line. */
function plain(value: unknown, unsafe = /[\s"=\p{Cc}]/u): string {
  const text = value instanceof Error ? (value.stack ?? value.message) : String(value);
  return text === "" || unsafe.test(text) ? JSON.stringify(text) : text;
}
