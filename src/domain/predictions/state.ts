/** What a prediction is and what has become of it: what its object keeps. */
import type { Finish } from "../../protocol/channel.ts";
import type { Egress } from "../../protocol/egress.ts";
import type { Metrics, StoredValue } from "../../protocol/event.ts";
import type { PredictionError, TaskStatus } from "../../protocol/prediction.ts";
import type {
  ContainerInterface,
  Image,
  InputFile,
  Keys,
  Limits,
  VendoraCall,
} from "../../protocol/runner.ts";
import type { Webhook, WebhookEventName } from "../../protocol/webhook.ts";

/** A webhook at rest (webhook/stored-secret.ts). */
export interface StoredWebhook extends Webhook {
  /** Whether its secret is. */
  sealed?: boolean;
}

/** What was asked for. Never changes. */
export interface PredictionSpec {
  id: string;
  url: string;
  account_id: string;
  model_id: string;
  model: { owner: string; name: string; version_number: number };
  hardware: string;
  image: Image;
  /** Opaque, for the runner: what this run may share there. */
  keys: Keys;
  interface: ContainerInterface;
  /** What its container may reach. */
  egress: Egress;
  /** What it was asked by, when that is of the vendora convention: its input is the call's body. */
  call: VendoraCall | null;
  /** Sealed: they are opened for the runner that gets the job. */
  variables: Record<string, string>;
  /** Whether its caller is the model's owner, whose the words of the container's start are. */
  setup_logs: boolean;
  /** Whether the size of its image was not known yet. */
  measure: boolean;
  limits: Limits;
  /** The files that its input names. */
  files: InputFile[];
  /** The input, when it is too large to be kept in the object. */
  stored_input: StoredValue | null;
  stream: boolean;
  webhook: StoredWebhook | null;
  /** Endpoints of the account that were on when it was created. */
  endpoints: { id: string; events: WebhookEventName[] }[];
  created_at: number;
  timeout_seconds: number;
  setup_timeout_seconds: number;
  queue_timeout_seconds: number;
  retention_seconds: number;
  /** When to cancel what is not finished (`Prefer: wait=n, cancel`, calls of vendora). */
  cancel_at: number | null;
  /** Tells a repeated create with the same Idempotency-Key from another one. */
  request_hash: string | null;
}

export interface Attempt {
  number: number;
  secret: string;
  opened_at: number;
  /** What was heard of its runner: nothing yet, something, or its last word. */
  word: "none" | "some" | "last";
  /** When it began; null while it has only been handed out. */
  started_at: number | null;
  /** When its container was ready for the model to run. */
  ready_at: number | null;
  /** Who was heard; null while nobody was. */
  runner_id: string | null;
  /** When its runner was last heard, as of its last broken channel; see `grace`. */
  heard_at: number | null;
  /** True once a second runner was looked for because this one was not heard. */
  seconded: boolean;
  /** True once it was given time to come back because the object itself had restarted. */
  grace: boolean;
  /** How many files and values it has begun to store. */
  stored: number;
}

export interface PredictionState {
  status: TaskStatus;
  updated_at: number;
  attempt: Attempt | null;
  /** The same job in other hands, when the first were not heard: whoever of the two is heard first has it. */
  second: Attempt | null;
  /**
   * Attempts that are not wanted any more and of which nothing was heard, oldest first. Until their
   * time to connect is over they are waited for: a runner that comes second does nothing wrong.
   */
  dismissed: Attempt[];
  /** How many attempts have been opened: the number of the last one. */
  attempts: number;
  /** How many of them began and were lost, and how many were handed back. */
  lost: number;
  released: number;
  /** Since when it waits for a runner, how often its dispatch has been sent since, and when. */
  waiting_since: number;
  dispatches: number;
  dispatched_at: number;
  cancel_requested_at: number | null;
  completed_at: number | null;
  setup_seconds: number | null;
  execution_seconds: number | null;
  error: PredictionError | null;
  metrics: Metrics | null;
  /** Of its image, if it was asked for and told. */
  image_bytes: number | null;
  /** How the `output` events make up the output. */
  output: Finish["output"];
  /** Whether anything of it may lie in R2: what is to be removed there at the end. */
  stored: boolean;
  /** It could not be created after all: no webhook is to know of it. */
  suppressWebhooks: boolean;
  /** Input, output and events are gone; when that it was is forgotten too, unix ms. */
  forget_at: number | null;
}

const TERMINAL: readonly TaskStatus[] = ["succeeded", "failed", "canceled"];

export const isTerminal = (status: TaskStatus) => TERMINAL.includes(status);

export const initialState = (spec: PredictionSpec): PredictionState => ({
  status: "pending",
  updated_at: spec.created_at,
  attempt: null,
  second: null,
  dismissed: [],
  attempts: 0,
  lost: 0,
  released: 0,
  waiting_since: spec.created_at,
  dispatches: 0,
  dispatched_at: spec.created_at,
  cancel_requested_at: null,
  completed_at: null,
  setup_seconds: null,
  execution_seconds: null,
  image_bytes: null,
  error: null,
  metrics: null,
  output: "none",
  stored: spec.stored_input !== null,
  suppressWebhooks: false,
  forget_at: null,
});
