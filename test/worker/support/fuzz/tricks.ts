/** Changes of a request that no schema declares: of its text, its address and its headers. */
import type { Address, Place } from "./harvest.ts";

export interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: BodyInit | undefined;
  /** The harvested values that the request uses. */
  known: Place | Address | undefined;
}

export type Trick = (sent: Sent) => Sent;

const header =
  (name: string, value: string): Trick =>
  (sent) => ({ ...sent, headers: { ...sent.headers, [name]: value } });

const method =
  (name: string): Trick =>
  (sent) => ({ ...sent, method: name, ...(["GET", "HEAD"].includes(name) && { body: undefined }) });

const query =
  (text: string): Trick =>
  (sent) => ({ ...sent, url: `${sent.url}${sent.url.includes("?") ? "&" : "?"}${text}` });

const path =
  (change: (path: string) => string): Trick =>
  (sent) => {
    const { origin, pathname, search } = new URL(sent.url);
    return { ...sent, url: `${origin}${change(pathname)}${search}` };
  };

/** Changes the body of requests that have one. */
const body =
  (change: (text: string) => BodyInit): Trick =>
  (sent) =>
    typeof sent.body === "string" ? { ...sent, body: change(sent.body) } : sent;

const tenMegabytes = " ".repeat(10 * 1024 * 1024);

const twice: Trick = (sent) => {
  const { search } = new URL(sent.url);
  return search ? query(search.slice(1))(sent) : sent;
};

export const TRICKS: Trick[] = [
  header("content-type", "text/plain"),
  header("content-type", "application/x-www-form-urlencoded"),
  header("content-type", "multipart/form-data"),
  header("content-type", "application/json; charset=utf-16"),
  header("content-type", "application/vnd.api+json"),
  header("content-type", ""),
  header("x-request-id", "mine-1"),
  header("x-request-id", "<script>"),
  header("x-request-id", "x".repeat(1_000)),
  header("accept", "text/html"),
  header("range", "bytes=0-1"),
  header("origin", "null"),
  header("x-padding", "x".repeat(10_000)),
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].map(method),
  query("%"),
  query("%00=%00"),
  query("__proto__=x&constructor=y&toString"),
  query("cursor=&page_size=&q=&sort_by="),
  query("page_size=5&page_size=6&cursor=a&cursor=b&q=a&q=b"),
  query("page_size[]=5&statuses[]=pending&statuses=%ED%A0%80"),
  query(`x=${"y".repeat(15_000)}`),
  twice,
  path((text) => `${text}/`),
  path((text) => `/${text}`),
  path((text) => text.replace("/v1", "/v2")),
  path((text) => `${text}/%2e%2e`),
  path((text) => `${text}%`),
  path((text) => `${text}%00`),
  path((text) => text.replace(/[^/]+$/, "%E0%A4%A")),
  path((text) => text.replace(/[^/]+$/, "a%2fb")),
  path((text) => text.replace(/[^/]+$/, "%2e")),
  path((text) => text.toUpperCase()),
  body((text) => text.slice(0, -1)),
  body((text) => `${text},`),
  body(() => ""),
  body(() => "\ufeff{}"),
  body(() => "NaN"),
  body(() => "[".repeat(100_000)),
  body(() => new Uint8Array([0x22, 0xff, 0xfe, 0x00, 0x22])),
  body((text) => text.replace(/:\s*(-?\d[\d.e+-]*|"[^"]*")/, ":1e999")),
  body((text) => text.replace(/^{/, '{"__proto__":{"a":1},"constructor":1,')),
  body((text) => text.replace(/^{(.*)}$/s, "{$1,$1}")),
  body((text) => new Blob([text]).stream()),
  body((text) => tenMegabytes + text),
];
