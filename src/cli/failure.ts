/** The errors that end a command, and their exit codes. */
import { constants } from "node:os";
import { CommanderError } from "@commander-js/extra-typings";
import { ControlPlaneError, isRetryable, messageOf, statusOf } from "../../runner/src/lib/error.ts";

export const EXIT = { failed: 1, misused: 2 };

/** The command failed; the message says what to do next. */
export class Failure extends Error {
  override readonly name: string = "Failure";
  readonly code: number = EXIT.failed;
}

/** The command itself is wrong: an argument, an option, a setting. */
export class Misuse extends Failure {
  override readonly name = "Misuse";
  override readonly code = EXIT.misused;
}

/** Another program failed that the command ran; the command ends with the same exit code. */
export class CommandEnded extends Failure {
  override readonly name = "CommandEnded";
  override readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

/** SIGPIPE: the reader of the output has closed it, as `head` does. */
export type StopSignal = "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGPIPE";

/** A signal stopped the command. */
export class Interrupted extends Failure {
  override readonly name = "Interrupted";
  override readonly code: number;
  readonly #signal: StopSignal;

  constructor(signal: StopSignal, message = "Interrupted.") {
    super(message);
    this.#signal = signal;
    this.code = 128 + constants.signals[signal];
  }

  saying(message: string): Interrupted {
    return new Interrupted(this.#signal, message);
  }
}

/** Returns the error, or the interrupt with the advice if a signal stopped the command. */
export const endOf = (error: unknown, { reason }: AbortSignal, advice: string): unknown =>
  reason instanceof Interrupted ? reason.saying(advice) : error;

/** A text below the message of the parser. */
export const HELP_HINT = "See --help.";

export interface Explanation {
  /** The message says what happened and what to do next. */
  message: string;
  /** HTTP status, where a service refused the request. */
  status: number | undefined;
  code: number;
}

export function explain(error: unknown): Explanation {
  if (error instanceof CommanderError) return explainMisuse(error);
  const status = statusOf(error);
  const code = error instanceof Failure ? error.code : EXIT.failed;
  const message = messageOf(error).replace(REQUEST_PATH, "$1");
  return { message: [message, ...adviceFor(error)].join("\n"), status, code };
}

/** The prefix of a field's name in a validation error; users know inputs by their names alone. */
const REQUEST_PATH = /(^|; )body\.(?:input\.)?(?=[^\s:]+: )/g;

function explainMisuse({ code, message }: CommanderError): Explanation {
  const isHelp = code === "commander.help";
  const why = isHelp ? "Missing command." : message.replace(/^error: /, "");
  return { message: `${why}\n${HELP_HINT}`, status: undefined, code: EXIT.misused };
}

/** Returns advice on an error. A `Failure` has its advice in its message. */
function adviceFor(error: unknown): string[] {
  const status = statusOf(error);
  if (status === 401) return ["Log in with auspex login, or set AUSPEX_TOKEN to a valid token."];
  if (status === 403)
    return [
      "Log in with a token that has this permission (auspex login), or act for an organization (auspex switch).",
    ];
  if (error instanceof ControlPlaneError && error.httpAddress !== undefined) {
    const { httpAddress } = error;
    return [`Use http: auspex login ${httpAddress} (or AUSPEX_URL=${httpAddress})`];
  }
  if (isRetryable(error) && status === undefined)
    return ["Check your network and the deployment's address (AUSPEX_URL, or auspex login)."];
  return isRetryable(error) ? ["Try again in a moment."] : [];
}
