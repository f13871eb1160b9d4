/** One job: a container for it, its files, the run in it, and what becomes of the container. */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import type { InputFiles } from "../files/input-files.ts";
import type { OutputFiles, OutputRun } from "../files/output-files.ts";
import type { Outcome, Session } from "../interfaces/interface.ts";
import { type RunnableJob, type RunReporter, type RunSignals, runIdOf } from "../jobs/executor.ts";
import { TokenUsage } from "../jobs/token-usage.ts";
import type { Container, ContainerParts } from "./container.ts";
import { asFailure, failedFinish, internal, withSetupLogs } from "./failure.ts";
import type { ContainerPool } from "./pool.ts";

const CANCELED: Finish = { status: "canceled", output: "none" };

export interface RunParts extends ContainerParts {
  inputs: InputFiles;
  outputs: OutputFiles;
}

export async function runJob(
  pool: ContainerPool,
  parts: RunParts,
  job: RunnableJob,
  reporter: RunReporter,
  signals: RunSignals,
): Promise<Finish> {
  const stop = AbortSignal.any([signals.cancel, signals.abandon]);
  const claimedAt = performance.now();
  // Beside the start of the container, which takes a while too and is of no use without them.
  const inputs = parts.inputs.open(job, stop);
  const broken = new AbortController();
  inputs.catch((error) => broken.abort(error));
  const startSignal = AbortSignal.any([stop, broken.signal]);
  const report = (progress: SetupProgress) => {
    // What it prints may have anything in it that its owner gave it.
    if (job.setup_logs || progress.logs === undefined) reporter.setup(progress);
  };
  try {
    for (;;) {
      let outcome: Outcome | undefined;
      const container = await pool.join(job, parts, startSignal);
      const left = new AbortController();
      try {
        const session = await container.session(report, startSignal);
        const setup_seconds = (performance.now() - claimedAt) / 1_000;
        const abandon = () => session.stopsOnDisconnect || void killIfAlone(container);
        signals.abandon.addEventListener("abort", abandon, { signal: left.signal });
        const { input } = await inputs;
        const run = await runInContainer(session, parts.outputs, {
          job,
          input,
          container,
          reporter,
          stop,
        });
        outcome = run.outcome;
        if (outcome.container === "killed") {
          await container.killOnceUnused(
            internal("another prediction in the container did not stop"),
          );
        }
        const { imageBytes: image_bytes } = container;
        const measured = job.measure && image_bytes ? { image_bytes } : {};
        if (!shouldTryAnother(outcome, container))
          return { ...run.finish, setup_seconds, ...measured };
      } finally {
        // However it has ended: from here on the container is others'.
        left.abort("left");
        pool.leave(container, job.limits.idle_seconds, outcome);
      }
    }
  } catch (error) {
    if (stop.aborted) return CANCELED;
    return failedFinish(withSetupLogs(job.setup_logs, asFailure(error, parts.log)));
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
async function runInContainer(
  session: Session,
  outputs: OutputFiles,
  run: Omit<OutputRun, "declaresFiles">,
): Promise<{ outcome: Outcome; finish: Finish }> {
  const { input, stop } = run;
  const { call, limits, model: named } = run.job;
  const { owner, name } = named;
  const stored = outputs.open({ ...run, declaresFiles: session.declaresFiles });
  try {
    const usage = call && new TokenUsage(stored, call, input);
    const reporter = usage ?? stored;
    const model = `${owner}/${name}`;
    const outcome = await session.run({
      id: runIdOf(run.job),
      call,
      model,
      input,
      limits,
      reporter,
      stop,
      saveFile: stored.saveFile,
    });
    // What was refused has used nothing.
    if (!outcome.inputRejected && !outcome.notAccepted) usage?.settle();
    return { outcome, finish: await stored.settle(outcome.finish) };
  } finally {
    await stored.close();
  }
}

/**
 * Whether another container may do what this one refused: it may have died of a run before. What
 * a new one refuses, or one that is full beside others, the next would refuse as well.
 */
function shouldTryAnother({ notAccepted }: Outcome, container: Container): boolean {
  if (!notAccepted || !container.hasRunBefore) return false;
  return notAccepted === "refused" || container.users === 1;
}

/** Others in the container are not to suffer: with them, the run is cancelled like any other. */
async function killIfAlone(container: Container): Promise<void> {
  if (container.users === 1) await container.kill(internal("the prediction was abandoned"));
}
