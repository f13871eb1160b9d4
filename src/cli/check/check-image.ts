/**
 * Starts an image once on this machine, so that what only its server tells is known when its version is
 * made, and not after a runner's first start.
 */
import { Failure as StartFailure } from "../../../runner/src/containers/failure.ts";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { serverFacts } from "../../domain/images/image-facts.ts";
import {
  ANY_SCHEMAS,
  described,
  type Known,
  knownOf,
} from "../../domain/images/server-description.ts";
import type { Configuration } from "../../protocol/model.ts";
import type { ContainerInterface, ServerDescription } from "../../protocol/runner.ts";
import { Failure } from "../failure.ts";
import type { Engine } from "../image/engine.ts";
import type { Display } from "../ui/display.ts";
import { TrialContainer } from "./container.ts";
import { firstStart, lastLines } from "./first-start.ts";
import { containerPlan, engineHasGpu, needsGpu } from "./plan.ts";

export interface CheckOptions {
  engine: Engine;
  image: string;
  /** What the version is given besides. */
  given: Known;
  /** The version's own; `inherited` is that of the version before. */
  configuration: Configuration | undefined;
  inherited: Configuration | undefined;
  /** Names of variables of this process that the container gets. */
  variables: readonly string[];
  display: Display;
  signal: AbortSignal;
  startMs?: number;
}

/** @returns what the version is to be given, since its image does not say it. @throws Failure */
export async function checkImage(options: CheckOptions): Promise<Known> {
  const { engine, image, given, variables, display, signal } = options;
  const { config } = await engine.inspect(image);
  const facts = serverFacts(config);
  const configuration = options.configuration ?? options.inherited ?? {};
  if (facts.expectsWeights || configuration.weights?.length)
    throw new Failure(
      `--check cannot start ${image}: only runners fetch its weights. Publish ${WITHOUT_CHECK}`,
    );
  const said = options.configuration?.interface ?? facts.interface ?? options.inherited?.interface;
  const spoken = said ?? "cog";
  const hasGpu = needsGpu(config) && (await engineHasGpu(engine.name, signal));
  const maxConcurrency = configuration.max_concurrency ?? facts.maxConcurrency ?? 1;
  const start = { image, config, spoken, maxConcurrency, variables, hasGpu };
  const plan = containerPlan({ engine: engine.name, ...start });
  if (!said) display.say(SPEAKS_VENDORA);
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
      ...(said ? [] : [SPEAKS_VENDORA]),
      ...(needsGpu(config) && !hasGpu ? [`It asks for a GPU, and ${engine.name} has none.`] : []),
      `Correct it and run the same command again, or publish ${WITHOUT_CHECK}`,
    ];
    const message = `${image} does not start on this machine: ${messageOf(error)}`;
    throw new Failure([message, lastLines(logs || (setupLogs ?? "")), ...hints].join("\n"));
  }
  if (description) return missing(knownOf(spoken, given, facts), spoken, description, display);
  display.say(NOT_TOLD);
  return {};
}

const NOT_TOLD =
  "It did not answer in time what it takes and can do: the first runner that starts it asks again.";

const WITHOUT_CHECK = "without --check: the first runner that starts it then tells what it can do.";
const SPEAKS_VENDORA =
  'It is taken for a Cog server. If it speaks OpenAI\'s API, add --interface vendora, or "interface": "vendora" in auspex.json.';

/** What the image does not say, and nobody has given. The deployment checks it. */
function missing(
  known: Known,
  spoken: ContainerInterface,
  description: ServerDescription,
  display: Display,
): Known {
  const { schemas, compatibilities, fault } = described(spoken, known, description);
  if (schemas === ANY_SCHEMAS) {
    const why =
      fault === undefined
        ? "It does not tell its schemas"
        : `The schemas that it tells cannot be used (${fault})`;
    display.say(`${why}: any input goes to it. auspex.json can say more.`);
  }
  return {
    ...(!known.schemas && { schemas }),
    ...(!known.compatibilities && { compatibilities }),
  };
}
