/** One job: a container for it, the run in it, and what becomes of the container. */
import type { Finish } from "../../../src/protocol/channel.ts";
import type { RunnableJob, RunSignals, Sink } from "../executor.ts";
import type { Outcome } from "../interfaces/interface.ts";
import type { Container, ContainerParts } from "./container.ts";
import { asFailure, failed, internal } from "./failure.ts";
import type { Fleet } from "./fleet.ts";

const CANCELED: Finish = { status: "canceled", output: "none" };

export async function runJob(
  fleet: Fleet,
  parts: ContainerParts,
  job: RunnableJob,
  sink: Sink,
  signals: RunSignals,
): Promise<Finish> {
  const stop = AbortSignal.any([signals.cancel, signals.abandon]);
  const claimed = performance.now();
  let outcome: Outcome | undefined;
  try {
    const container = await fleet.join(job, parts, stop);
    try {
      const session = await container.session((progress) => sink.setup(progress), stop);
      const setup_seconds = (performance.now() - claimed) / 1_000;
      const abandon = () => void abandonIn(container);
      signals.abandon.addEventListener("abort", abandon, { once: true });
      const { prediction_id: id, input, limits } = job;
      outcome = await session.run({ id, input, limits, sink, stop });
      signals.abandon.removeEventListener("abort", abandon);
      if (outcome.container === "killed") {
        await container.kill(internal("another prediction in the container did not stop"));
      }
      return { ...outcome.finish, setup_seconds };
    } finally {
      fleet.leave(container, job.limits.idle_seconds, outcome);
    }
  } catch (error) {
    return stop.aborted ? CANCELED : failed(asFailure(error, parts.log));
  }
}

/** Others in the container are not to suffer: with them, the run is cancelled like any other. */
async function abandonIn(container: Container): Promise<void> {
  if (container.users === 1) await container.kill(internal("the prediction was abandoned"));
}
