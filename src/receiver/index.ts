/**
 * Verifies webhooks of Auspex: that a delivery is authentic, recent and unchanged. Uses only Web
 * Crypto, so that it runs in Node, Workers, Deno and Bun.
 */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The cost of a run: `amount` is the sum of the parts. */
export interface Cost {
  amount: string;
  /** ISO 4217, as in "USD". */
  currency: string;
  parts: {
    /** `time`, `setup`, `input_tokens` …: a type may be added later. */
    type: string;
    quantity: number;
    unit: string;
    /** The price of `per` units. */
    price: string;
    per: number;
    amount: string;
  }[];
}

/** The body of a webhook: the prediction at the time of the event. */
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
  /** Null until the prediction ends. Amounts and prices are decimal text, as in "0.0016". */
  cost: Cost | null;
  metrics: ({ input_tokens?: number; output_tokens?: number } & Record<string, number>) | null;
  url: string;
  stream: boolean;
  created_by: string | null;
  /** `owner/name` of the deployment that ran it. Absent if a model was named. */
  deployment?: string;
  input: Json;
  output: Json;
  data_removed: boolean;
  /** Input or output was too large for a webhook, or was removed, and is null here: GET `url`. */
  data_omitted: boolean;
  webhook: {
    /** The id of the event, which is the same for every delivery: use it to ignore duplicates. */
    id: string;
    event: "started" | "output" | "completed" | "budget.alert" | "budget.exhausted" | "test";
    /** A number that rises within a prediction: use it to put events in order. */
    sequence: number;
    created_at: string;
  };
}

/** A web `Request` whose body has not been read, as in Workers, Deno, Bun and route handlers. */
export interface WebRequest {
  headers: WebHeaders;
  bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Headers and the raw body, such as an Express request with `express.raw()`. */
export interface RawRequest {
  headers: WebHeaders | Record<string, string | string[] | undefined>;
  body: string | Uint8Array | ArrayBuffer;
}

export interface WebHeaders {
  get(name: string): string | null;
}

export interface VerifyOptions {
  /** The most that the time of sending may differ from now, in either direction (default: 300). */
  toleranceSeconds?: number;
  /** Unix ms (default: the clock of this machine). */
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

/** Why a delivery was refused: `code` for programs, `message` for people. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly code: VerificationErrorCode;
  /** The status to respond with; Express does so by itself. */
  readonly status = 400;

  constructor(code: VerificationErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

// 42 characters encode six bits each, the 43rd four. Other characters there would set two bits that
// decoding ignores, and one signature would have several spellings.
const SIGNATURE = /^v1,([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=),?$/;
/** An endpoint has up to three secrets. Each signature costs a pass over the body. */
const MAX_SIGNATURES = 20;
const HMAC = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();

/**
 * Verifies a delivery and returns its body.
 * @param secret a list while you rotate secrets: any of them may match
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
      "The secret is missing. Check that the environment variable with the secret is set.",
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
    "No signature matches. Pass the raw body exactly as received, not parsed and serialized again, and this webhook's complete secret, including 'whsec_' if it has that prefix.",
  );
}

/** Derives the key as the sender does: base64 after `whsec_`, any other text verbatim. */
async function keyOf(secret: string) {
  try {
    const bytes = secret.startsWith("whsec_")
      ? bytesOf(secret.slice("whsec_".length))
      : encoder.encode(secret);
    return await crypto.subtle.importKey("raw", bytes, HMAC, false, ["verify"]); // throws if empty
  } catch {
    throw new WebhookVerificationError(
      "bad_secret",
      "Invalid secret: it is empty, or not base64 after 'whsec_'. Copy the complete secret.",
    );
  }
}

/** @param headers undefined if JavaScript code passes something else than a request */
function readHeaders(headers: RawRequest["headers"] | undefined) {
  if (!headers)
    throw new WebhookVerificationError(
      "missing_headers",
      "The first argument has no headers. Pass the Request (in Hono, c.req.raw) or { headers, body }.",
    );
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const signature = readHeader(headers, "webhook-signature");
  if (!id || !timestamp || !signature)
    throw new WebhookVerificationError(
      "missing_headers",
      "The webhook-id, webhook-timestamp or webhook-signature header is missing. Pass all headers of the request. webhook-signature is sent only if the webhook has a secret.",
    );
  // A period in either would let one signature match several divisions into id, time and body.
  if (!/^[\w-]+$/.test(id) || !/^\d{1,15}$/.test(timestamp))
    throw new WebhookVerificationError(
      "bad_headers",
      "Invalid webhook-id or webhook-timestamp header. Check whether a proxy changes headers.",
    );
  const signatures = signature
    .split(/\s+/)
    .flatMap((item) => SIGNATURE.exec(item)?.[1] ?? [])
    .slice(0, MAX_SIGNATURES)
    .map(bytesOf);
  return { id, timestamp, signatures };
}

/** Ignores the case of names, and joins repeated headers. */
function readHeader(headers: RawRequest["headers"], name: string): string | null {
  if (isWebHeaders(headers)) return headers.get(name);
  return Object.entries(headers)
    .flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
    .join(" ");
}

const isWebHeaders = (headers: RawRequest["headers"]): headers is WebHeaders =>
  typeof headers.get === "function";

/** The comparison is negated so that a tolerance of NaN refuses every delivery. */
function checkAge(age: number, tolerance: number) {
  const [code, when] =
    age > 0 ? (["timestamp_too_old", "past"] as const) : (["timestamp_too_new", "future"] as const);
  if (!(Math.abs(age) <= tolerance))
    throw new WebhookVerificationError(
      code,
      `The timestamp is ${Math.abs(age)} s in the ${when}. At most ${tolerance} s are allowed. Check this machine's clock. If it is correct, this may be a replay of an old delivery.`,
    );
}

async function bodyOf(request: WebRequest | RawRequest): Promise<Uint8Array> {
  if ("arrayBuffer" in request) {
    if (!request.bodyUsed) return new Uint8Array(await request.arrayBuffer());
    throw new WebhookVerificationError(
      "bad_body",
      "The request body has already been read. Verify the request before you read the body, or pass { headers, body } with the raw text.",
    );
  }
  const { body } = request;
  if (typeof body === "string") return encoder.encode(body);
  // The check avoids instanceof: test runners may use other realms, with their own Uint8Array and
  // ArrayBuffer.
  if (ArrayBuffer.isView(body))
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body);
  throw new WebhookVerificationError(
    "bad_body",
    "Pass the raw body as text or bytes, not the parsed body. In Express, use express.raw({ type: 'application/json' }) for this route instead of express.json().",
  );
}

function parse(body: Uint8Array): WebhookPayload {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    throw new WebhookVerificationError(
      "bad_body",
      "The signature matches, but the body is not JSON, so Auspex did not send it.",
    );
  }
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
