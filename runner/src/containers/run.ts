/** One job: a container for it, its files, the run in it, and what becomes of the container. */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { InputFiles } from "../files/inputs.ts";
import type { OutputFiles, OutputRun } from "../files/outputs.ts";
import type { Outcome, Session } from "../interfaces/interface.ts";
import { type RunnableJob, type RunSignals, runIdOf, type Sink } from "../jobs/executor.ts";
import { TokenUsage } from "../jobs/token-usage.ts";
import type { Container, ContainerParts } from "./container.ts";
import { asFailure, failed, internal, toldTo } from "./failure.ts";
import type { ContainerPool } from "./pool.ts";

const CANCELED: Finish = { status: "canceled", output: "none" };

export interface RunParts extends ContainerParts {
  inputs: InputFiles;
  outputs: OutputFiles;
}

export async function runJob(
  fleet: ContainerPool,
  parts: RunParts,
  job: RunnableJob,
  sink: Sink,
  signals: RunSignals,
): Promise<Finish> {
  const stop = AbortSignal.any([signals.cancel, signals.abandon]);
  const claimed = performance.now();
  // Beside the start of the container, which takes a while too and is of no use without them.
  const inputs = parts.inputs.open(job, stop);
  const broken = new AbortController();
  inputs.catch((error) => broken.abort(error));
  const wait = AbortSignal.any([stop, broken.signal]);
  const tell = (progress: SetupProgress) => {
    // What it prints may have anything in it that its owner gave it.
    if (job.setup_logs || progress.logs === undefined) sink.setup(progress);
  };
  try {
    for (;;) {
      let outcome: Outcome | undefined;
      const container = await fleet.join(job, parts, wait);
      const left = new AbortController();
      try {
        const session = await container.session(tell, wait);
        const setup_seconds = (performance.now() - claimed) / 1_000;
        const abandon = () => session.endsByClosing || void abandonIn(container);
        signals.abandon.addEventListener("abort", abandon, { signal: left.signal });
        const { input } = await inputs;
        const run = await runIn(session, parts.outputs, { job, input, container, sink, stop });
        outcome = run.outcome;
        if (outcome.container === "killed") {
          await container.condemn(internal("another prediction in the container did not stop"));
        }
        const { imageBytes: image_bytes } = container;
        const measured = job.measure && image_bytes ? { image_bytes } : {};
        if (!belongsElsewhere(outcome, container))
          return { ...run.finish, setup_seconds, ...measured };
      } finally {
        // However it has ended: from here on the container is others'.
        left.abort("left");
        fleet.leave(container, job.limits.idle_seconds, outcome);
      }
    }
  } catch (error) {
    if (stop.aborted) return CANCELED;
    return failed(toldTo(job.setup_logs, asFailure(error, parts.log)));
  } finally {
    inputs.then(
      ({ close }) => close(),
      () => {},
    );
  }
}

/**
 * The run, and the files of its output out of the container. `outcome` is the container's own:
 * that a file could not be stored is none of its doing.
 */
async function runIn(
  session: Session,
  outputs: OutputFiles,
  run: Omit<OutputRun, "declaresFiles">,
): Promise<{ outcome: Outcome; finish: Finish }> {
  const { input, stop } = run;
  const { call, limits, model: named } = run.job;
  const { owner, name } = named;
  const stored = outputs.open({ ...run, declaresFiles: session.declaresFiles });
  try {
    const meter = call && new TokenUsage(stored, call, input);
    const sink = meter ?? stored;
    const model = `${owner}/${name}`;
    const outcome = await session.run({
      id: runIdOf(run.job),
      call,
      model,
      input,
      limits,
      sink,
      stop,
      keep: stored.keep,
    });
    // What was refused has used nothing.
    if (!outcome.refused && !outcome.untaken) meter?.settle();
    return { outcome, finish: await stored.settle(outcome.finish) };
  } finally {
    await stored.close();
  }
}

/**
 * Whether another container may do what this one refused: it may have died of a run before. What
 * a new one refuses, or one that is full beside others, the next would refuse as well.
 */
function belongsElsewhere({ untaken }: Outcome, container: Container): boolean {
  if (!untaken || !container.isUsed) return false;
  return untaken === "refused" || container.users === 1;
}

/** Others in the container are not to suffer: with them, the run is cancelled like any other. */
async function abandonIn(container: Container): Promise<void> {
  if (container.users === 1) await container.kill(internal("the prediction was abandoned"));
}
