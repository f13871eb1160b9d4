/**
 * For whoever receives webhooks of Auspex: shows that one is genuine, fresh and unchanged, and
 * gives what it tells. Nothing but Web Crypto, so that it runs in Node, Workers, Deno and Bun.
 */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** What is posted: the prediction as it was when the event happened. */
export interface WebhookPayload {
  id: string;
  model: { owner: string; name: string; version_number: number };
  created_at: string;
  updated_at: string;
  status: "pending" | "started" | "succeeded" | "failed" | "canceled";
  /** Decimal seconds, as in "1.204". */
  setup_time: string | null;
  /** Decimal seconds, as in "0.412". */
  execution_time: string | null;
  /** Null unless it failed. `external`: the model or its container. `internal`: the service. */
  error: { source: "internal" | "external"; message: string; detail: Json } | null;
  metrics: ({ input_tokens?: number; output_tokens?: number } & Record<string, number>) | null;
  url: string;
  stream: boolean;
  input: Json;
  output: Json;
  data_removed: boolean;
  /** Input or output is too large for a webhook, or removed, and null here: GET `url`. */
  data_omitted: boolean;
  webhook: {
    /** The same whenever it is posted: drop repeats by it. */
    id: string;
    event: "started" | "output" | "completed" | "test";
    /** Orders the events of one prediction: it only rises. */
    sequence: number;
    created_at: string;
  };
}

/** A `Request`, as Workers, Deno, Bun and route handlers have it; its body not read yet. */
export interface WebRequest {
  headers: WebHeaders;
  bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Anything else: its headers, and the body as it arrived. Express's own request, for one. */
export interface RawRequest {
  headers: WebHeaders | Record<string, string | string[] | undefined>;
  body: string | Uint8Array | ArrayBuffer;
}

export interface WebHeaders {
  get(name: string): string | null;
}

export interface VerifyOptions {
  /** How far the time that it was sent may be from now, either way; 300 by default. */
  toleranceSeconds?: number;
  /** Unix ms; the clock of this machine by default. */
  now?: number;
}

export type VerificationErrorCode =
  | "bad_secret"
  | "missing_headers"
  | "bad_headers"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "bad_body"
  | "no_match";

/** Why it was refused, for programs (`code`) and for people. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly code: VerificationErrorCode;
  /** What to answer; Express does so by itself. */
  readonly status = 400;

  constructor(code: VerificationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

// 42 characters have six bits each, the next has four: with any other there its last two bits
// could be changed unnoticed.
const SIGNATURE = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=),?$/;
/** An endpoint has a handful of secrets; each signature looked at costs a pass over the body. */
const MAX_SIGNATURES = 20;
const HMAC = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();

/**
 * What a webhook tells, once it is shown to come from who has the secret.
 * @param secret With several any one will do: the old and the new, while they are changed.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  request: WebRequest | RawRequest,
  secret: string | readonly string[] | undefined,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookPayload> {
  const keys = await Promise.all([secret ?? []].flat().map(keyOf));
  if (keys.length === 0)
    throw new WebhookVerificationError(
      "bad_secret",
      "There is no secret to verify with: is the variable set that holds it?",
    );
  const { id, timestamp, signatures } = readHeaders(request.headers);
  checkAge(Math.floor(now / 1_000) - Number(timestamp), toleranceSeconds);

  const body = await bodyOf(request);
  const head = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + body.length);
  signed.set(head);
  signed.set(body, head.length);
  for (const key of keys)
    for (const signature of signatures)
      if (await crypto.subtle.verify("HMAC", key, signature, signed)) return parse(body);
  throw new WebhookVerificationError(
    "no_match",
    "No signature matches. Verify the raw body, byte for byte as it arrived: one that was parsed and written again is another. And use the whole secret of this very webhook, with its 'whsec_' if it has one.",
  );
}

/** As the sender reads secrets: base64 after `whsec_`, any other text as it is. */
async function keyOf(secret: string) {
  try {
    const bytes = secret.startsWith("whsec_")
      ? bytesOf(secret.slice("whsec_".length))
      : encoder.encode(secret);
    return await crypto.subtle.importKey("raw", bytes, HMAC, false, ["verify"]); // throws if empty
  } catch {
    throw new WebhookVerificationError(
      "bad_secret",
      "A secret is any text that is not empty, or 'whsec_' and a key in base64: copy the whole of it.",
    );
  }
}

/** @param headers of what JavaScript passes, which may be another thing altogether */
function readHeaders(headers: RawRequest["headers"] | undefined) {
  if (!headers)
    throw new WebhookVerificationError(
      "missing_headers",
      "What was passed has no headers: pass the Request itself (in Hono c.req.raw), or { headers, body }.",
    );
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const signature = readHeader(headers, "webhook-signature");
  if (!id || !timestamp || !signature)
    throw new WebhookVerificationError(
      "missing_headers",
      "webhook-id, webhook-timestamp or webhook-signature is missing: pass the headers of the request as they came. The last is only sent for a webhook that has a secret.",
    );
  // With a full stop in either, one signature would fit several ways to part id, time and body.
  if (!/^[\w-]+$/.test(id) || !/^\d{1,15}$/.test(timestamp))
    throw new WebhookVerificationError(
      "bad_headers",
      "webhook-id or webhook-timestamp is not as Auspex sends it: see what changes headers on the way.",
    );
  const signatures = signature
    .split(/\s+/)
    .flatMap((item) => SIGNATURE.exec(item)?.[1] ?? [])
    .slice(0, MAX_SIGNATURES)
    .map(bytesOf);
  return { id, timestamp, signatures };
}

/** Whatever the case of its name; what was sent several times is one list. */
function readHeader(headers: RawRequest["headers"], name: string): string | null {
  if (isWebHeaders(headers)) return headers.get(name);
  return Object.entries(headers)
    .flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
    .join(" ");
}

const isWebHeaders = (headers: RawRequest["headers"]): headers is WebHeaders =>
  typeof headers.get === "function";

/** Written so that a tolerance that is not a number refuses everything. */
function checkAge(age: number, tolerance: number) {
  const [code, when] =
    age > 0 ? (["timestamp_too_old", "ago"] as const) : (["timestamp_too_new", "ahead"] as const);
  if (!(Math.abs(age) <= tolerance))
    throw new WebhookVerificationError(
      code,
      `It was sent ${Math.abs(age)} s ${when}, and ${tolerance} s are allowed: set the clock of this machine, or it is an old delivery that somebody sends again.`,
    );
}

async function bodyOf(request: WebRequest | RawRequest): Promise<Uint8Array> {
  if ("arrayBuffer" in request) {
    if (!request.bodyUsed) return new Uint8Array(await request.arrayBuffer());
    throw new WebhookVerificationError(
      "bad_body",
      "The body of the request was read before: verify first, or read it as text and pass { headers, body }.",
    );
  }
  const { body } = request;
  if (typeof body === "string") return encoder.encode(body);
  // Not instanceof: what a test runner passes need not be of its own Uint8Array, or ArrayBuffer.
  if (ArrayBuffer.isView(body))
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new WebhookVerificationError(
    "bad_body",
    "The body is neither text nor bytes. Verify the raw body, not what was parsed from it: in Express by express.raw({ type: 'application/json' }) for this route, in place of express.json().",
  );
}

function parse(body: Uint8Array): WebhookPayload {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new WebhookVerificationError(
      "bad_body",
      "The signature is right, but the body is not JSON: its sender is not an Auspex.",
    );
  }
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
