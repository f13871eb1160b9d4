/** Bindings and variables, parsed once per isolate. */
import { z } from "zod";
import type { WriteRates } from "./domain/accounts/write-bucket.ts";
import type { Patience } from "./domain/predictions/deadlines.ts";
import type { Settings as Scheduling } from "./domain/scheduling/decide/types.ts";
import { type AlertSettings, alertSettings, alertVariables } from "./env-alerts.ts";
import {
  invalidVariables,
  list,
  type OidcSettings,
  oidcSettings,
  oidcVariables,
  requireProvider,
} from "./env-oidc.ts";
import { origin } from "./env-origin.ts";
import { type TraceSettings, traceSettings, traceVariables } from "./env-traces.ts";
import type { AccountMessage, WaitingJob } from "./protocol/queue.ts";
import type { TraceMessage } from "./protocol/traces.ts";
import type { PartSizes } from "./protocol/upload.ts";
import { type ResourceShape, resourceShape } from "./protocol/user.ts";

export interface Bindings {
  DB: D1Database;
  FILES: R2Bucket;
  BACKUPS: R2Bucket;
  IMAGES: R2Bucket;
  /** Static assets: the dashboard's scripts and styles, the guides, the runner package. */
  ASSETS: Fetcher;
  DISPATCH: Queue<WaitingJob>;
  COUNTS: Queue<AccountMessage>;
  TRACES: Queue<TraceMessage>;
  /**
   * A data set with a point for each end of a prediction (objects/prediction/version-facts.ts), where it is
   * bound.
   */
  ANALYTICS?: AnalyticsEngineDataset;
  /**
   * The object types use `import()`: the bindings and the objects refer to each other, which no other modules
   * may.
   */
  PREDICTION: DurableObjectNamespace<import("./objects/prediction/object.ts").PredictionObject>;
  ACCOUNT: DurableObjectNamespace<import("./objects/account/object.ts").AccountObject>;
  CONVERSATION: DurableObjectNamespace<
    import("./objects/conversation/object.ts").ConversationObject
  >;
  AUDIT: DurableObjectNamespace<import("./objects/audit/object.ts").AuditObject>;
  METRICS: DurableObjectNamespace<import("./objects/metrics/object.ts").MetricsObject>;
  POOL: DurableObjectNamespace<import("./objects/pool/object.ts").PoolObject>;
  REMOTE: DurableObjectNamespace<import("./objects/remote/object.ts").RemoteObject>;
  /** RUNNER is built with itty-durable, whose protocol is fetch: only objects/stubs/runner.ts calls it. */
  RUNNER: DurableObjectNamespace;
  RATE_LIMIT_ADDRESS: RateLimit;
  RATE_LIMIT_TOKEN: RateLimit;
  RATE_LIMIT_USER: RateLimit;
  RATE_LIMIT_WRITES: RateLimit;
  RATE_LIMIT_PREDICTIONS: RateLimit;
  RATE_LIMIT_REGISTRY: RateLimit;
  RATE_LIMIT_RECEIVER: RateLimit;
  RATE_LIMIT_RECEIVER_SHARE: RateLimit;
  RATE_LIMIT_SIGN_IN: RateLimit;
  RATE_LIMIT_ACCOUNT: RateLimit;
}

declare global {
  namespace Cloudflare {
    interface Env extends Bindings {}
  }
}

const signUp = z.enum(["open", "invitation", "closed"]);
const anonymous = z.enum(["models", "none"]);
const organizationInvitations = z.enum(["existing", "new"]);

const count = z.coerce.number().int().positive();

/** R2 aborts multipart uploads after 7 days, and requires parts of at least 5 MiB except the last. */
const MAX_UPLOAD_HOURS = 24 * 7;
const MIN_PART_MIB = 5;
const MIB = 1024 * 1024;

/**
 * Days added to the retention time: a prediction can wait and run before it, and its webhooks are retried
 * after it.
 */
const LATE_DAYS = 4;

/** Keys, newest first. */
const keys = list.pipe(z.array(z.string().min(32, "at least 32 characters, from a generator")));

/** A URI as security.txt requires it. Empty: not set. */
const contact = z
  .union([z.literal(""), z.url({ protocol: /^(?:https|mailto|tel)$/ })])
  .transform((text) => text || undefined);

/** A currency code of ISO 4217: for other texts no symbol is known, nor whether they are a currency. */
const currency = z
  .string()
  .refine(
    (code) => Intl.supportedValuesOf("currency").includes(code),
    "a code of ISO 4217, such as EUR",
  );

const JURISDICTIONS = {
  eu: "eu",
  fedramp: "fedramp",
  "fedramp-high": "fedramp-high",
  us: "us",
} satisfies { [Name in DurableObjectJurisdiction]: Name };

/** The jurisdiction of new objects. Empty: anywhere. */
const jurisdiction = z
  .enum({ anywhere: "", ...JURISDICTIONS })
  .transform((name) => name || undefined);

/** The numbers for limits of middleware/rate-limit.ts, which responses report in headers. */
const rateNumbers = z
  .object({
    address: count,
    token: count,
    user: count,
    writes: count,
    predictions: count,
    registry: count,
  })
  .partial();

const variables = z.object({
  /** The image registry of the operator. Empty: this deployment's own. */
  IMAGE_REGISTRY: z.string().default(""),
  IMAGE_ALLOW_LIST: list,
  JURISDICTION: jurisdiction.optional(),
  MAX_WAITING: count.default(1_000),
  MAX_MODELS: count.default(1_000),
  /** Organizations that a user can create. 0: only operators create them. */
  ORGANIZATIONS_PER_USER: z.coerce.number().int().nonnegative().default(3),
  MAX_VERSIONS: count.default(1_000),
  MAX_READERS: count.default(100),
  MAX_STREAMS: count.default(500),
  ACCOUNT_MB: z.coerce.number().positive().default(1_000),
  DATABASE_GB: z.coerce.number().positive().max(10).default(8),
  IMAGES_GB: z.coerce.number().positive().default(500),
  FILES_GB: z.coerce.number().positive().default(500),
  WRITE_ROWS: z.coerce.number().positive().default(500),
  WRITE_MB: z.coerce.number().positive().default(250),
  WAIT_SECONDS: count.default(60),
  VALIDATE_INPUT: z.enum(["on", "off"]).default("off"),
  VENDORA_TIMEOUT_SECONDS: count.default(600),
  QUEUE_TIMEOUT_SECONDS: count.default(3_600),
  ACCOUNT_SHARE: z.coerce.number().positive().max(1).default(0.5),
  RESERVE_SECONDS: z.coerce.number().nonnegative().default(60),
  SETUP_TIMEOUT_SECONDS: count.default(1_800),
  LEASE_SECONDS: count.default(30),
  CONNECT_SECONDS: count.default(5),
  CANCEL_SECONDS: count.default(60),
  REDISPATCH_SECONDS: count.default(30),
  TELEMETRY_SECONDS: count.default(30),
  FILES_ORIGIN: origin.optional(),
  UPLOAD_HOURS: z.coerce.number().positive().max(MAX_UPLOAD_HOURS).default(24),
  UPLOAD_PART_MIB: count.min(MIN_PART_MIB).default(16),
  UPLOAD_PART_MAX_MIB: count.min(MIN_PART_MIB).default(95),
  RETENTION_DAYS: z.coerce.number().positive().default(30),
  HISTORY_DAYS: z.coerce.number().positive().default(400),
  AUDIT_DAYS: z.coerce.number().positive().default(400),
  AUDIT_GB: z.coerce.number().positive().default(9),
  HISTORY_GB: z.coerce.number().positive().max(9).default(9),
  RATE_LIMITS: z.enum(["on", "off"]).default("on"),
  RATE_LIMIT_NUMBERS: rateNumbers.default({}),
  RESOURCE_SHAPE: resourceShape.default("A"),
  WEBHOOK_ALLOW_INSECURE: z.stringbool().default(false),
  WEBHOOK_TIMEOUT_SECONDS: z.coerce.number().positive().max(30).default(10),
  WEBHOOK_RETRY_SECONDS: z.coerce.number().positive().default(5),
  WEBHOOK_SWITCH_OFF_DAYS: z.coerce.number().positive().default(5),
  WEBHOOK_RESOLVER: z.url().default("https://cloudflare-dns.com/dns-query"),
  CURRENCY: currency.default("USD"),
  CHARGE_SETUP: z.enum(["on", "off"]).default("on"),
  SECURITY_CONTACT: contact.optional(),
  BACKUP_HOURS: z.coerce.number().positive().default(24),
  BACKUP_KEEP: count.default(14),
  LOG_SAMPLE_RATE: z.coerce.number().min(0).max(1).default(0.01),
  SIGN_UP: signUp.default("invitation"),
  ANONYMOUS: anonymous.default("models"),
  ORGANIZATION_INVITATIONS: organizationInvitations.default("existing"),
  GITHUB_CLIENT_ID: z.string().min(1).optional(),
  GITHUB_CLIENT_SECRET: z.string().min(1).optional(),
  ...oidcVariables,
  ...traceVariables,
  ...alertVariables,
  OPERATOR_TOKEN: z.string().min(16).optional(),
  SECRET_KEY: keys,
  // The key is checked where it is used (services/backups/key.ts).
  BACKUP_KEY: list,
});

const consistent = variables.check(requireProvider);

export interface WebhookSettings {
  /** Whether http: and loopback addresses are allowed, for local development and tests. */
  allowInsecure: boolean;
  /** The time limit of one delivery attempt. */
  timeoutMs: number;
  /** Delay before the first retry; later delays grow from it (domain/webhooks/delivery.ts). */
  firstRetryMs: number;
  /** How long every delivery to an endpoint must fail before it is disabled. */
  switchOffMs: number;
  /** URL of a DNS over HTTPS resolver with the JSON API. */
  resolver: string;
}

export interface Settings {
  imageRegistry: string;
  imageAllowList: string[];
  jurisdiction: DurableObjectJurisdiction | undefined;
  maxWaiting: number;
  maxModels: number;
  organizationsPerUser: number;
  maxVersions: number;
  maxReaders: number;
  /** Open streams and waiting requests per account, in each isolate. */
  maxStreams: number;
  accountBytes: number;
  databaseBytes: number;
  imageBytes: number;
  /** The storage quota of an account's files, in R2. */
  fileBytes: number;
  /** The rows and bytes that an account may write per second. */
  writeRates: WriteRates;
  waitSeconds: number;
  /** Whether inputs are validated before a run unless a request says otherwise. */
  validateInput: boolean;
  /** The time after which a call that its client waits for is canceled. */
  openAiTimeoutSeconds: number;
  queueTimeoutSeconds: number;
  /** The order in which jobs are handed out. */
  scheduling: Scheduling;
  setupTimeoutSeconds: number;
  patience: Patience;
  /** Interval of runner reports, and so the longest delay until a drain reaches a runner. */
  telemetrySeconds: number;
  uploadSeconds: number;
  partSizes: PartSizes;
  filesOrigin: string | undefined;
  retentionSeconds: number;
  /** How long a prediction is listed after its end. */
  historySeconds: number;
  /** The size of an account's object from which on its oldest predictions are deleted. */
  historyBytes: number;
  /** How long entries of the audit log are kept, and the size of a chain from which on the oldest are deleted. */
  auditMs: number;
  auditBytes: number;
  rateLimits: boolean;
  /** The limits of the rate limit bindings, which do not report them. */
  rateNumbers: Partial<Record<string, number>>;
  resourceShape: ResourceShape;
  webhooks: WebhookSettings;
  alerts: AlertSettings;
  /** The currency of prices, a code of ISO 4217. */
  currency: string;
  /** Whether a run that causes the start of a container pays for it. */
  chargesSetup: boolean;
  /** The URI where vulnerabilities are reported. */
  securityContact: string | undefined;
  /** The share of predictions whose ordinary ends are logged, 0 to 1. */
  logSampleRate: number;
  /** The collector of traces; undefined: nothing is traced. */
  traces: TraceSettings | undefined;
  /** The rule for who may create an account in the dashboard. */
  signUp: z.infer<typeof signUp>;
  /** Whether requests without a token or a session see public models and the documentation, or nothing. */
  anonymous: z.infer<typeof anonymous>;
  /** The people whom organizations can invite where sign-up is by invitation. */
  organizationInvitations: z.infer<typeof organizationInvitations>;
  github: { clientId: string; clientSecret: string } | undefined;
  oidc: OidcSettings | undefined;
  /** Whether the OpenID Connect provider is the only way in, but for holders of OPERATOR_TOKEN. */
  oidcOnly: boolean;
  operatorToken: string | undefined;
  /** Keys that sign sessions and encrypt secrets, newest first. Empty: the dashboard is disabled. */
  secretKeys: string[];
  /** Keys that encrypt backups, newest first. Empty: none are made. */
  backupKeys: string[];
  /** The time between the beginnings of two backups. */
  backupMs: number;
  backupKeep: number;
}

const parsed = new WeakMap<object, Settings>();

/** Returns the same deployment with other bindings. Its variables are not parsed again. */
export function withBindings(env: Bindings, others: Partial<Bindings>): Bindings {
  const changed = { ...env, ...others };
  parsed.set(changed, settings(env));
  return changed;
}

/** The deployment's settings. @throws Error naming the variables that are invalid */
export function settings(env: Bindings): Settings {
  let current = parsed.get(env);
  if (!current) {
    const result = consistent.safeParse(env);
    if (!result.success) throw invalidVariables(result.error);
    const v = result.data;
    current = {
      imageRegistry: v.IMAGE_REGISTRY,
      imageAllowList: v.IMAGE_ALLOW_LIST,
      jurisdiction: v.JURISDICTION,
      maxWaiting: v.MAX_WAITING,
      maxModels: v.MAX_MODELS,
      organizationsPerUser: v.ORGANIZATIONS_PER_USER,
      maxVersions: v.MAX_VERSIONS,
      maxReaders: v.MAX_READERS,
      maxStreams: v.MAX_STREAMS,
      accountBytes: v.ACCOUNT_MB * 1_000_000,
      databaseBytes: v.DATABASE_GB * 1e9,
      imageBytes: v.IMAGES_GB * 1e9,
      fileBytes: v.FILES_GB * 1e9,
      writeRates: { rows: v.WRITE_ROWS, bytes: v.WRITE_MB * 1e6 },
      waitSeconds: v.WAIT_SECONDS,
      validateInput: v.VALIDATE_INPUT === "on",
      openAiTimeoutSeconds: v.VENDORA_TIMEOUT_SECONDS,
      queueTimeoutSeconds: v.QUEUE_TIMEOUT_SECONDS,
      scheduling: {
        account_share: v.ACCOUNT_SHARE,
        reserve_ms: v.RESERVE_SECONDS * 1_000,
        setup_limit_ms: v.SETUP_TIMEOUT_SECONDS * 1_000,
      },
      setupTimeoutSeconds: v.SETUP_TIMEOUT_SECONDS,
      patience: {
        lease_seconds: v.LEASE_SECONDS,
        connect_seconds: v.CONNECT_SECONDS,
        cancel_seconds: v.CANCEL_SECONDS,
        redispatch_seconds: v.REDISPATCH_SECONDS,
      },
      telemetrySeconds: v.TELEMETRY_SECONDS,
      uploadSeconds: v.UPLOAD_HOURS * 3_600,
      partSizes: {
        usual: v.UPLOAD_PART_MIB * MIB,
        largest: Math.max(v.UPLOAD_PART_MAX_MIB, v.UPLOAD_PART_MIB) * MIB,
      },
      filesOrigin: v.FILES_ORIGIN,
      retentionSeconds: v.RETENTION_DAYS * 86_400,
      historySeconds: Math.max(v.HISTORY_DAYS, v.RETENTION_DAYS + LATE_DAYS) * 86_400,
      historyBytes: v.HISTORY_GB * 1e9,
      auditMs: v.AUDIT_DAYS * 86_400_000,
      auditBytes: v.AUDIT_GB * 1e9,
      rateLimits: v.RATE_LIMITS === "on",
      rateNumbers: v.RATE_LIMIT_NUMBERS,
      resourceShape: v.RESOURCE_SHAPE,
      webhooks: {
        allowInsecure: v.WEBHOOK_ALLOW_INSECURE,
        timeoutMs: v.WEBHOOK_TIMEOUT_SECONDS * 1_000,
        firstRetryMs: v.WEBHOOK_RETRY_SECONDS * 1_000,
        switchOffMs: v.WEBHOOK_SWITCH_OFF_DAYS * 86_400_000,
        resolver: v.WEBHOOK_RESOLVER,
      },
      alerts: alertSettings(v),
      currency: v.CURRENCY,
      chargesSetup: v.CHARGE_SETUP === "on",
      securityContact: v.SECURITY_CONTACT,
      logSampleRate: v.LOG_SAMPLE_RATE,
      traces: traceSettings(v),
      signUp: v.SIGN_UP,
      anonymous: v.ANONYMOUS,
      organizationInvitations: v.ORGANIZATION_INVITATIONS,
      github:
        v.GITHUB_CLIENT_ID !== undefined && v.GITHUB_CLIENT_SECRET !== undefined
          ? { clientId: v.GITHUB_CLIENT_ID, clientSecret: v.GITHUB_CLIENT_SECRET }
          : undefined,
      oidc: oidcSettings(v),
      oidcOnly: v.SIGN_IN === "oidc",
      operatorToken: v.OPERATOR_TOKEN,
      secretKeys: v.SECRET_KEY,
      backupKeys: v.BACKUP_KEY,
      backupMs: v.BACKUP_HOURS * 3_600_000,
      backupKeep: v.BACKUP_KEEP,
    };
    parsed.set(env, current);
  }
  return current;
}
