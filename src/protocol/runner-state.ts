/**
 * The state that a runner reports to its pool: with each claim, and whenever it changes, also when it is full
 * (POST /v1/runner/state). A snapshot is whole: each replaces the one before. Its times are durations,
 * because clocks differ. Names of containers and devices are the runner's own.
 */
import { z } from "zod";
import { shownText } from "./common.ts";

/** The most containers and devices that a runner reports; a machine has fewer. */
export const MAX_CONTAINERS = 256;
export const MAX_DEVICES = 256;
/** A report has stopping containers beside those that replace them. */
export const MAX_REPORTED = 2 * MAX_CONTAINERS;
export const MAX_JOBS = 1_000;
/** The most runs in all containers together. Runs of jobs that were given up may take a while to end. */
export const MAX_RUNS = 2 * MAX_JOBS;
/** Runs and setups measured since the last snapshot that was received. What is over is not told. */
export const MAX_MEASURED = 200;

const count = z.int().nonnegative().max(1_000_000);
const milliseconds = z.int().nonnegative().max(31_536_000_000);
/** 1 PiB: no machine has as much. */
const memory = z
  .int()
  .nonnegative()
  .max(2 ** 50);

/** Numbers of a runner's hand-outs rise, also over its sessions. */
export const handout = z.int().positive();

export const containerName = z.string().min(1).max(40);

/** The isolation key of the jobs that may use a container (domain/scheduling/isolation.ts). */
export const containerKey = z.string().min(1).max(64);

export const containerPhase = z.enum(["starting", "ready", "stopping"]);

/** Measurements of a GPU, as far as its driver tells them. */
export const gpuReading = z.object({
  /** The share of the time in which the GPU works, from 0 to 1. */
  utilization: z.number().min(0).max(1).optional(),
  memory_used_bytes: memory.optional(),
  memory_total_bytes: memory.optional(),
  temperature_celsius: z.number().min(-100).max(1_000).optional(),
  power_watts: z.number().nonnegative().max(100_000).optional(),
});
export type GpuReading = z.infer<typeof gpuReading>;

/** The use of a disk, in bytes. Network disks tell sizes that are no safe integers. */
export const diskUse = z.object({
  free: z.number().nonnegative(),
  total: z.number().positive(),
});
export type DiskUse = z.infer<typeof diskUse>;

/**
 * Disks of the machine, as far as they are known. `data`: the fullest one with the runner's own folders.
 * `images`: the one with Docker's images, which may be the same.
 */
const disks = z.object({ data: diskUse.optional(), images: diskUse.optional() });
export type Disks = z.infer<typeof disks>;

const device = gpuReading.extend({
  /** The driver's: `GPU-…`, or `MIG-…`, also with slashes. */
  id: z.string().regex(/^[\w/.:-]{1,100}$/),
  name: shownText(200),
  memory_gb: z.number().nonnegative(),
  /** The container that has the device. */
  holder: containerName.nullable(),
  /** The driver does not list it any more, or says that it has failed: nothing is started on it. */
  lost: z.literal(true).optional(),
});

export const containerState = z.object({
  name: containerName,
  key: containerKey,
  image: shownText(400),
  /** `owner/name:version` of the job that it was started for. */
  version: shownText(200).optional(),
  /** The class that the container was started for. */
  hardware: z.string().min(1).max(63),
  /** Devices that it has, or will have as soon as those that it replaces have stopped. */
  gpus: count,
  phase: containerPhase,
  /** Milliseconds since the container entered the phase. */
  phase_ms: milliseconds,
  /** Milliseconds since the container's last run; null during a run. */
  idle_ms: milliseconds.nullable(),
  users: count,
  /** The number of runs that the container takes at a time. */
  max_concurrency: z.int().min(1).max(1_000_000),
  /** The time that each run has taken so far, ms. */
  runs_ms: z.array(milliseconds).max(MAX_JOBS),
  /** Bytes of RAM that it used when that was measured last; absent if it is not known. */
  memory_bytes: memory.optional(),
});
export type ContainerState = z.infer<typeof containerState>;

/** The duration of a setup or a run of a container: what is expected of the next one. */
const measured = z.object({
  key: containerKey,
  /** Time from the start of the image's pull until the container was ready. */
  setup_ms: milliseconds.optional(),
  run_ms: milliseconds.optional(),
});
export type Measured = z.infer<typeof measured>;

/** A job that was handed out and that has no place there: it goes to another runner, uncounted. */
const declined = z.object({
  handout,
  reason: z.string().max(200),
});
export type Declined = z.infer<typeof declined>;

export const runnerSnapshot = z.object({
  /** Rises with each snapshot of a session: one that comes late does not replace a later one. */
  number: z.int().positive(),
  /** The highest number of a hand-out that it has received; 0 before the first. */
  handed: z.int().nonnegative(),
  /** The number of jobs that the runner may have at a time; fewer while its previous process has some. */
  slots: z.int().nonnegative().max(MAX_JOBS),
  jobs: z.array(handout).max(MAX_JOBS),
  /** The number of containers that the runner may have. */
  max_containers: z.int().min(1).max(MAX_CONTAINERS),
  devices: z.array(device).max(MAX_DEVICES),
  disks,
  containers: z
    .array(containerState)
    .max(MAX_REPORTED)
    .refine(
      (containers) => containers.reduce((sum, { runs_ms }) => sum + runs_ms.length, 0) <= MAX_RUNS,
    ),
  measured: z.array(measured).max(MAX_MEASURED),
  declined: z.array(declined).max(MAX_JOBS),
  /** Receipts since the last one (channel.ts): a runner that does not report on its jobs gets no more. */
  receipts: z.array(z.string().max(64)).max(1_000),
});
export type RunnerSnapshot = z.infer<typeof runnerSnapshot>;

/**
 * Names of containers that capacity claims hold: however long they are idle, they are not stopped. The list
 * replaces the one before, for the containers that the runner had when it asked.
 */
export const keptContainers = z.array(containerName).max(MAX_CONTAINERS).optional();

export const snapshotResponse = z.object({
  keep: keptContainers,
  /** Jobs wait for room in this pool: changes are told at once, not only five times a second. */
  wanted: z.boolean(),
  /** An operator asks for the runner's log, as in the response to a claim. */
  log: z.literal(true).optional(),
});
export type SnapshotResponse = z.infer<typeof snapshotResponse>;
