/** The variables of traces: the operator's collector, which gets spans by OTLP over HTTP. */
import { z } from "zod";
import { hostOf, isLoopback } from "./domain/webhooks/address.ts";
import { invalidVariables } from "./env-oidc.ts";

/** Credentials belong in OTLP_HEADERS: an address is not a secret, and may be logged. */
function isEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.search || url.hash) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(hostOf(url)));
}

/** Returns pairs of `key=value` with encoded values, as OTEL_EXPORTER_OTLP_HEADERS has them. */
function headersIn(text: string): [string, string][] {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return pairs.map((pair) => {
    const [, name, value = ""] = /^\s*([^\s=]+)\s*=(.*)$/s.exec(pair) ?? [];
    if (name === undefined) throw new Error("no key");
    return [name, decodeURIComponent(value.trim())];
  });
}

/** The messages never quote the value, which is a secret. */
const headers = z.string().transform((text, { addIssue }) => {
  try {
    const pairs = headersIn(text);
    // The constructor refuses what no header may contain.
    new Headers(pairs);
    return Object.fromEntries(pairs);
  } catch {
    addIssue("is not key=value, with further pairs after commas and values in URL encoding");
    return z.NEVER;
  }
});

export const traceVariables = {
  OTLP_ENDPOINT: z
    .string()
    .default("")
    .refine(
      (text) => text === "" || isEndpoint(text),
      "is not an https URL without credentials and query, nor http on a loopback address",
    ),
  OTLP_HEADERS: headers.default({}),
  OTLP_SAMPLE_RATE: z.coerce.number().min(0).max(1).default(1),
};

const shape = z.object(traceVariables);

/** Checks these variables before a deploy. @throws Error naming those that are invalid */
export function checkTraceVariables(vars: object): void {
  const result = shape.safeParse(vars);
  if (!result.success) throw invalidVariables(result.error);
}

export interface TraceSettings {
  /** The address that spans are posted to. */
  url: string;
  headers: Record<string, string>;
  /** The share of predictions, 0 to 1, that are traced where the caller does not decide. */
  sampleRate: number;
}

/** @returns undefined for a deployment without traces */
export const traceSettings = (v: z.infer<typeof shape>): TraceSettings | undefined =>
  v.OTLP_ENDPOINT === ""
    ? undefined
    : {
        url: `${v.OTLP_ENDPOINT.replace(/\/+$/, "")}/v1/traces`,
        headers: v.OTLP_HEADERS,
        sampleRate: v.OTLP_SAMPLE_RATE,
      };
