/** Puts the lower half of the runner together: engine, receiver, interfaces, fleet. */
import { join } from "node:path";
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import type { FileStore } from "../control-plane/client.ts";
import { DockerEngine } from "../engines/docker/docker.ts";
import { type Engine, referenceOf } from "../engines/engine.ts";
import type { EngineOptions } from "../engines/options.ts";
import { ProcessEngine } from "../engines/process/process.ts";
import { type FileOptions, InputFiles } from "../files/inputs.ts";
import { OutputFiles } from "../files/outputs.ts";
import { CogInterface } from "../interfaces/cog/cog.ts";
import { CogWebhooks } from "../interfaces/cog/webhooks.ts";
import { DEFAULT_TIMING, type ServerInterface, type Timing } from "../interfaces/interface.ts";
import { VendoraInterface } from "../interfaces/vendora/vendora.ts";
import type { Executor } from "../jobs/executor.ts";
import type { Log } from "../lib/log.ts";
import { CallbackServer } from "./callback-server.ts";
import { ContainerPool } from "./pool.ts";
import { runJob } from "./run.ts";
import { type TunnelOptions, Tunnels } from "./tunnels.ts";

/** Between two looks at the images on the box, ms; a new one is also looked for after its run. */
const IMAGES_INTERVAL = 60_000;

export interface ExecutorOptions {
  /** The runner's name: what its containers are labelled with, and swept by. */
  name: string;
  slots: number;
  /** At a time; as many as slots when absent. */
  containers?: number;
  engine: EngineOptions;
  /** Where files come from and go to. */
  controlPlane: FileStore;
  files: FileOptions;
  log: Log;
  timing?: Partial<Timing>;
  tunnels?: TunnelOptions;
}

export function createExecutor(options: ExecutorOptions): Executor {
  const { name, slots, containers = slots, engine: choice, log } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const engine: Engine =
    choice.kind === "docker" ? new DockerEngine(name, choice, log) : new ProcessEngine(choice, log);
  const door = new CallbackServer();
  const servers: Record<ContainerInterface, ServerInterface> = {
    cog: new CogInterface(new CogWebhooks(door), timing),
    vendora: new VendoraInterface(timing),
  };
  const open = choice.kind === "process" || choice.sandbox?.egress !== false;
  const tunnels = new Tunnels(door, { open, ...options.tunnels });
  const fleet = new ContainerPool(containers);
  const inputs = new InputFiles(door, options.controlPlane, options.files);
  const outputs = new OutputFiles(door, options.controlPlane, log, {
    directory: join(options.files.cache, "outputs"),
    max_file_bytes: options.files.max_file_bytes,
  });
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
      await outputs.start();
      await inputs.start();
      door.reachedAt(await engine.open((host) => door.listen(host)));
      await refresh();
      refreshing = setInterval(() => void refresh(), IMAGES_INTERVAL).unref();
    },
    warm: () => fleet.warm(),
    images: () => images,
    async run(job, sink, signals) {
      const parts = {
        engine,
        server: servers[job.interface],
        inputs,
        outputs,
        tunnels,
        timing,
        log,
      };
      const finish = await runJob(fleet, parts, job, sink, signals);
      if (!images.includes(referenceOf(job.image))) void refresh();
      return finish;
    },
    async close() {
      clearInterval(refreshing);
      await fleet.close();
      await door.close();
      await outputs.close();
      await engine.close();
    },
  };
}
