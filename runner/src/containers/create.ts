/** Puts the lower half of the runner together: engine, receiver, interfaces, fleet. */
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import { DockerEngine } from "../engines/docker.ts";
import { type Engine, referenceOf } from "../engines/engine.ts";
import type { EngineOptions } from "../engines/options.ts";
import { ProcessEngine } from "../engines/process.ts";
import type { Executor } from "../executor.ts";
import { CogInterface } from "../interfaces/cog.ts";
import { DEFAULT_TIMING, type ServerInterface, type Timing } from "../interfaces/interface.ts";
import { Receiver } from "../interfaces/receiver.ts";
import type { Log } from "../log.ts";
import { failed, internal } from "./failure.ts";
import { Fleet } from "./fleet.ts";
import { runJob } from "./run.ts";

/** Between two looks at the images on the box, ms; a new one is also looked for after its run. */
const IMAGES_INTERVAL = 60_000;

export interface ExecutorOptions {
  /** The runner's name: what its containers are labelled with, and swept by. */
  name: string;
  slots: number;
  engine: EngineOptions;
  log: Log;
  timing?: Partial<Timing>;
}

export function createExecutor(options: ExecutorOptions): Executor {
  const { name, slots, engine: choice, log } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const engine: Engine =
    choice.kind === "docker" ? new DockerEngine(name, choice, log) : new ProcessEngine(choice, log);
  const receiver = new Receiver();
  const servers: Partial<Record<ContainerInterface, ServerInterface>> = {
    cog: new CogInterface(receiver, timing),
  };
  const fleet = new Fleet(slots);
  let images: string[] = [];
  let refreshing: NodeJS.Timeout | undefined;

  const refresh = async () => {
    try {
      images = await engine.images();
    } catch (error) {
      log.warn("the images on this machine cannot be listed", { error: String(error) });
    }
  };

  return {
    async open() {
      receiver.reachedAt(await engine.open((host) => receiver.listen(host)));
      await refresh();
      refreshing = setInterval(() => void refresh(), IMAGES_INTERVAL).unref();
    },
    warm: () => fleet.warm(),
    images: () => images,
    async run(job, sink, signals) {
      const server = servers[job.interface];
      if (!server) return failed(internal(`this runner does not speak ${job.interface} yet`));
      const finish = await runJob(fleet, { engine, server, timing, log }, job, sink, signals);
      if (!images.includes(referenceOf(job.image))) void refresh();
      return finish;
    },
    async close() {
      clearInterval(refreshing);
      await fleet.close();
      await receiver.close();
      await engine.close();
    },
  };
}
