/** Planned requests in the form in which they are sent. */
import { isBinary, type Operation } from "../../../../src/openapi/types.ts";
import { ORIGIN } from "../client.ts";
import type { Caller } from "./callers.ts";
import { Known, namesIn, PARAMETER } from "./fields.ts";
import type { Harvest } from "./harvest.ts";
import { textOf } from "./hostile.ts";
import type { Plan } from "./plan.ts";
import type { Sent } from "./tricks.ts";

/** Returns the request of a plan, with the names that were harvested so far. */
export function written(plan: Plan, harvest: Harvest): Sent {
  const { target, caller, header, trick } = plan;
  const address = plan.again === undefined ? undefined : harvest.address(target.path, plan.again);
  const place =
    plan.place === undefined ? undefined : harvest.place(namesIn(target.path), plan.place);
  const path = filled(target.path, { ...plan.path, ...place, ...plan.wrong });
  const url = address?.url ?? `${ORIGIN}/v1${path}${queryOf(plan.query)}`;
  const type = bytesOf(target.operation);
  const known = target.method === "post" ? address?.body : undefined;
  const body = type === undefined ? jsonOf(known ?? plan.body) : partFor(url);
  const headers: Record<string, string> = {};
  if (address?.etag !== undefined) headers["if-none-match"] = address.etag;
  for (const [name, value] of Object.entries(header))
    if (value !== undefined && /^[\w-]+$/.test(name)) headers[name] ??= headerText(textual(value));
  if (caller.authorization !== undefined) headers.authorization = caller.authorization;
  if (body !== undefined) headers["content-type"] = type ?? "application/json";
  const sent = {
    method: target.method.toUpperCase(),
    url,
    headers,
    body,
    known: address ?? place,
  };
  return trick ? trick(sent) : sent;
}

const jsonOf = (body: unknown) => (body === undefined ? undefined : textOf(body));

/** A larger part is sent only up to this size. */
const MAX_PART = 250_000;

/** Returns as many bytes as the address states. */
function partFor(url: string): string {
  const size = Number(new URL(url).searchParams.get("size"));
  return "x".repeat(size > 0 ? Math.min(size, MAX_PART) : 0);
}

const filled = (path: string, values: Record<string, unknown>) =>
  path.replaceAll(PARAMETER, (_, name) => encoded(textual(values[name])));

/** Returns a query with a key for each item of an array, and one for every other value. */
function queryOf(query: object): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) =>
      [value].flat().map((one) => `${encoded(name)}=${encoded(textual(one))}`),
    );
  return pairs.length > 0 ? `?${pairs.join("&")}` : "";
}

const textual = (value: unknown): string =>
  typeof value === "string" || value instanceof Known ? String(value) : JSON.stringify(value);

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

/** Replaces characters other than ASCII in a header: workerd prints long warnings about them. */
const headerText = (text: string) => text.replaceAll(/[^\t\x20-\x7e]/g, "?");

const SHOWN = 2_000;

/** Returns the request as a line for a shell, with the caller's name in place of the token. */
export function curl({ method, url, headers, body }: Sent, caller: Caller): string {
  const shown = Object.entries(headers).map(([name, value]) =>
    name === "authorization"
      ? `-H '${name}: (${caller.name})'`
      : `-H '${name}: ${value.slice(0, 200)}'`,
  );
  const data = typeof body === "string" ? [`--data '${body.slice(0, SHOWN)}'`] : body ? ["…"] : [];
  return ["curl", "-X", method, `'${url.slice(0, SHOWN)}'`, ...shown, ...data].join(" ");
}

/** Returns the media type of a raw request body. */
function bytesOf({ requestBody }: Operation): string | undefined {
  const content = requestBody && "content" in requestBody ? requestBody.content : {};
  return Object.keys(content).find((type) => isBinary(content[type]?.schema ?? {}));
}
