/** Requests one range of a file of the deployment. */
import type { IncomingMessage } from "node:http";
import { external } from "../../../src/run/failure.ts";
import { refusal } from "../control-plane/json-client.ts";
import { ControlPlaneError, messageOf } from "../lib/error.ts";
import { open, readBytes } from "../lib/http-client.ts";
import { VERSION } from "../lib/version.ts";
import type { ByteRange } from "./range-plan.ts";

export interface FileSource {
  url: string;
  headers: Record<string, string>;
}

/**
 * @param size of the whole file, as it is declared
 * @throws ControlPlaneError; Failure if the file has another size; the signal's reason
 */
export async function requestRange(
  source: FileSource,
  { first, last }: ByteRange,
  size: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await send(source, { range: `bytes=${first}-${last}` }, signal);
  const { statusCode: status = 0, headers } = response;
  const isWhole = first === 0 && last === size - 1;
  const isRange = status === 206 && headers["content-range"] === `bytes ${first}-${last}/${size}`;
  if (isRange || (status === 200 && isWhole)) return response;
  if (status === 206 || status === 416) {
    response.destroy();
    throw external(`it does not have the declared size of ${size} bytes`);
  }
  throw await refusal(response);
}

/** A small file, as a whole. @throws as requestRange; Failure if it has more bytes */
export async function requestWhole(
  source: FileSource,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const response = await send(source, {}, signal);
  if (response.statusCode !== 200) throw await refusal(response);
  const bytes = await readBytes(response, maxBytes).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new ControlPlaneError("the response was incomplete", { cause });
  });
  if (bytes) return bytes;
  throw external(`it is larger than ${maxBytes} bytes`);
}

/** Redirects are not followed: the credentials are for this address only. */
function send(
  { url, headers }: FileSource,
  more: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const identity = { "accept-encoding": "identity", "user-agent": `auspex-runner/${VERSION}` };
  const sent = { headers: { ...identity, ...headers, ...more }, signal };
  return open(new URL(url), sent).catch((cause: unknown) => {
    throw new ControlPlaneError(messageOf(cause), { cause });
  });
}
