/**
 * Starts an image once on this machine, so that what only its server tells is known when its version is
 * made, and not after a runner's first start.
 */

import { stripVTControlCharacters } from "node:util";
import { describe } from "../../../runner/src/interfaces/cog/description.ts";
import { waitUntilReady as waitForCog } from "../../../runner/src/interfaces/cog/ready.ts";
import { ContainerClient } from "../../../runner/src/interfaces/container-client.ts";
import { describeServer } from "../../../runner/src/interfaces/describe-server.ts";
import { DEFAULT_TIMING } from "../../../runner/src/interfaces/interface.ts";
import { ListenWatch } from "../../../runner/src/interfaces/listen-watch.ts";
import { waitUntilReady as waitForOpenAi } from "../../../runner/src/interfaces/openai/ready.ts";
import { messageOf } from "../../../runner/src/lib/error.ts";
import { serverFacts } from "../../domain/images/image-facts.ts";
import {
  ANY_SCHEMAS,
  described,
  type Known,
  knownOf,
} from "../../domain/images/server-description.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { TimedOut } from "../../lib/timeout.ts";
import type { Configuration } from "../../protocol/model.ts";
import type { ContainerInterface, ServerDescription } from "../../protocol/runner.ts";
import { Failure as StartFailure } from "../../run/failure.ts";
import { Failure } from "../failure.ts";
import type { Engine } from "../image/engine.ts";
import { type Display, Status } from "../ui/display.ts";
import { formatDuration } from "../ui/progress.ts";
import { containerPlan, engineHasGpu, needsGpu, TrialContainer } from "./container.ts";

export interface CheckOptions {
  engine: Engine;
  image: string;
  /** Schemas and compatibilities that auspex.json gives the version. */
  given: Known;
  /** The version's own configuration; `inherited` is that of the version before. */
  configuration: Configuration | undefined;
  inherited: Configuration | undefined;
  /** Names of variables of this process that the container gets. */
  variables: readonly string[];
  display: Display;
  signal: AbortSignal;
  startMs?: number;
}

/** @returns facts that the version gets because its image does not have them. @throws Failure */
export async function checkImage(options: CheckOptions): Promise<Known> {
  const { engine, image, given, variables, display, signal } = options;
  const { config } = await engine.inspect(image);
  const facts = serverFacts(config);
  const configuration = options.configuration ?? options.inherited ?? {};
  if (facts.expectsWeights || configuration.weights?.length)
    throw new Failure(
      `--check can't start ${image} because only runners download weights. Publish ${WITHOUT_CHECK}`,
    );
  const said =
    interfaceIn(options.configuration) ?? facts.interface ?? interfaceIn(options.inherited);
  const spoken = said ?? "cog";
  const hasGpu = needsGpu(config) && (await engineHasGpu(engine.name, signal));
  const maxConcurrency = configuration.max_concurrency ?? facts.maxConcurrency ?? 1;
  const start = { image, config, spoken, maxConcurrency, variables, hasGpu };
  const plan = containerPlan({ engine: engine.name, ...start });
  if (!said) display.say(SPEAKS_OPENAI);
  let logs = "";
  let description: ServerDescription | undefined;
  try {
    description = await TrialContainer.with(engine.name, plan, async (container) => {
      try {
        return await firstStart(container, {
          ...options,
          spoken,
          maxConcurrency,
          limitSeconds: configuration.listen_timeout_seconds,
        });
      } finally {
        logs = container.logs.toString();
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    const setupLogs = error instanceof StartFailure ? error.setupLogs : undefined;
    const hints = [
      ...(said ? [] : [SPEAKS_OPENAI]),
      ...(needsGpu(config) && !hasGpu
        ? [`The image needs a GPU, and ${engine.name} has none.`]
        : []),
      `Fix it and run the same command again, or publish ${WITHOUT_CHECK}`,
    ];
    const message = `${image} failed to start on this machine: ${messageOf(error)}`;
    throw new Failure([message, lastLines(logs || (setupLogs ?? "")), ...hints].join("\n"));
  }
  if (description) return missing(knownOf(spoken, given, facts), spoken, description, display);
  display.say(NOT_TOLD);
  return {};
}

const interfaceIn = (configuration: Configuration | undefined) =>
  configuration?.interface && interfaceOf(configuration);

const NOT_TOLD =
  "Its schema and APIs couldn't be detected in time. The first runner to start it tries again.";

const WITHOUT_CHECK =
  "without --check to detect its schema and APIs when a runner first starts it.";
const SPEAKS_OPENAI =
  'Assuming a Cog server. If it serves the OpenAI API, add --interface openai, or "interface": "openai" in auspex.json.';

/** Returns the facts that neither the image nor auspex.json says. The deployment validates them. */
function missing(
  known: Known,
  spoken: ContainerInterface,
  description: ServerDescription,
  display: Display,
): Known {
  const { schemas, compatibilities, fault } = described(spoken, known, description);
  if (schemas === ANY_SCHEMAS) {
    const why = fault === undefined ? "No schema detected" : `Its schema is invalid (${fault})`;
    display.say(`${why}. Any input is accepted. Add "schemas" to auspex.json to validate inputs.`);
  }
  return {
    ...(!known.schemas && { schemas }),
    ...(!known.compatibilities && { compatibilities }),
  };
}

/** A deployment waits 30 minutes for a start by default. */
const START_MS = 30 * 60_000;
/** The most lines of the container's logs that a failed start prints. */
const LOG_LINES = 40;

export interface Start {
  spoken: ContainerInterface;
  maxConcurrency: number;
  display: Display;
  signal: AbortSignal;
  startMs?: number;
  /** Seconds in which the server may refuse connections; undefined for the limit of the start. */
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
  status.set("Starting on this machine");
  const unfollow = container.logs.follow((text) => {
    const line = lastLines(text, 1);
    if (line) status.set(`Starting on this machine: ${line}`, "");
  });
  const late = new AbortController();
  const after = formatDuration(Math.round(startMs / 1_000));
  const timer = setTimeout(
    () => late.abort(new TimedOut(`it was not ready after ${after}`)),
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
    } else await waitForOpenAi(client, DEFAULT_TIMING, () => {}, end, watch);
    const description = await describeServer(client);
    status.end();
    const seconds = (performance.now() - startedAt) / 1_000;
    display.say(`Started in ${formatDuration(Math.ceil(seconds))}.`);
    return description;
  } finally {
    clearTimeout(timer);
    unfollow();
    status.end();
    client.close();
  }
}

/** `stripVTControlCharacters` removes sequences that move the cursor of a terminal. */
export const lastLines = (text: string, count = LOG_LINES): string =>
  stripVTControlCharacters(text)
    .replace(/\r\n?/g, "\n")
    .trimEnd()
    .split("\n")
    .slice(-count)
    .join("\n");
