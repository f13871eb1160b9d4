/**
 * What a container's server tells of itself, for a version that does not know yet what it can do. The
 * control plane makes sense of it (domain/images/server-description.ts).
 */
import { condensedOpenapi } from "../../../src/domain/images/openapi-document.ts";
import { MAX_DESCRIPTION, type ServerDescription } from "../../../src/protocol/runner.ts";
import { Failure } from "../lib/failure.ts";
import type { ContainerClient } from "./container-client.ts";

/**
 * Of each answer. It is asked beside a run, and the end of the first one in a container may be held up for so
 * long (containers/self-description.ts): what is not told is told at a later run.
 */
const ANSWER_MS = 10_000;
/** That of a server or a proxy before it which is busy, or not ready for this yet. */
const BUSY = [408, 425, 429, 502, 503, 504];
/** The name of a model and some limits: llama.cpp's list has 1 KB, TEI's information as much. */
const MAX_SMALL = 32 * 1024;

/**
 * Never rejects: what cannot be read is left out. Undefined if it has not answered what matters, since a version
 * is completed once, and for good: by the document if there is one, or else by the rest.
 */
export async function describeServer(
  client: ContainerClient,
  answerMs = ANSWER_MS,
): Promise<ServerDescription | undefined> {
  const [openapi, models, info] = await Promise.all(
    (["/openapi.json", "/v1/models", "/info"] as const).map((path) => read(client, path, answerMs)),
  );
  if (!openapi) return undefined;
  const document = openapi.text && condensedOpenapi(openapi.text);
  if (!document && !(models && info)) return undefined;
  return {
    ...bounded("openapi", document, MAX_DESCRIPTION - 2 * MAX_SMALL),
    ...bounded("models", models?.text, MAX_SMALL),
    ...bounded("info", info?.text, MAX_SMALL),
  };
}

/** An answer, with a text if it has what was asked for. Undefined: not yet, or not this time. */
async function read(
  client: ContainerClient,
  path: string,
  timeoutMs: number,
): Promise<{ text?: string } | undefined> {
  try {
    const { status, body } = await client.call({ method: "GET", path, timeoutMs });
    if (BUSY.includes(status)) return undefined;
    return status === 200 ? { text: body } : {};
  } catch (error) {
    // A response that is not HTTP, or too large, will not change.
    return error instanceof Failure ? {} : undefined;
  }
}

const bounded = (name: keyof ServerDescription, text: string | undefined, max: number) =>
  text !== undefined && text.length <= max ? { [name]: text } : {};
