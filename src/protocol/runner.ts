/**
 * What a runner calls, in the order in which it does. All of it is authenticated by a runner
 * token (`Authorization: Bearer ausr_…`); the runner only ever calls out.
 *
 * 1. POST /v1/runner/sessions: says who and what it is, once per start.
 * 2. POST /v1/runner/jobs/claim: long poll with the number of free slots.
 * 3. GET /v1/runner/channel, once per job (see channel.ts); for a run that has ended before a
 *    channel was worth opening, POST /v1/runner/report with its only frame, answered as on the
 *    channel. GET /v1/runner/input when the job carries no input.
 *    Files, each by the lease of the job: GET /v1/runner/files/{key} reads one of its inputs.
 *    POST /v1/runner/files?name= stores an output of up to MAX_WHOLE_FILE bytes, the body
 *    of the request, under its media type; POST /v1/runner/uploads and …/uploads/{id}/complete a
 *    larger one, in parts, as upload.ts has it. Both answer with the file's address.
 *    POST /v1/runner/values stores a value that is too large for the log, as JSON text.
 * 4. POST /v1/runner/telemetry: every `telemetry_seconds`; the answer says whether to drain.
 *
 * `auspex-runner check` calls GET /v1/runner/hardware/{identifier}: what the class of machines has
 * that the box is to serve, 403 when the token does not serve it.
 */
import { z } from "zod";
import { digest, jsonObject, uuid } from "./common.ts";
import { egress } from "./egress.ts";

/** Rises when a change breaks older runners. */
export const RUNNER_PROTOCOL = 1;

/** The header that carries the lease of a job on channel and input requests. */
export const LEASE_HEADER = "x-auspex-lease";

export const containerInterface = z.enum(["cog", "vendora"]);
export type ContainerInterface = z.infer<typeof containerInterface>;

/** What a prediction was asked by, of the vendora convention: its input is that call's body. */
export const vendoraCall = z.enum(["chat_completions", "responses", "embeddings"]);
export type VendoraCall = z.infer<typeof vendoraCall>;

export const machine = z
  .object({
    cpus: z.number().int().positive(),
    memory_gb: z.number().positive(),
    gpus: z.array(z.object({ name: z.string().max(200), memory_gb: z.number().nonnegative() })),
  })
  .meta({
    id: "RunnerMachine",
    example: { cpus: 16, memory_gb: 128, gpus: [{ name: "NVIDIA L40S", memory_gb: 45 }] },
  });
export type Machine = z.infer<typeof machine>;

export const sessionRequest = z.object({
  protocol: z.number().int(),
  /** Unique within the runner token; the host name by default. */
  name: z.string().min(1).max(100),
  hardware: z.string().min(1).max(63),
  version: z.string().max(50),
  engine: z.enum(["docker", "process"]),
  slots: z.number().int().min(1).max(1_000),
  machine,
});
export type SessionRequest = z.infer<typeof sessionRequest>;

export const sessionResponse = z.object({
  runner_id: uuid,
  /** A UUIDv7: of two sessions of one runner, the later one sorts higher and wins. */
  session: uuid,
  /** Of the runner's package that the deployment serves. */
  latest_version: z.string().optional(),
  settings: z.object({
    poll_seconds: z.number(),
    ping_seconds: z.number(),
    lease_seconds: z.number(),
    /** The shortest time between two frames of one channel, ms. */
    flush_ms: z.number(),
    telemetry_seconds: z.number(),
  }),
});
export type SessionResponse = z.infer<typeof sessionResponse>;
export type RunnerSettings = SessionResponse["settings"];

/** `repository@sha256:…`: what identifies an image, on the wire and on the box. */
const imageReference = z.string().max(400);

/** Opaque: what has different keys shares nothing (domain/scheduling/isolation.ts). */
const key = z.string().min(1).max(64);

export const claimRequest = z.object({
  runner_id: uuid,
  session: uuid,
  hardware: z.string().min(1).max(63),
  free: z.number().int().min(1).max(1_000),
  /** Keys of the containers that are up and have room. */
  warm: z.array(key).max(200),
  /** Images on the box. */
  images: z.array(imageReference).max(500),
  /** Receipts since the last claim (channel.ts): who is not heard of its jobs gets no more. */
  heard: z.array(z.string().max(64)).max(1_000),
});
export type ClaimRequest = z.infer<typeof claimRequest>;

export const image = z.object({ repository: z.string().max(300), digest });
export type Image = z.infer<typeof image>;

/** What jobs may share on a box: only what has the same key. */
export const keys = z.object({
  /** Of the container, in which nothing of another run may be seen by one with another key. */
  container: key,
  /** Of the files that are kept for later runs: whoever asks twice may notice that one is there. */
  files: key,
});
export type Keys = z.infer<typeof keys>;

/** What the runner holds to. Deadlines are not among them: the prediction keeps those and cancels. */
export const limits = z.object({
  /** How long a container may stand idle before the runner stops it. */
  idle_seconds: z.number().nonnegative(),
  /** How many predictions one container runs at a time. */
  max_concurrency: z.number().int().positive(),
  /** Bytes of JSON in all `output` events together, those of stored values included. */
  output_bytes: z.number().int().positive(),
  /** Bytes of all `logs` events together; what is beyond is cut, and the log says so. */
  logs_bytes: z.number().int().positive(),
});
export type Limits = z.infer<typeof limits>;

/** A string of the input that stands for a file. */
export const inputFile = z.object({
  /** The way to it: names of properties, indices of items. */
  at: z.array(z.union([z.string(), z.number().int()])),
  /** A file of the service: GET /v1/runner/files/{key}. Absent: an address in the web. */
  stored: z
    .object({
      /** Never the key of other bytes. */
      key: z.string(),
      name: z.string(),
      mime_type: z.string(),
      size: z.number().int().nonnegative(),
    })
    .optional(),
});
export type InputFile = z.infer<typeof inputFile>;

export const job = z.object({
  prediction_id: uuid,
  attempt: z.number().int().min(1),
  /** Opaque; proves that this attempt was handed to this runner. */
  lease: z.string(),
  model: z.object({ owner: z.string(), name: z.string(), version_number: z.number().int() }),
  image,
  keys,
  interface: containerInterface,
  egress,
  /** Null: the input is the model's own, and nobody else's convention. */
  call: vendoraCall.nullable(),
  variables: z.record(z.string(), z.string()),
  /** Whether it is the model's owner who reads what the container prints while it starts. */
  setup_logs: z.boolean(),
  /** Whether the finish is to tell the size of the image: nobody has told it yet. */
  measure: z.boolean(),
  limits,
  /** Absent when it is larger than 1 MiB: then GET /v1/runner/input has it. */
  input: jsonObject.optional(),
  /** Addresses and uploads in it. */
  files: z.array(inputFile),
});
export type Job = z.infer<typeof job>;

export const claimResponse = z.object({ jobs: z.array(job) });
export type ClaimResponse = z.infer<typeof claimResponse>;

/** What is larger is sent in parts. */
export const MAX_WHOLE_FILE = 8 * 1024 * 1024;

/** The answer to a file that is stored. */
export const storedFile = z.object({ url: z.url() });

/** The answer to POST /v1/runner/uploads. */
export const runnerUpload = z.object({
  id: uuid,
  part_size: z.number().int().positive(),
  urls: z.array(z.url()),
});

/** The answer to POST /v1/runner/values: what a `stored` event names. */
export const storedName = z.object({ name: z.string() });

export const inputResponse = z.object({ input: jsonObject });

export const load = z
  .object({
    cpu: z.number().nonnegative().meta({ description: "Load average of one minute" }),
    memory_used_gb: z.number().nonnegative(),
    gpus: z
      .array(z.object({ used: z.number(), memory_used_gb: z.number() }))
      .optional()
      .meta({ description: "In the order of the machine's; `used` is a share, from 0 to 1" }),
  })
  .meta({
    id: "RunnerLoad",
    example: { cpu: 3.5, memory_used_gb: 31.5, gpus: [{ used: 0.97, memory_used_gb: 40 }] },
  });
export type Load = z.infer<typeof load>;

export const telemetryRequest = z.object({
  runner_id: uuid,
  session: uuid,
  state: z.enum(["ready", "draining", "stopped"]),
  slots: z.number().int().nonnegative(),
  running: z.array(uuid).max(1_000),
  /** Models with a container up that has room, as `owner/name:version`: for people to read. */
  warm: z.array(z.string().max(200)).max(200),
  load,
});
export type TelemetryRequest = z.infer<typeof telemetryRequest>;

export const telemetryResponse = z.object({ draining: z.boolean() });
export type TelemetryResponse = z.infer<typeof telemetryResponse>;
