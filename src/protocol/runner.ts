/**
 * The API that runners call, in this order. Every call is authenticated with a runner token
 * (`Authorization: Bearer ausr_…`). Runners only make outgoing connections.
 *
 * 1. POST /v1/runner/sessions: registers the runner, once per start.
 * 2. POST /v1/runner/jobs/claim: long poll with a snapshot of what the runner has (runner-state.ts). POST
 *    /v1/runner/state tells another one when that changes. A job that it has no place for it declines.
 * 3. GET /v1/runner/channel: one WebSocket per job (see channel.ts). A run that ends before its channel
 *    is opened sends its only frame to POST /v1/runner/reports instead, together with others that end
 *    at the same time.
 *    GET /v1/runner/input returns the input if the job does not contain it.
 *    Files are authorized by the job's lease. GET /v1/runner/files/{key} reads an input file.
 *    POST /v1/runner/files?name= stores an output of up to MAX_WHOLE_FILE bytes: the request body, with
 *    its media type. Larger outputs are sent in parts with POST /v1/runner/uploads and
 *    …/uploads/{id}/complete (see upload.ts). Both return the file's URL.
 *    POST /v1/runner/values stores a value that is too large for the log, as JSON text.
 * 4. POST /v1/runner/telemetry: every `telemetry_seconds`. The response says whether to drain.
 *    POST /v1/runner/log, only when it is asked for (runner-log.ts).
 *
 * `auspex-runner check` calls GET /v1/runner/hardware/{identifier}, which describes the hardware class
 * that the machine should match, or returns 403 if the token does not allow it.
 */
import { z } from "zod";
import { digest, jsonObject, shownText, uuid } from "./common.ts";
import { egress } from "./egress.ts";
import {
  containerKey,
  containerName,
  handout,
  keptContainers,
  MAX_CONTAINERS,
  runnerSnapshot,
} from "./runner-state.ts";
import { traceparent } from "./traces.ts";
import { jobWeight, MAX_WEIGHTS } from "./weights.ts";

/** Increased by changes that break older runners. */
export const RUNNER_PROTOCOL = 2;

export const LEASE_HEADER = "x-auspex-lease";

export const containerInterface = z.enum(["cog", "vendora"]);
/** A container's interface as users write it: `openai` is another name of `vendora`. */
export const writtenInterface = z.preprocess(
  (name) => (name === "openai" ? "vendora" : name),
  containerInterface,
);
export type ContainerInterface = z.infer<typeof containerInterface>;

/** The call that created a prediction, whose input is the body of that call. */
export const openAiCall = z.enum([
  "chat_completions",
  "responses",
  "embeddings",
  "messages",
  "count_tokens",
  "images_generations",
  "images_edits",
  "audio_transcriptions",
  "audio_translations",
  "audio_speech",
  "completions",
  "moderations",
  "rerank",
]);
export type OpenAiCall = z.infer<typeof openAiCall>;

export const machine = z
  .object({
    cpus: z.number().int().positive(),
    memory_gb: z.number().positive(),
    gpus: z.array(z.object({ name: shownText(200), memory_gb: z.number().nonnegative() })),
  })
  .meta({
    id: "RunnerMachine",
    example: { cpus: 16, memory_gb: 128, gpus: [{ name: "NVIDIA L40S", memory_gb: 45 }] },
  });
export type Machine = z.infer<typeof machine>;

/** Identifies a class of hardware, or a pool. */
const className = z.string().min(1).max(63);

/** The most classes of hardware that a runner serves. */
export const MAX_CLASSES = 16;

/** `spokenProtocol` reads the version of a session request, whatever else it has. */
export const spokenProtocol = z.object({ protocol: z.number().int() });

export const sessionRequest = spokenProtocol.extend({
  /** Unique per runner token; the host name by default. */
  name: shownText(100).min(1),
  /** The classes that it serves, all of one pool. */
  hardware: z.array(className).min(1).max(MAX_CLASSES),
  version: shownText(50),
  engine: z.enum(["docker", "process"]),
  slots: z.number().int().min(1).max(1_000),
  machine,
  /**
   * The id of the process. A registration that was given up may arrive long after the next one: it must not
   * replace the session of its own process, or of the one after it.
   */
  process: uuid.optional(),
});
export type SessionRequest = z.infer<typeof sessionRequest>;

export const sessionResponse = z.object({
  runner_id: uuid,
  /** A UUIDv7: of two sessions of one runner, the later one sorts higher and replaces the other. */
  session: uuid,
  /** The pool of its classes, from which it claims jobs. */
  pool: className,
  /** Version of the runner package that the deployment serves. */
  latest_version: z.string().optional(),
  settings: z.object({
    poll_seconds: z.number(),
    ping_seconds: z.number(),
    lease_seconds: z.number(),
    telemetry_seconds: z.number(),
  }),
});
export type SessionResponse = z.infer<typeof sessionResponse>;
export type RunnerSettings = SessionResponse["settings"];

/** `repository@sha256:…`, which identifies an image, with the repository as jobs name it. */
const imageReference = z.string().max(400);

export const claimRequest = z.object({
  runner_id: uuid,
  session: uuid,
  pool: className,
  snapshot: runnerSnapshot,
  images: z.array(imageReference).max(500),
});
export type ClaimRequest = z.infer<typeof claimRequest>;

/** The body of POST /v1/runner/state. */
export const stateRequest = claimRequest.omit({ images: true });
export type StateRequest = z.infer<typeof stateRequest>;

export const image = z.object({
  /** The reference has a registry's host, or is `auspex/models/{model id}` in the own registry. */
  repository: z.string().max(300),
  digest,
  /** Opaque: the password for images of the deployment's own registry; absent for others. */
  grant: z.string().max(400).optional(),
});
export type Image = z.infer<typeof image>;

/** Jobs with the same key can share a resource of the machine. */
export const keys = z.object({
  /**
   * For containers: jobs with different keys must not see each other's data. It is another one with other
   * variables, or another class: jobs with equal keys need the same container.
   */
  container: containerKey,
  /** Isolation of cached files: a job can notice that a file is already cached. */
  files: containerKey,
  /** A job with weights can notice that they are cached. */
  weights: containerKey.optional(),
});
export type Keys = z.infer<typeof keys>;

/** Limits that the runner enforces. Deadlines are enforced by the prediction, which cancels. */
export const limits = z.object({
  /** The time for which an idle container is kept. */
  idle_seconds: z.number().nonnegative(),
  max_concurrency: z.number().int().positive(),
  /** Total JSON bytes of all outputs, including stored values. */
  output_bytes: z.number().int().positive(),
  /** Total bytes of all `logs` events. The rest is cut, which the log mentions. */
  logs_bytes: z.number().int().positive(),
  /** How long a starting container may refuse connections. Absent: for as long as it may start. */
  listen_seconds: z.number().positive().optional(),
});
export type Limits = z.infer<typeof limits>;

export const inputFile = z.object({
  /** The path to it: property names and indices. */
  at: z.array(z.union([z.string(), z.number().int()])),
  /** A file of the service: GET /v1/runner/files/{key}. Absent: an external URL. */
  stored: z
    .object({
      /** A key always identifies the same bytes. */
      key: z.string(),
      name: z.string(),
      mime_type: z.string(),
      size: z.number().int().nonnegative(),
      /** The file was sent as a data URI, and the container gets one. */
      data_uri: z.literal(true).optional(),
    })
    .optional(),
});
export type InputFile = z.infer<typeof inputFile>;

/** The class of machine that it runs on, and how many of its GPUs are the container's. */
export const jobHardware = z.object({ identifier: className, gpus: z.int().min(0).max(1_000) });
export type JobHardware = z.infer<typeof jobHardware>;

/** The API that answers a responses call: responses, chats, or whichever does more of the call. */
export const responsesVia = z.enum(["own", "chat", "best"]);
export type ResponsesVia = z.infer<typeof responsesVia>;

export const job = z.object({
  prediction_id: uuid,
  attempt: z.number().int().min(1),
  /** The number of this hand-out, which the runner's snapshots name. */
  handout,
  /** The job ends once its container is ready: nothing is sent to the container. */
  warm_up: z.literal(true).optional(),
  /** The job needs a container of its own, though another one could take it. */
  start: z.literal(true).optional(),
  /** Names of idle containers that the runner may stop to make room. */
  stop: z.array(containerName).max(MAX_CONTAINERS),
  /** Opaque proof that this attempt was assigned to this runner. */
  lease: z.string(),
  model: z.object({ owner: z.string(), name: z.string(), version_number: z.number().int() }),
  image,
  keys,
  hardware: jobHardware,
  interface: containerInterface,
  egress,
  /** Null: the input follows the model's own schema. */
  call: openAiCall.nullable(),
  /** The API for a responses call. */
  responses: responsesVia.optional(),
  variables: z.record(z.string(), z.string()),
  /** Whether to report container output during setup: only to the model's owner. */
  setup_logs: z.boolean(),
  /** Whether to report the size of the image, which is not known yet. */
  measure: z.boolean(),
  /** Whether the runner reports the server's description of itself: the version has no other facts. */
  describe: z.boolean().optional(),
  limits,
  /** The trace that the container continues. Absent: the run is not traced. */
  traceparent: traceparent.optional(),
  /** The input; absent if larger than 1 MiB: then it is at GET /v1/runner/input. */
  input: jsonObject.optional(),
  files: z.array(inputFile),
  /** Mounted into its container, read-only, before that starts. Those of the image and of the version. */
  weights: z
    .array(jobWeight)
    .max(2 * MAX_WEIGHTS)
    .optional(),
});
export type Job = z.infer<typeof job>;

/** Characters of a description, all together. */
export const MAX_DESCRIPTION = 256 * 1024;

const answer = z.string().max(MAX_DESCRIPTION).optional();

/** The texts that a container's server answers at its description addresses. */
export const serverDescription = z
  .object({
    /** GET /openapi.json, without what describes no model (domain/images/openapi-document.ts). */
    openapi: answer,
    models: answer,
    info: answer,
  })
  .refine(
    ({ openapi = "", models = "", info = "" }) =>
      [openapi, models, info].join("").length <= MAX_DESCRIPTION,
  );
export type ServerDescription = z.infer<typeof serverDescription>;

export const claimResponse = z.object({
  jobs: z.array(job),
  keep: keptContainers,
  /** An operator asks for the runner's log (runner-log.ts). */
  log: z.literal(true).optional(),
});
export type ClaimResponse = z.infer<typeof claimResponse>;

/** Larger files are sent in parts. */
export const MAX_WHOLE_FILE = 8 * 1024 * 1024;

export const storedFile = z.object({ url: z.url() });

export const runnerUpload = z.object({
  id: uuid,
  part_size: z.number().int().positive(),
  urls: z.array(z.url()),
});

/** The response of POST /v1/runner/values: the name for a `stored` event. */
export const storedName = z.object({ name: z.string() });

export const inputResponse = z.object({ input: jsonObject });

export const load = z
  .object({
    cpu: z.number().nonnegative().meta({ description: "Load average over one minute" }),
    memory_used_gb: z.number().nonnegative(),
    gpus: z
      .array(z.object({ used: z.number(), memory_used_gb: z.number() }))
      .optional()
      .meta({
        description:
          "In the same order as the machine's GPUs; `used` is the utilization from 0 to 1",
      }),
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
  /** Versions with a running container that has free capacity, as `owner/name:version`, for display. */
  warm: z.array(z.string().max(200)).max(200),
  load,
});
export type TelemetryRequest = z.infer<typeof telemetryRequest>;

export const telemetryResponse = z.object({ draining: z.boolean() });
export type TelemetryResponse = z.infer<typeof telemetryResponse>;
