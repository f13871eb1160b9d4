/** An authenticator app: it reads the address of a QR code, and computes its codes (RFC 6238). */
import { PASSWORD, type Visitor } from "./visitor.ts";

const ADDRESS = "/account/security/app";
const PERIOD_MS = 30_000;

/** Returns the code that the app shows. @param uri the address of the QR code */
export async function codeOf(uri: string): Promise<string> {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(Date.now() / PERIOD_MS)));
  const secret = fromBase32(new URL(uri).searchParams.get("secret") ?? "");
  const algorithm = { name: "HMAC", hash: "SHA-1" };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  const hash = new DataView(await crypto.subtle.sign("HMAC", key, counter.buffer));
  const number = hash.getUint32(hash.getUint8(19) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

function fromBase32(text: string): Uint8Array<ArrayBuffer> {
  const bits = [...text.replaceAll("=", "")]
    .map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter))
    .map((value) => value.toString(2).padStart(5, "0"))
    .join("");
  return new Uint8Array((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Begins to set an app up. @returns the address of its QR code */
export async function beginApp(visitor: Visitor): Promise<string> {
  await visitor.look(ADDRESS);
  const { html } = await visitor.send(ADDRESS, { password: PASSWORD });
  const [, uri] = /name="uri" value="([^"]+)"/.exec(html) ?? [];
  if (uri === undefined) throw new Error(html);
  return uri.replaceAll("&amp;", "&");
}

export interface App {
  uri: string;
  codes: string[];
}

/** Sets an app up, and turns it on. */
export async function setUpApp(visitor: Visitor): Promise<App> {
  await visitor.look(ADDRESS);
  const { html } = await visitor.send(ADDRESS, { password: PASSWORD });
  const field = (name: string) =>
    new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const app = { uri: field("uri"), codes: field("codes") };
  const { status } = await visitor.send(`${ADDRESS}/confirm`, {
    ...app,
    code: await codeOf(app.uri),
  });
  if (status !== 303) throw new Error(`The code was answered with ${status}`);
  await visitor.look("/");
  return { uri: app.uri, codes: app.codes.split(" ") };
}
