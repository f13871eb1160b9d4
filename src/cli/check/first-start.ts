/** Waits until a container's server is ready, as a runner does, and reads what it tells. */
import { stripVTControlCharacters } from "node:util";
import { describe } from "../../../runner/src/interfaces/cog/description.ts";
import { waitUntilReady as waitForCog } from "../../../runner/src/interfaces/cog/ready.ts";
import { ContainerClient } from "../../../runner/src/interfaces/container-client.ts";
import { describeServer } from "../../../runner/src/interfaces/describe-server.ts";
import { DEFAULT_TIMING } from "../../../runner/src/interfaces/interface.ts";
import { ListenWatch } from "../../../runner/src/interfaces/listen-watch.ts";
import { waitUntilReady as waitForVendora } from "../../../runner/src/interfaces/vendora/ready.ts";
import { TimedOut } from "../../lib/timeout.ts";
import type { ContainerInterface, ServerDescription } from "../../protocol/runner.ts";
import type { Display } from "../ui/display.ts";
import { formatDuration } from "../ui/progress.ts";
import { Status } from "../ui/status.ts";
import type { TrialContainer } from "./container.ts";

/** As long as a deployment waits for a start, unless its operator has changed that. */
const START_MS = 30 * 60_000;
/** Of its logs, when it fails. */
const LOG_LINES = 40;

export interface Start {
  spoken: ContainerInterface;
  maxConcurrency: number;
  display: Display;
  signal: AbortSignal;
  startMs?: number;
  /** How long it may refuse connections; undefined: for as long as it may start. */
  limitSeconds?: number | undefined;
}

/** @throws Failure of a runner; TimedOut; the signal's reason */
export async function firstStart(
  container: TrialContainer,
  { spoken, maxConcurrency, display, signal, startMs = START_MS, limitSeconds }: Start,
): Promise<ServerDescription | undefined> {
  const client = new ContainerClient(container.address);
  const status = new Status(display);
  const startedAt = performance.now();
  status.set("Starting it on this machine");
  const unfollow = container.logs.follow((text) => {
    const line = lastLines(text, 1);
    if (line) status.set(`Starting it on this machine: ${line}`, "");
  });
  const late = new AbortController();
  const after = formatDuration(Math.round(startMs / 1_000));
  const timer = setTimeout(
    () => late.abort(new TimedOut(`it is not ready after ${after}`)),
    startMs,
  );
  const end = AbortSignal.any([signal, container.ended, late.signal]);
  const { listening } = container;
  const onNotice = (text: string | undefined) => {
    if (text !== undefined) display.say(`${text}.`);
  };
  const watch = new ListenWatch({ listening, limitSeconds, onNotice });
  try {
    if (spoken === "cog") {
      const wait = { maxConcurrency, report: () => {}, end, watch };
      await waitForCog(client, DEFAULT_TIMING, wait);
      await describe(client, wait);
    } else await waitForVendora(client, DEFAULT_TIMING, () => {}, end, watch);
    const description = await describeServer(client);
    status.end();
    const seconds = (performance.now() - startedAt) / 1_000;
    display.say(`It starts: ready after ${formatDuration(Math.ceil(seconds))}.`);
    return description;
  } finally {
    clearTimeout(timer);
    unfollow();
    status.end();
    client.close();
  }
}

/** What a container prints may not move the cursor of a terminal. */
export const lastLines = (text: string, count = LOG_LINES): string =>
  stripVTControlCharacters(text)
    .replace(/\r\n?/g, "\n")
    .trimEnd()
    .split("\n")
    .slice(-count)
    .join("\n");
