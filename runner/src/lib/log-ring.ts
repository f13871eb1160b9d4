/**
 * The last lines of the log, in memory, for an operator who asks for them. These lines leave this machine, so
 * they have no content of runs and no secrets: see `OfRun` and `redacted`.
 */
import {
  MAX_RUNNER_LOG_CHARS,
  MAX_RUNNER_LOG_LINE,
  MAX_RUNNER_LOG_LINES,
  type RunnerLogLine,
} from "../../../src/protocol/runner-log.ts";

/**
 * A field that may quote an input, an output or a container's logs. The log on this machine has the whole
 * field; the lines here have only the kind of error and where it was thrown.
 */
export class OfRun {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  /** The part of the value that may leave this machine. */
  get outline(): string {
    const { value } = this;
    if (!(value instanceof Error)) return "(not shown)";
    const code = "code" in value ? value.code : "statusCode" in value ? value.statusCode : "";
    return [value.name, code, ...framesOf(value)].filter((part) => part !== "").join(" ");
  }
}

const MAX_FRAMES = 5;

/**
 * Returns the frames without the message, which may look like frames: the end of the message is known only if
 * the stack begins with it.
 */
function framesOf({ name, message, stack = "" }: Error): string[] {
  const head = [`${name}: ${message}\n`, `${name}\n`].find((one) => stack.startsWith(one));
  if (head === undefined) return [];
  const frames = stack.slice(head.length).split("\n");
  return frames.slice(0, MAX_FRAMES).map((frame) => frame.trim());
}

/** An address with a scheme: its user and its query, which may be a signature, are removed. */
const ADDRESS = /\b([a-z][a-z\d+.-]*:\/\/)(?:[^\s/?#@"']*@)?([^\s?#"']*)(?:[?#][^\s"']*)?/gi;
/** A longer text is cut off before the search, which looks for an address at each letter. */
const MAX_LOOKED_AT = 4 * MAX_RUNNER_LOG_LINE;

/**
 * Tokens of this service (src/domain/accounts/token.ts), and tokens that a header carries. A token may follow
 * a line break, which a quoted text has as two characters.
 */
const TOKEN = /(?:\b|(?<=\\[nrt]))(?:aus[a-z]?_\w+|(Bearer|Basic) +[^\s"']+)/gi;

/** @param secrets texts that are secret wherever they are */
export function redacted(text: string, secrets: readonly string[] = []): string {
  const without = secrets
    .filter((secret) => secret !== "")
    .reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
  return without
    .replace(ADDRESS, "$1$2")
    .replace(TOKEN, (_, scheme?: string) => (scheme === undefined ? "…" : `${scheme} …`));
}

export class LogRing {
  readonly #secrets: readonly string[];
  readonly #lines: RunnerLogLine[] = [];
  #chars = 0;

  constructor(secrets: readonly string[] = []) {
    this.#secrets = secrets;
  }

  /** Returns the lines, oldest first. */
  get lines(): RunnerLogLine[] {
    return [...this.#lines];
  }

  add(line: RunnerLogLine): void {
    const text = redacted(line.text.slice(0, MAX_LOOKED_AT), this.#secrets).slice(
      0,
      MAX_RUNNER_LOG_LINE,
    );
    this.#lines.push({ ...line, text });
    this.#chars += text.length;
    while (this.#lines.length > MAX_RUNNER_LOG_LINES || this.#chars > MAX_RUNNER_LOG_CHARS)
      this.#chars -= this.#lines.shift()?.text.length ?? 0;
  }
}
