/**
 * Runs one job: gets a container and the input files, runs the job, and settles what happens to the
 * container.
 */
import { onAbort } from "../../../src/lib/timeout.ts";
import type { Finish } from "../../../src/protocol/channel.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";
import { Failure, failedFinish, internal, ofMachine } from "../../../src/run/failure.ts";
import { PassingReporter, type RunReporter } from "../../../src/run/run-reporter.ts";
import { soundUsage } from "../../../src/run/sound-usage.ts";
import { TokenUsage } from "../../../src/run/token-usage.ts";
import type { DeviceWatch } from "../devices/device-watch.ts";
import type { Ledger } from "../devices/ledger.ts";
import type { InputFiles, ReachableInput } from "../files/input-files.ts";
import type { OutputFiles, OutputRun } from "../files/output-files.ts";
import { wavSecondsIn } from "../files/wav-file.ts";
import type { Outcome, Session } from "../interfaces/interface.ts";
import { type RunEnd, type RunnableJob, type RunSignals, runIdOf } from "../jobs/executor.ts";
import { asFailure, withSetupLogs } from "../lib/failure.ts";
import type { Log } from "../lib/log.ts";
import type { Container, ContainerParts } from "./container.ts";
import type { ContainerPool } from "./pool.ts";

const WARM: Finish = { status: "succeeded", output: "none" };
const CANCELED: Finish = { status: "canceled", output: "none" };

export interface RunParts extends ContainerParts, GpuParts {
  inputs: InputFiles;
  outputs: OutputFiles;
}

/** @param placed the container that the job has joined already */
export async function runJob(
  pool: ContainerPool,
  parts: RunParts,
  job: RunnableJob,
  reported: RunReporter,
  signals: RunSignals,
  placed?: Container,
): Promise<RunEnd> {
  const stop = AbortSignal.any([signals.cancel, signals.abandon]);
  const reporter = new CrashOutput(reported);
  const claimedAt = signals.claimedAt ?? performance.now();
  let setup_seconds: number | undefined;
  let first = placed;
  let hasBegun = false;
  let latest: Container | undefined;
  let runMs = 0;
  // Inputs are fetched while the container starts: the start takes time too and is useless without inputs.
  const inputs = parts.inputs.open(job, stop);
  const broken = new AbortController();
  inputs.catch((error) => broken.abort(error));
  const startSignal = AbortSignal.any([stop, broken.signal]);
  const report = (progress: SetupProgress) => {
    if (progress.phase === "ready") {
      setup_seconds = Math.round(performance.now() - claimedAt) / 1_000;
      return reporter.setup({ ...progress, seconds: setup_seconds });
    }
    // The output may contain anything that the model's owner put into the container.
    if (job.setup_logs || progress.logs === undefined) reporter.setup(progress);
  };
  const billable = () => ({
    run_seconds: runMs / 1_000,
    setup_seconds: (latest?.setupMsOf(runIdOf(job)) ?? 0) / 1_000,
  });
  try {
    for (;;) {
      let outcome: Outcome | undefined;
      const container = first ?? (await pool.join(job, parts, startSignal));
      latest = container;
      first = undefined;
      let leave = () => {};
      let endRun = (_succeeded: boolean) => 0;
      let succeeded = false;
      let end: Finish;
      try {
        const session = await container.session(report, startSignal);
        if (!session.stopsOnDisconnect) leave = whenAbandoned(container, signals.abandon);
        if (job.describe) container.description.ask(session);
        const { input, files } = await inputs;
        hasBegun = true;
        if (job.warm_up) {
          end = { ...WARM, ...timeOf(setup_seconds), ...(await factsOf(job, container)) };
          return { ...end, billable: billable() };
        }
        endRun = container.begin();
        const run = await runInContainer(session, parts.outputs, files, {
          job,
          input,
          container,
          reporter,
          stop,
        });
        outcome = run.outcome;
        succeeded = run.finish.status === "succeeded";
        if (outcome.container === "killed") {
          await container.killOnceUnused(
            internal("another prediction in the container could not be stopped"),
          );
        }
        const facts = await factsOf(job, container);
        if (shouldTryAnother(outcome, container)) continue;
        if (run.finish.status === "failed") reporter.addToRun(container.crashOutput);
        const finish = await blameGpus(run.finish, container, parts);
        end = { ...finish, ...timeOf(setup_seconds), ...facts };
      } catch (error) {
        const text = error instanceof Failure ? `${error.message} ${error.setupLogs ?? ""}` : "";
        throw (await gpuFailure(text, container, parts)) ?? error;
      } finally {
        // From here on the container belongs to other runs.
        runMs = endRun(succeeded);
        leave();
        pool.leave(container, job.limits.idle_seconds, outcome, signals.abandon.aborted);
      }
      return { ...end, billable: billable() };
    }
  } catch (error) {
    if (stop.aborted) return { ...CANCELED, billable: billable() };
    const failure = asFailure(error, parts.log);
    if (job.setup_logs) reporter.addToSetup(failure.setupLogs ?? "");
    const finish = failedFinish(withSetupLogs(job.setup_logs, failure));
    return { ...finish, billable: billable(), hasFailedStart: failure.ofMachine && !hasBegun };
  } finally {
    inputs.then(
      ({ close }) => close(),
      () => {},
    );
  }
}

/** The facts that the job asks for. */
async function factsOf({ measure, describe }: RunnableJob, container: Container) {
  const { imageBytes: image_bytes } = container;
  const description = describe && (await container.description.read());
  return { ...(measure && image_bytes && { image_bytes }), ...(description && { description }) };
}

const timeOf = (setup_seconds: number | undefined) =>
  setup_seconds === undefined ? {} : { setup_seconds };

/** The finish, with another error if it was the GPUs. */
async function blameGpus(finish: Finish, container: Container, parts: GpuParts): Promise<Finish> {
  if (finish.status !== "failed" || !finish.error) return finish;
  const failure = await gpuFailure(finish.error.message, container, parts);
  return failure ? { ...finish, ...failedFinish(failure, finish.output) } : finish;
}

/** Abandons the container with the run, until the returned function is called. */
function whenAbandoned(container: Container, signal: AbortSignal): () => void {
  let forget = () => {};
  const ignore = onAbort(signal, () => {
    forget = container.abandon();
  });
  return () => {
    ignore();
    forget();
  };
}

/**
 * The run and the files of its output. `outcome` is about the container alone: it is not to blame
 * if a file could not be stored.
 */
async function runInContainer(
  session: Session,
  outputs: OutputFiles,
  files: ReachableInput["files"],
  run: Omit<OutputRun, "declaresFiles">,
): Promise<{ outcome: Outcome; finish: Finish }> {
  const { input, stop } = run;
  const { call, responses, traceparent, limits, model: named } = run.job;
  const { owner, name } = named;
  const stored = outputs.open({ ...run, declaresFiles: session.declaresFiles });
  try {
    const secondsIn = (text: string) => {
      const file = files.get(text);
      return file && wavSecondsIn(file).then((seconds) => seconds ?? null);
    };
    // To count tokens uses none.
    const uses = call !== null && call !== "count_tokens";
    const sound = uses ? soundUsage(stored, call, input, secondsIn) : undefined;
    const usage = uses ? new TokenUsage(sound ?? stored, call, input) : undefined;
    const reporter = usage ?? stored;
    const model = `${owner}/${name}`;
    const outcome = await session.run({
      id: runIdOf(run.job),
      call,
      responses,
      model,
      input,
      traceparent,
      files,
      limits,
      reporter,
      stop,
      saveFile: stored.saveFile,
    });
    // A rejected run has used no tokens.
    if (!outcome.inputRejected && !outcome.notAccepted) {
      usage?.settle();
      await sound?.settle();
    }
    return { outcome, finish: await stored.settle(outcome.finish) };
  } finally {
    await stored.close();
  }
}

/**
 * Whether another container may accept the run that this container rejected, since an earlier run may have
 * broken this one. A rejection by a new container, or by one that is full, holds for the next container too.
 */
function shouldTryAnother({ notAccepted }: Outcome, container: Container): boolean {
  if (!notAccepted || !container.hasRunBefore) return false;
  return notAccepted === "refused" || container.users === 1;
}

/** Only failures whose text matches ABOUT_GPUS cause a check of the GPUs. */
const ABOUT_GPUS = /cuda|nvml|nvidia|\bgpus?\b/i;

/** NVML reports REVOKED if the container has the device files and may not open them. */
const REVOKED = /Failed to initialize NVML: Unknown Error/;

/** Every program that uses a GPU opens CONTROL_DEVICE first. */
const CONTROL_DEVICE = "/dev/nvidiactl";

/**
 * GPUs are revoked where systemd manages the cgroups of containers and does not know the devices that
 * NVIDIA's hook has added: a reload of its units resets the list of devices.
 */
const REMEDY =
  "A reload of the machine's systemd units (systemctl daemon-reload, or an update of its packages) " +
  "removes them from running containers. To prevent this, the operator can use CDI in Docker " +
  "(the default with Docker 28.2 and NVIDIA Container Toolkit 1.18; with an earlier toolkit, run " +
  "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), or set " +
  '"exec-opts": ["native.cgroupdriver=cgroupfs"] in /etc/docker/daemon.json';

interface GpuParts {
  devices: DeviceWatch;
  ledger: Ledger;
  log: Log;
}

/**
 * @param text the error of the run
 * @returns undefined if no fault of the container's GPUs is found
 */
async function gpuFailure(
  text: string,
  container: Container,
  { devices, ledger, log }: GpuParts,
): Promise<Failure | undefined> {
  const { gpus, reference: image } = container;
  if (gpus.length === 0 || !ABOUT_GPUS.test(text)) return undefined;
  await devices.check();
  const lost = gpus.filter((gpu) => ledger.isLost(gpu));
  // The log has said so, and the container is on its way out.
  if (lost.length > 0) return ofMachine(`${namesOf(lost)} of the runner's machine failed`);
  const mayOpen = await container.canOpen(CONTROL_DEVICE);
  if (mayOpen ?? !REVOKED.test(text)) return undefined;
  const failure = ofMachine(
    `the container lost access to its GPUs, which still work on the machine, and is being replaced. ${REMEDY}`,
  );
  log.warn(failure.message, { image, gpus: gpus.map(({ id }) => id).join(" ") });
  await container.killOnceUnused(failure);
  return failure;
}

const namesOf = (gpus: readonly { name: string; id: string }[]): string =>
  gpus.map(({ name, id }) => `${name} (${id})`).join(", ");

/**
 * The limit of remembered characters, which is more than the logs of an ended container
 * (engines/log-tail.ts).
 */
const MAX_CHARS = 32 * 1024;

/**
 * The last logs of a run. The runner sees a container's last output only once the container has ended; most
 * of its lines are in the logs by then, and only the rest is added.
 */
class CrashOutput extends PassingReporter {
  #logged = "";

  override setup(progress: SetupProgress): void {
    this.#remember(progress.logs ?? "");
    super.setup(progress);
  }

  override logs(text: string): void {
    this.#remember(text);
    super.logs(text);
  }

  /** @param printed what a container printed last that never became ready */
  addToSetup(printed: string): void {
    const logs = unlogged(printed, this.#logged);
    if (logs !== "") this.setup({ phase: "starting", logs });
  }

  /** @param printed what the container printed last during the run */
  addToRun(printed: string): void {
    const text = unlogged(printed, this.#logged);
    if (text !== "") this.logs(text);
  }

  #remember(text: string): void {
    this.#logged += text;
    if (this.#logged.length > 2 * MAX_CHARS) this.#logged = this.#logged.slice(-MAX_CHARS);
  }
}

export function unlogged(printed: string, logged: string): string {
  const known = new Set(logged.split("\n").map((line) => line.trimEnd()));
  const lines = printed.split("\n").filter((line) => line !== "" && !known.has(line.trimEnd()));
  if (lines.length === 0) return "";
  return `${logged === "" || logged.endsWith("\n") ? "" : "\n"}${lines.join("\n")}\n`;
}
