/** Requests one range of a file of the deployment. */
import {
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestPlain,
} from "node:http";
import { Agent as HttpsAgent, request as requestSecure } from "node:https";
import { errorFor } from "../control-plane/json-client.ts";
import { ControlPlaneError, messageOf } from "../lib/error.ts";
import { external } from "../lib/failure.ts";
import { onUpgrade } from "../lib/http-client.ts";
import { readText } from "../lib/read-text.ts";
import { VERSION } from "../lib/version.ts";
import type { ByteRange } from "./range-plan.ts";

/** The URL of a file, and the headers that authorize the request. */
export interface FileSource {
  url: string;
  headers: Record<string, string>;
}

const MAX_ERROR_BYTES = 10_000;

const agents = {
  "http:": new HttpAgent({ keepAlive: true }),
  "https:": new HttpsAgent({ keepAlive: true }),
};

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
    throw external(`it does not have the ${size} bytes that are declared for it`);
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
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of response) {
      size += piece.length;
      if (size > maxBytes) break;
      pieces.push(piece);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new ControlPlaneError("the response was incomplete", { cause: error });
  }
  if (size > maxBytes) throw external(`it has more than the ${maxBytes} bytes that it may have`);
  return Buffer.concat(pieces);
}

function send(
  { url, headers }: FileSource,
  more: Record<string, string>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { protocol } = new URL(url);
  const isSecure = protocol === "https:";
  const options: RequestOptions = {
    agent: agents[isSecure ? "https:" : "http:"],
    headers: {
      "accept-encoding": "identity",
      "user-agent": `auspex-runner/${VERSION}`,
      ...headers,
      ...more,
    },
    signal,
  };
  const outgoing = (isSecure ? requestSecure : requestPlain)(url, options);
  const fail = (cause: Error) => reject(new ControlPlaneError(messageOf(cause), { cause }));
  onUpgrade(outgoing, fail);
  outgoing.on("error", fail).on("response", resolve).end();
  return promise;
}

/** Redirects are not followed: the credentials are for this address only. */
async function refusal(response: IncomingMessage): Promise<ControlPlaneError> {
  const { statusCode: status = 0, headers } = response;
  const text = await readText(response, MAX_ERROR_BYTES).catch(() => undefined);
  response.destroy();
  return errorFor(status, headers["retry-after"], text ?? "");
}
